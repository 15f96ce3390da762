"""SAP: partitions of the window that adapt to the stream; only the best k of each are candidates.

**Idea.** Cut the window into partitions and keep of each its best k: nothing else can be reported before some of these
leave, and that happens in the front partition only. When a partition comes to the front, ρ counts the newer candidates
above its k-th best; only if ρ < k are its other records looked at, newest first, and the meaningful ones put on stacks
(S-AVL) from which the front is filled up. Partition sizes are `equal` (§4.1), decided by a rank-sum test (`dynamic`,
§4.2), or so with units that are skipped, or formed one by one, when a partition is scanned (`enhanced`, §4.3, §5.2).

**Guarantee.** Exact for every stream: the statistics decide only where partitions end and which units are scanned.

**Cost.** One comparison per record, O(log k) amortised for the rest; a report whose records have not changed is free.
Space: the scores and times of the window's records (the paper's window), and the candidates below.

**How candidates are counted.** `members` is the paper's count: C (the best k of closed partitions, what k later
candidates dominate removed), what is left of the front partition's best k with what was promoted to them, the best k of
the open partition, and the records on stacks; `members_sum` / `slides` is its mean over reports. The lists of k-units
(copies, at most max(2ζ*, ζ_max) records each) are not in it. `candidates` is the protocol's: the k-skyband of the
window, all of which may still be reported, so that its columns must be kept; it is computed when asked for, and
`candidates_peak` is the largest that was asked for. A snapshot holds exactly these; restoring feeds them again.

**Source.** sap-tkde17 §3 to §5, Appendix A and C; Table 2's variants are options: `delay=False` forms every M when its
partition is closed, `stacks=False` is Algorithm 1 with a ranked list instead of the S-AVL. `amortised=True` scans the
second partition while the first slides out: no report then pays for a whole scan, but ρ is asked one partition too
early and most scans turn out to be needless, so it is off.

**Errata.** An S-AVL's entries expire: tops that have left are thrown away. Merge and refine counts newcomers from the
top. Partitions differ in size, so P₀ is not dropped when P_m fills; ρ is asked when P₁'s first record leaves, with the
best k of P_m counted. τ begins at −∞, not 0. The best k of a partition are kept apart from unit lists. The best over
the stacks of all units is promoted, even past a full front: a k-unit met later may have better ones. A unit with fewer
than k records above τ would have no U^k: τ is set anew on that unit, not on the next. Of equal scores the newer ranks
higher, so F_θ prunes at ≤ and ρ counts at ≥. Lemma 2 counts the partition's own best k: each one passed leaves one
stack less. The rank-sum moments are those of the sample sizes, ties count half. Time windows: m = √(n / s), in time.

>>> import numpy as np
>>> from skyband.model import MetaQuery, DueReports, Records
>>> one = lambda x: np.array([x])
>>> engine = Sap(MetaQuery("rows", one(3), one(1), one(0), one(1), one(0)))  # the best of the last three
>>> answers = engine.advance(
...     Records(np.arange(5), np.array([5.0, 9.0, 7.0, 3.0, 4.0])), engine.meta.due_reports(np.arange(5), -1, 0, 5)
... )
>>> [float(answers.score[answers[i]][0]) for i in range(len(answers))]  # the 9 is stored once
[5.0, 9.0, 9.0, 9.0, 7.0]
>>> engine.candidates().tolist()
[4]
"""

from __future__ import annotations

from math import ceil, isqrt, nan, sqrt
from typing import Literal

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.engines.complete.checks import check_sap
from skyband.engines.kernels.sap import state as sap_state
from skyband.engines.kernels.sap.feed import advance_sap, skyband_of_window
from skyband.engines.kernels.sap.state import COUNTED, WORK, Plan, new_state
from skyband.model import Answers, DueReports, Ints, MetaQuery, Records

Partitions = Literal["equal", "dynamic", "enhanced"]
MODES: dict[Partitions, int] = {
    "equal": sap_state.EQUAL,
    "dynamic": sap_state.DYNAMIC,
    "enhanced": sap_state.ENHANCED,
}
SOURCE = "sap-tkde17"
MEMBERS = [sap_state.REST, sap_state.FRONT, sap_state.BEST, sap_state.STACKED]


def three_sigma(k: int) -> float:
    """The x with (x - k) / √x = 3: of so many expected records at least k are found, nearly always (Theorems 1, 3)."""
    return ((3 + sqrt(9 + 4 * k)) / 2) ** 2


