"""Who was there since when: what a checkpoint knows of the queries of this start, sent along to the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Joining:
    """`with_batch`: by query, as text, the micro-batch with which it joined; 0 if it was there from the first on. A
    query that was away has joined anew. Empty where nobody wrote it down: then what the state says of a query holds.

    `records`: by stream, how many records it had before this start, where somebody has to know.

    `gone`: by state key that no query asks for any more how long it lasts; None where nobody wrote it down: then it is
    forgotten at once. `forgotten`: those that are not to last. `woken`: those that have to be called to find out.
    """

    with_batch: Mapping[str, int] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    gone: Mapping[str, int | None] | None = None
    forgotten: frozenset[str] = frozenset()
    woken: frozenset[str] = frozenset()

    def stayed(self, query: str, joined: Mapping[str, int]) -> bool:
        """The state, which says with which micro-batch queries `joined`, means the same query."""
        return query not in self.with_batch or joined.get(query, 0) == self.with_batch[query]

    def late(self, query: str) -> bool:
        """Records came before it did."""
        return self.with_batch.get(query, 0) > 0


NOTHING_NOTED = Joining()
"""Where no note was written."""
