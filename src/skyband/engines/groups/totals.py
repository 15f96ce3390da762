"""`totals`: groups by what their records make together, from partial aggregates that all queries of a family share.

**Idea.** What comes is a partial aggregate of a group over a pane, all of it whole numbers. Those of a group are a
chain in which each knows what came before it, so `COUNT` and `SUM` over any window are differences, and one walk tells
all windows that a group may have reached (`chains.py`). Other scores, HAVING and the rest are served by running totals,
one per group and length of window: what enters is added, what leaves is taken away, and `MIN` and `MAX` are two stacks
(`board.py`).

**Guarantee.** Exact, to the last bit of a sum.

**Cost.** Chains: a step for what comes, a few more for a group that is near a mark; a report looks at little more than
k groups. Running totals: a report costs what entered and what left since the one before. Space: a partial aggregate per
group and pane, and with running totals one per group and length of window.

**Source.** Ours: SEMANTICS, Top groups; docs/design/0016-groups.md.

>>> import pyarrow as pa, skyband as sb
>>> talkers = sb.TopK("talkers", 1, "SUM(bytes)", "3 rows", 1, group_by="client")
>>> monitor = sb.Monitor(sb.Workload([talkers], stream=sb.Stream("s", time="ts")))
>>> moments = pa.array([1, 2, 3, 4], pa.timestamp("s"))
>>> rows = monitor.push(pa.table({"ts": moments, "client": ["a", "b", "b", "b"], "bytes": [7, 1, 2, 3]}))
>>> [(row["client"], row["score"]) for row in rows.to_pylist()]
[('a', 7), ('a', 7), ('a', 7), ('b', 6)]
"""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.groups.board import Board
from skyband.engines.groups.chains import Chains
from skyband.engines.groups.held import NONE, Held
from skyband.model import NEVER, Answers, DueReports, Flags, Ints, Keys, MetaQuery
from skyband.model.arrays import turned
from skyband.model.partials import Listed, Partials, Totals

ABLE = Capabilities(
    "exact totals of groups over windows of all lengths, from partial aggregates per pane",
    "SEMANTICS, Top groups; two stacks for MIN and MAX",
    thresholds=True,
    drops=False,
    data="groups",
    priority=1,
)