def partitions_wanted(meta: MetaQuery) -> int:
    """m* = ⌈√(n / max(s, k))⌉ (§4.1). In a time window only n / s is known (Appendix A)."""
    n, s, k = meta.longest, int(meta.period[0]), meta.most
    least = max(s, k) if meta.kind == "rows" else s
    return isqrt(max(n - 1, 0) // least) + 1 if n > least else 1


def unit_length(meta: MetaQuery, m: int) -> int:
    """n / m as a multiple of the slide; in a ROWS window it holds k records at least."""
    n, s, k = meta.longest, int(meta.period[0]), meta.most
    slides = 1 if n // m < 2 * s else n // m // s
    return max(slides, ceil(min(k, n) / s)) * s if meta.kind == "rows" else slides * s


def rank_sum_bound(n1: int, n2: int, alpha: float = 0.05) -> float:
    """T_up of the rank-sum test: the largest sum of ranks in the region of acceptance, from the exact distribution."""
    ways = np.zeros((n1 + 1, n1 * (n1 + n2) + 1))
    ways[0, 0] = 1
    for rank in range(1, n1 + n2 + 1):
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    tail = np.cumsum(ways[n1][::-1])[::-1] / ways[n1].sum()
    return float(np.flatnonzero(tail > alpha / 2).max())


def plan_of(meta: MetaQuery, partitions: Partitions, m: int | None, delay: bool, stacks: bool, amortised: bool) -> Plan:
    n, period, k = meta.longest, int(meta.period[0]), meta.most
    expected = three_sigma(k)
    zeta = ceil(expected)
    unit = unit_length(meta, m or partitions_wanted(meta))
    return Plan(
        k=k,
        period=period,
        origin=int(meta.phase[0] - meta.width[0]) % period,
        unit=unit,
        longest=max(int(n / (1 + expected / k)), unit),
        mode=MODES[partitions],
        delay=delay,
        stacks=stacks,
        amortised=amortised,
        earlier=zeta,
        upper=rank_sum_bound(k, zeta) if k <= 10 else nan,
        zeta=zeta,
        crowd=max(2 * zeta, ceil(expected + 3 * sqrt(expected))),
    )


@register(
    "sap",
    Capabilities(
        "best k of partitions that adapt to the stream; a partition is scanned only when it comes to the front",
        f"{SOURCE} §4.3, §5.2",
        several_queries=False,
        integer_keys=True,
    ),
)
class Sap(CandidateEngine):
    """`m` asks for so many equal units in a window instead of m*."""

    def __init__(
        self,
        meta: MetaQuery,
        partitions: Partitions = "enhanced",
        *,
        m: int | None = None,
        delay: bool = True,
        stacks: bool = True,
        amortised: bool = False,
    ) -> None:
        super().__init__(meta)
        self._plan = plan_of(meta, partitions, m, delay, stacks, amortised)
        self.clear()

    def clear(self) -> None:
        self._begin(self.fed)

    def _begin(self, fed: int) -> None:
        self._state = new_state(fed, np.empty(0, self.key))
        self._peak = 0
        # Restored records have the numbers just below the next one; these are their ids.
        self._restored = np.empty(0, np.int64)
        self._restored_end = 0

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        self._state, out = advance_sap(
            records.at,
            records.score,
            due_reports.start,
            due_reports.end,
            self._needed_from(due_reports.until),
            self._plan,
            self._state,
        )
        self._clock(records, due_reports)
        answers = Answers(out.begin, out.size, self._ids(out.id), out.score)
        if self._state.size[sap_state.FIRST] >= self._restored_end:
            self._restored = self._restored[:0]
        return answers

    def _needed_from(self, now: int) -> int:
        """The start of the next report: no later one reaches further back."""
        meta = self.meta
        return int(now + 1 + (meta.phase[0] - now - 1) % meta.period[0] - meta.width[0])

    def _ids(self, number: Ints) -> Ints:
        if len(self._restored):
            old = number < self._restored_end
            number[old] = self._restored[number[old] - self._restored_end]
        return number

    def kept(self) -> Candidates:
        number, at, score = skyband_of_window(self._state.at, self._state.score, self._state.size, self._plan.k)
        return Candidates(self._ids(number), at, score)

    def build(self, kept: Candidates) -> None:
        """Feed the candidates once more: whatever dominates one of them is one of them."""
        self._begin(self.fed - len(kept))
        self._restored, self._restored_end = np.array(kept.id), self.fed
        none = np.empty(0, np.int64)
        self._state, _ = advance_sap(
            np.array(kept.at), np.array(kept.score), none, none, self._needed_from(self.until), self._plan, self._state
        )
        self.recount({})

    def check(self) -> None:
        super().check()
        check_sap(self._state, self._plan)

    @property
    def counters(self) -> Counters:
        candidates = len(self.kept())
        self._peak = max(self._peak, candidates)
        work = self._state.size[:WORK].tolist()
        return {
            "records": self.taken,
            **dict(zip(COUNTED, work, strict=True)),
            "members": int(self._state.size[MEMBERS].sum()),
            "candidates": candidates,
            "candidates_peak": self._peak,
        }

    def recount(self, counters: Counters) -> None:
        self._state.size[:WORK] = [counters.get(name, 0) for name in COUNTED]
        self._peak = counters.get("candidates_peak", 0)


@register(
    "sap_dynamic",
    Capabilities(
        "best k of partitions whose ends a rank-sum test decides",
        f"{SOURCE} §4.2, §5.1",
        several_queries=False,
        integer_keys=True,
    ),
)
class SapDynamic(Sap):
    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta, "dynamic")


@register(
    "sap_equal",
    Capabilities(
        "best k of partitions of equal size", f"{SOURCE} §4.1, §5.1", several_queries=False, integer_keys=True
    ),
)
class SapEqual(Sap):
    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta, "equal")
