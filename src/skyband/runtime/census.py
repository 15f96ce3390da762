"""Who counts what in one stream: the positions that the ROWS windows of its families are cut by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from skyband.model import NEVER
from skyband.planner import Family
from skyband.runtime.clock import FOREVER
from skyband.runtime.positions import EXPIRY, Positions, first_position, positions_of
from skyband.runtime.stored_values import COUNT, by_name, either, items, nothing, several, text

POSITIONS = items(
    either(
        several(items(text), by_name(COUNT)),
        several(items(text), either(nothing, text), COUNT, by_name(COUNT)),
        several(items(text), either(nothing, text), COUNT, by_name(COUNT), EXPIRY),
    )
)
"""What `Census.state` writes, or an earlier version did."""


class Census:
    """All records; by PER columns, what has been counted since the stream began; and for each family that joined later,
    when nobody counted by its columns, what it has counted since.

    Where groups expire every family counts for itself: where one begins anew depends on its slides.

    Those families count each for itself: shared, the positions of one would depend on when another joined. Inside a
    family they are shared, as the records are that they number. So who joins a family that counts for itself takes its
    positions as they are, whatever its own slide: the rows of those that are there must not change.
    """

    def __init__(self, families: Iterable[Family]) -> None:
        self.everything = Positions()
        self._by_columns: dict[tuple[str, ...], Positions] = {}
        self._by_family: dict[str, Positions] = {}
        self._known: dict[str, Family] = {}
        for family in families:
            self._known[family.fingerprint] = family
            self.enter(family)

    @property
    def records(self) -> int:
        """Records of the stream so far that have a position."""
        return self.everything.seen.get("", 0)

    def of(self, family: Family) -> Positions:
        """What a ROWS family goes by."""
        if not family.per or family.kind != "rows":
            return self.everything
        own = self._by_family.get(family.fingerprint) if self._by_family else None
        return own or self._by_columns[family.per]

    def enter(self, family: Family) -> None:
        """A family begins to read the stream."""
        if family.kind != "rows" or not family.per:
            return
        if family.stream.expire is None and (family.per in self._by_columns or not self.records):
            self._by_columns.setdefault(family.per, Positions())
            return
        slides = [query.window.slide for query in family.queries]
        self._by_family[family.fingerprint] = positions_of(family, first_position(self.records, *slides))
        self._by_family[family.fingerprint].pass_by(self.records, FOREVER)

    def leave(self, family: Family, others: Iterable[Family]) -> None:
        """A family goes. What nobody counts any more is not known to those who come later."""
        self._by_family.pop(family.fingerprint, None)
        if not any(each.kind == "rows" and each.per == family.per for each in others):
            self._by_columns.pop(family.per, None)

    def state(self) -> list[list[Any]]:
        """For a snapshot: columns, the family if it counts for itself, first position, and the counts."""
        counted: list[list[Any]] = [[[], None, 0, self.everything.seen]]
        counted += [[list(per), None, 0, each.seen] for per, each in self._by_columns.items()]
        return counted + [
            [[], family, each.first, each.seen, *each.state().values()] for family, each in self._by_family.items()
        ]

    def restore(self, state: Sequence[Sequence[Any]], records: int) -> None:
        """Go on from `state`, or from that of an earlier version, which knew columns and counts only."""
        self.everything.seen = {"": records}
        self._by_columns, self._by_family = {}, {}
        for columns, *rest in state:
            family, first, seen, *expiry = rest if len(rest) >= 3 else (None, 0, rest[0])
            positions = positions_of(self._known[family], first) if family in self._known else Positions(first)
            positions.restore(seen, expiry[0] if expiry else None)
            if not expiry:
                positions.pass_by(records, int(NEVER))
            if family is not None:
                self._by_family[family] = positions
            elif columns:
                self._by_columns[tuple(columns)] = positions
            else:
                self.everything = positions
