"""PkTopk: top-k over possible worlds, any number of k and semantics from one pass over a window.

**Idea.** The records of the longest window stand in rank order, kept so while it slides. A report scans them from the
best down, with one row of P(at most j better records exist) that serves every k, and stops exactly where no later
record can be reported. A record's own rule is kept out of its row by halving the places (kernels/uncertain/worlds),
never by division.

**Guarantee.** Exact, every probability within 1e-9 (in fact about 1e-12): only convex combinations are computed.

**Cost.** About k·sqrt(k) row entries a report without rules, a factor log k more with them, whatever the window; a
slide costs its own records and an eighth of a merge. U_TOPK costs k for each record scanned, EXPECTED_RANK the window.
Space: the longest window. Rules whose records together exceed 1 cost a look at the whole window in each report.

**Source.** uncertain-tkde §3 and §4; the stop, the halving and the band of the rows are ours.

**Errata.** Table 3 prints .173 for the top-3 probability of R6, which is .146 by its own worlds (W6 + W8 + W10 + W12).
A k-skyband must not prune here: an old, sure record below k new, doubtful ones is still reported.

>>> import numpy as np
>>> one, at = np.array([0]), np.arange(6)
>>> engine = PkTopk(MetaQuery("rows", one + 6, one + 6, one, one + 2, one))  # the paper's R1 to R6
>>> rule = np.array([NO_RULE, 1, 1, NO_RULE, 2, 2])
>>> score, p = np.array([80.0, 65, 45, 30, 50, 25]), np.array([0.3, 0.4, 0.5, 1.0, 0.8, 0.2])
>>> fed = Tuples(id=at + 1, at=at, score=score, p=p, rule=rule, turn=at, source=at)
>>> answers = engine.advance(fed, engine.meta.due_reports(at, int(NEVER), 0, 6))
>>> answers.id.tolist(), answers.score.round(9).tolist()
([5, 2], [0.704, 0.4])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.kernels.uncertain.ranks import CROWDED, FRESH, MAIN, STORED, TAKEN, Store
from skyband.engines.kernels.uncertain.rule_codes import FREE, NO_RULE, encode
from skyband.engines.kernels.uncertain.world_reports import (
    ENTRIES,
    LEFT_OUT,
    MERGED,
    PASSES,
    SCANNED,
    Due,
    Lists,
    report_worlds,
)
from skyband.engines.uncertain.checks import check_store
from skyband.model import NEVER, Answers, DueReports, Flags, Floats, Ints, MetaQuery
from skyband.model.using import SEMANTICS, Using

LEAST = 256
NONE: Ints = np.empty(0, np.int64)
_COLUMNS = ("id", "at", "score", "p", "rule", "source")


@dataclass(frozen=True)
class Tuples:
    """Records in feed order (see `Records`), each with a label, a probability, and its rule (NO_RULE for none).

    `turn` lists their places by (time, key): in that order the records of a rule are let in. `source` numbers the
    stream each record is from, where several are read as one. Where scores are normal, `score` is the highest that one
    can be, beside its `mean` and `error`.
    """

    id: Ints
    at: Ints
    score: Floats
    p: Floats
    rule: Ints
    turn: Ints
    source: Ints
    mean: Floats | None = None
    error: Floats | None = None

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, which: Flags | Ints) -> Tuples:
        """Some of them, in their order; `turn` lists the new places."""
        kept = np.arange(len(self))[which]
        new = np.full(len(self), -1)
        new[kept] = np.arange(len(kept))
        turn = new[self.turn]
        columns = {name: getattr(self, name)[kept] for name in _COLUMNS}
        if self.mean is not None and self.error is not None:
            columns |= {"mean": self.mean[kept], "error": self.error[kept]}
        return Tuples(**columns, turn=turn[turn >= 0])

    def append(self, later: Tuples) -> Tuples:
        """These and then those, which are newer; with a mean and an error if all records have them."""
        if not len(self):
            return later
        normal = self.mean is not None and later.mean is not None
        names = (*_COLUMNS, "mean", "error") if normal else _COLUMNS
        columns = {name: np.concatenate((getattr(self, name), getattr(later, name))) for name in names}
        return Tuples(**columns, turn=np.concatenate((self.turn, later.turn + len(self))))

    @staticmethod
    def none() -> Tuples:
        ints, floats = np.empty(0, np.int64), np.empty(0)
        return Tuples(ints, ints, floats, floats, ints, ints, ints)


@register(
    "pk_topk",
    Capabilities(
        "top-k over possible worlds, in six semantics, one pass for every k",
        "uncertain-tkde §3, §4; stop and rules are ours",
        data="uncertain",
        priority=1,
    ),
)
class PkTopk:
    """Holds every record of the longest window."""

    def __init__(self, meta: MetaQuery) -> None:
        self.meta = meta
        using = meta.using or (Using(),) * (int(meta.query.max()) + 1)
        self._kind = np.array([SEMANTICS.index(each.name) for each in using], np.int64)
        self._level = np.array([each.level or 0.0 for each in using])
        self.until = int(NEVER)
        self._taken = 0
        self._peak = 0
        self._board = np.zeros(5, np.int64)
        self._sizes = np.zeros(5, np.int64)
        self._hold(Tuples.none())

    def advance(self, tuples: Tuples, due_reports: DueReports) -> Answers:
        self._append(tuples)
        due = Due(
            due_reports.start,
            due_reports.end,
            due_reports.k,
            self._kind[due_reports.query],
            self._level[due_reports.query],
        )
        lists = self._report(due)
        self.until = due_reports.until
        return Answers(lists.begin, lists.size, self._id[lists.slot], lists.value)

    def _report(self, due: Due) -> Lists:
        return report_worlds(self._store, due, self.meta.longest, self._likely, not self._ruled, self._board)

    def rebuild(self, tuples: Tuples, until: int, fresh: Ints = NONE) -> None:
        self._taken += len(fresh)
        self.until = max(self.until, until)
        self._hold(tuples)

    def held(self) -> Tuples:
        """Every record that a report to come may count, in feed order."""
        stored, dead = int(self._sizes[STORED]), self._dead()
        live, store = slice(dead, stored), self._store
        turn = store.turn[live] - dead
        return Tuples(
            self._id[live], store.at[live], store.score[live], store.p[live], self._rule[live], turn, store.source[live]
        )

    def candidates(self) -> Ints:
        return np.sort(self._id[self._dead() : self._sizes[STORED]])

    def __len__(self) -> int:
        return int(self._sizes[STORED]) - self._dead()

    @property
    def counters(self) -> Counters:
        live = len(self)
        return {
            "records": self._taken,
            "comparisons": int(self._board[ENTRIES]),
            "insertions": int(self._board[MERGED]),
            "candidates": live,
            "candidates_peak": max(self._peak, live),
            "passes": int(self._board[PASSES]),
            "scanned": int(self._board[SCANNED]),
            "left_out": int(self._board[LEFT_OUT]),
        }

    def check(self) -> None:
        """Assert what must hold of the store, for tests."""
        check_store(self._store, self._dead(), self._rule)

    # ------------------------------------------------------------------------------------------------------- storage

    def _dead(self) -> int:
        """Slots in front that no report after `until` covers."""
        oldest = self.until - self.meta.longest + 1
        return int(np.searchsorted(self._store.at[: self._sizes[STORED]], oldest))

    def _append(self, tuples: Tuples) -> None:
        self._taken += len(tuples)
        stored, dead = int(self._sizes[STORED]), self._dead()
        if stored + len(tuples) > len(self._id) or dead > max(LEAST, stored // 2):
            self._hold(self.held(), len(tuples), self._runs(dead))
            stored = int(self._sizes[STORED])
        self._put(tuples, stored)
        self._peak = max(self._peak, int(self._sizes[STORED]) - self._dead())

    def _runs(self, gone: int) -> tuple[Ints, Ints, int]:
        """The runs, and how many slots they cover, when so many slots in front are gone."""
        main, fresh = self._store.main[: self._sizes[MAIN]], self._store.fresh[: self._sizes[FRESH]]
        return main[main >= gone] - gone, fresh[fresh >= gone] - gone, max(int(self._sizes[TAKEN]) - gone, 0)

    def _hold(self, tuples: Tuples, more: int = 0, runs: tuple[Ints, Ints, int] | None = None) -> None:
        """New arrays with room for twice these records and `more`. Without `runs` the next report sorts them all."""
        size = max(2 * (len(tuples) + more), LEAST)
        whole, real = np.empty((8, size), np.int64), np.zeros((3, size))
        sizes = np.zeros(5, np.int64)
        at, code, source, turn, main, fresh, self._id, self._rule = whole
        score, p, total = real
        store = Store(at, score, p, code, source, turn, np.zeros(size, bool), main, fresh, total, sizes)
        if runs is not None:
            main[: len(runs[0])], fresh[: len(runs[1])] = runs[0], runs[1]
            sizes[MAIN], sizes[FRESH], sizes[TAKEN] = len(runs[0]), len(runs[1]), runs[2]
        self._store, self._sizes = store, sizes
        self._make_room(size)
        self._keys, self._codes, self._filled = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool)
        self._known = 0
        self._likely = 0.0
        self._ruled = False
        self._put(tuples, 0)

    def _make_room(self, size: int) -> None:
        """For what an engine keeps of a record beside the store."""

    def _put(self, tuples: Tuples, stored: int) -> None:
        n = len(tuples)
        if not n:
            return
        place, store = slice(stored, stored + n), self._store
        self._id[place], self._rule[place] = tuples.id, tuples.rule
        store.at[place], store.score[place], store.p[place] = tuples.at, tuples.score, tuples.p
        store.turn[place], store.source[place] = tuples.turn + stored, tuples.source
        store.left_out[place] = False
        store.code[place] = self._encoded(tuples.rule)
        self._sizes[STORED] = stored + n
        self._likely = max(self._likely, float(tuples.p.max()))
        ruled = store.code[place] != FREE
        if ruled.any():
            self._ruled = True
            np.add.at(store.total, store.code[place][ruled], tuples.p[ruled])
            self._sizes[CROWDED] = bool((store.total[: self._known] > 1.0).any())

    def _encoded(self, rule: Ints) -> Ints:
        if (rule == NO_RULE).all():
            return np.full(len(rule), FREE)
        need = 4 * (self._known + len(rule))
        if need > len(self._keys):
            known = self._keys[self._filled][np.argsort(self._codes[self._filled])]
            size = 1 << max(need - 1, 1).bit_length()
            self._keys, self._codes = np.empty((2, size), np.int64)
            self._filled = np.zeros(size, bool)
            encode(known, self._keys, self._codes, self._filled, 0)
        codes, self._known = encode(rule, self._keys, self._codes, self._filled, self._known)
        return codes