@register("totals", ABLE)
class RunningTotals:
    def __init__(self, meta: MetaQuery) -> None:
        assert meta.asked is not None
        self.meta, self.asked = meta, meta.asked
        self.until = int(NEVER)
        self._plain = (self.asked.having < 0) & ~self.asked.rest
        """Which queries ask for the best and nothing else."""
        self._held = Held()
        self._boards: dict[int, Board] = {}
        self._chains: Chains | None = None
        self._clear()
        self._records = self._moves = self._compared = self._peak = self._unranked = 0

    def advance(self, batch: Partials, due_reports: DueReports) -> Answers:
        self._take(batch)
        answers = self._answers(due_reports) if len(due_reports) else _Lists().answers()
        self.until = due_reports.until
        self._forget()
        return answers

    def _answers(self, due: DueReports) -> Answers:
        """From chains where those can tell, from boards where they cannot."""
        if not len(self._held):
            none = np.zeros(len(due), np.int64)
            return Answers(none, none, NONE, np.empty(0))
        if self._chains is None:
            return self._from_boards(due)
        if self._plain.all():
            return self._from_chains(self._chains, due)
        plain = self._plain[due.query]
        own = np.flatnonzero(plain), np.flatnonzero(~plain)
        return Answers.woven(own, [self._from_chains(self._chains, due[own[0]]), self._from_boards(due[own[1]])])

    def _from_chains(self, chains: Chains, due: DueReports) -> Answers:
        before = chains.steps
        answers = chains.answers(due)
        self._compared += chains.steps - before
        return answers

    def _from_boards(self, due: DueReports) -> Answers:
        lists = _Lists()
        for start, end, k, query in zip(
            *(each.tolist() for each in (due.start, due.end, due.k, due.query)), strict=True
        ):
            board = self._board(query, end - start)
            self._compared += board.move(start, end)
            self._report(board, lists, query, k)
        return lists.answers()

    def held(self) -> Partials:
        held, part = self._held, slice(self._needed(), None)

        def kept(named: dict[str, Ints]) -> dict[str, Ints]:
            return {name: values[part] for name, values in named.items()}

        last = {name: each[part] for name, each in held.last.items()}
        counts = {name: pair[part] >= 0 for name, pair in held.pair.items()}
        group = held.groups.words(held.slot[part])
        added = {name: held.added[part, place] for place, name in enumerate(held.names)}
        sums = added, kept(held.least), kept(held.largest), last
        return Partials(held.id[part], held.at[part], group, *sums, kept(held.value), counts, held.rules)

    def rebuild(self, batch: Partials, until: int, fresh: Ints = NONE) -> None:
        self.until = max(self.until, until)
        self._clear()
        self._put(batch)
        self._records += len(fresh)
        self._forget()

    def candidates(self) -> Ints:
        return np.sort(self._held.id[self._needed() :], kind="stable")  # nearly in order: one pass over runs

    def __len__(self) -> int:
        return len(self._held) - self._needed()

    @property
    def counters(self) -> Counters:
        kept = len(self)
        self._peak = max(self._peak, kept)
        return {
            "records": self._records,
            "comparisons": self._compared,
            "insertions": self._moves,
            "candidates": kept,
            "candidates_peak": self._peak,
            "groups": len(self._held.groups),
            "unranked_groups": self._unranked,
        }

    def _clear(self) -> None:
        chained = self.meta.threshold is None and bool(self._plain.any())
        self._held, self._boards = Held(), {}
        self._chains = Chains(self._held, self.meta) if chained else None

    def _put(self, batch: Partials) -> None:
        self._held.add(batch)
        if self._chains is not None and len(batch):
            assert batch.rules is not None
            if not self._chains.add(batch.rules.gains(batch.added)):
                self._chains = None

    def _take(self, batch: Partials) -> None:
        self._put(batch)
        self._records += len(batch)
        self._moves += len(batch)
        self._peak = max(self._peak, len(self._held))

    def _board(self, query: int, width: int) -> Board:
        """That of all windows of a width; a query whose windows grow has one for itself."""
        meta, mine = self.meta, self.meta.query == query
        grows = bool((meta.width[mine] != width).any())
        key = -1 - query if grows else width
        if key not in self._boards:
            mine = mine if grows else meta.width == width
            starts = {
                *zip(meta.period[mine].tolist(), ((meta.phase - meta.width) % meta.period)[mine].tolist(), strict=True)
            }

            def edges(at: Ints) -> Ints:
                """Where in these times some window begins: the places of the first behind each."""
                cut = np.zeros(len(at), bool)
                cut[:1] = True
                for step, start in starts:
                    window = (at - start) // step
                    cut[1:] |= window[1:] != window[:-1]
                return np.append(np.flatnonzero(cut), len(at))

            self._boards[key] = Board(self._held, int(self.asked.having.max(initial=-1)) + 1, edges)
        return self._boards[key]

    def _report(self, board: Board, lists: _Lists, query: int, k: int) -> None:
        self._unranked += int(np.count_nonzero(board.scoreless))
        slots = self._best(board, int(self.asked.having[query]), query, k)
        rest = board.rest(slots) if self.asked.rest[query] else None
        ids = board.labels(slots)
        lists.add(ids, board.keys[slots], board.totals(slots))
        if rest is not None:
            other = board.any_of(slots)
            assert self._held.rules is not None
            keys, some = self._held.rules.keys(rest)
            lists.add_rest(board.labels(other), keys, some, rest)

    def _best(self, board: Board, having: int, query: int, k: int) -> Ints:
        keys = board.keys
        self._compared += len(keys)
        if self.meta.threshold is None:
            slots = board.best(having, k)
        else:
            assert self._held.rules is not None
            slots = np.flatnonzero(board.ranked[having])
            slots = slots[self._held.rules.above(query, keys[slots])]
        mine = keys[slots]
        return slots[np.lexsort((-board.newest[slots], turned(mine)))][:k]

    def _needed(self) -> int:
        """How many of the first no window to come holds."""
        meta = self.meta
        end = self.until + 1 + (meta.phase - (self.until + 1)) % meta.period
        return int(np.searchsorted(self._held.at, int((end - meta.width).min()))) if self.until != NEVER else 0

    def _forget(self) -> None:
        first = self._held.first
        low = min((board.low for board in self._boards.values()), default=first + self._needed())
        count = min(self._needed(), low - first)
        self._held.cut(count)
        if self._chains is not None:
            self._chains.cut(count)


class _Lists:
    """Answers under construction: one list for each report."""

    def __init__(self) -> None:
        self._ids: list[Ints] = []
        self._keys: list[Keys] = []
        self._parts: list[Listed] = []
        self._size: list[int] = []

    def add(self, ids: Ints, keys: Keys, totals: Totals) -> None:
        self._ids.append(ids)
        self._keys.append(keys)
        self._parts.append(Listed(totals, np.zeros(len(ids), bool)))
        self._size.append(len(ids))

    def add_rest(self, id: Ints, key: Keys, some: Flags, totals: Totals) -> None:
        """At the end of the last list; its score may be none."""
        self._ids.append(id)
        self._keys.append(np.where(some, key, 0))
        self._parts.append(Listed(totals, np.ones(1, bool)))
        self._size[-1] += 1

    def answers(self) -> Answers:
        size = np.array(self._size, np.int64)
        begin = np.cumsum(size) - size
        if not self._ids:
            return Answers(begin, size, NONE, np.empty(0))
        listed = Listed.joined(self._parts)
        return Answers(begin, size, np.concatenate(self._ids), np.concatenate(self._keys), listed)
