"""Objects whose attributes arrive apart: values of objects in several streams, and engines that rank the objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from skyband.datasets import appearances
from skyband.engines.base import Counters, DataModelName, registration
from skyband.engines.oracle import objects as oracle
from skyband.language.expressions.attributes import AttributeScore
from skyband.model import Floats, Ints, MetaQuery
from skyband.model.apart import COLLECTIONS, COMBINATIONS, EXPRESSION, UNLIMITED, Approximate, Assembly, AttributeValues
from tests.engines.conformance.desk import (
    LABEL,
    Case,
    Column,
    Listed,
    beats,
    clocks,
    columns,
    delays,
    in_some_window,
    kinds,
    served,
    times,
)

PRECISION = 0.9


@dataclass(frozen=True, eq=False)
class ObjectCase(Case):
    """In feed order: by time, of equal times the larger object first."""

    object: Ints
    stream: Ints
    value: Floats

    def batch(self, numbers: Ints) -> AttributeValues:
        object, stream = self.object[numbers], self.stream[numbers]
        return AttributeValues(LABEL - numbers, self.at[numbers], object, stream, self.value[numbers])


@st.composite
def workloads(draw: st.DrawFn, engines: Sequence[str], late: bool, tied: bool) -> ObjectCase:
    """Ties, repeats, gaps, any number of streams and any way to make a score; promises hold. Values are finite and
    inside their bounds: others are bad records, which the runtime takes out."""
    kind, able = draw(st.sampled_from(kinds(engines, late))), [registration(name).capabilities for name in engines]
    d, at = draw(st.integers(1, 4)), draw(times(kind))
    n = len(at)
    how = draw(expressions(d) if all(each.expressions for each in able) and draw(st.booleans()) else assemblies(d))
    low = float(how.low[0]) if len(how) else draw(st.sampled_from([0.0, -2.0]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    key = rng.integers(0, draw(st.sampled_from([2, 5, 20])), n) * 77_777_777_777 - 5
    stream, value = rng.integers(0, d, n), rng.integers(int(4 * low), 9, n) / 4.0
    if tied:
        stream, value = stream * 0, value * 0 + 1.0
    order = np.lexsort((-key, at))
    width, period, phase, k = columns(draw(beats(3, st.integers(1, 4))))
    meta = MetaQuery(kind, width, period, phase, k, np.arange(len(k)), ascending=draw(st.integers(0, 5)) == 0)
    if all(each.thresholds for each in able) and draw(st.booleans()):
        level = np.array([draw(st.sampled_from([-1.0, 0.5, 1.0, 2.0, 3.0])) for _ in k])
        meta = replace(meta, k=np.full(len(k), UNLIMITED), threshold=level)
    case = ObjectCase(meta, at, draw(clocks(at)), draw(delays(n, late)), key[order], stream[order], value[order])
    # A query that wants everything gets everything, also from an engine that may miss some.
    rough = None if all(each.exact for each in able) else Approximate(precision=1.0)
    return replace(case, meta=replace(meta, apart=kept_promise(how, case), approximate=rough))


@st.composite
def assemblies(draw: st.DrawFn, d: int) -> Assembly:
    collect, combine = draw(st.sampled_from(COLLECTIONS)), draw(st.sampled_from(COMBINATIONS))
    if draw(st.integers(0, 4)) == 0:
        none = np.empty(0)
        combine = combine if combine in ("SUM", "MAX") else "SUM"
        return Assembly(collect, combine, none, none, none, none.astype(np.int64))
    weight = np.array([draw(st.sampled_from([1.0, 1.0, 0.5, 2.0, 0.0])) for _ in range(d)])
    low = np.full(d, draw(st.sampled_from([0.0, 0.0, 0.0, 0.25, -1.0])))
    high = np.full(d, draw(st.sampled_from([2.0, 2.0, 2.0, np.inf])))
    return Assembly(collect, combine, weight, low, high, np.ones(d, np.int64), draw(st.booleans()))


@st.composite
def expressions(draw: st.DrawFn, d: int) -> Assembly:
    """Some of which not every object has a score by, and some that may be infinite or lose it."""
    names = "abcd"[:d]
    by_name = [f"sqrt({name} + 1.0)" for name in names[1:]]
    text = draw(st.sampled_from([
        " + ".join(["2 * a", *by_name]), f"greatest({', '.join(names)}, 1)", f"ln(a) + {' + '.join(names)}",
        f"nullif(a, 1.5) + {names[-1]}", f"exp(500 * a) + {names[-1]}", " * ".join(names),
    ]))  # fmt: skip
    low = draw(st.sampled_from([0.0, 0.0, 0.25])) if "*" in text else draw(st.sampled_from([0.0, 0.25, -1.0]))
    score = AttributeScore(text, tuple(names), (low >= 0,) * d)
    high = np.full(d, draw(st.sampled_from([2.0, 2.0, np.inf])))
    collect = draw(st.sampled_from(COLLECTIONS))
    limits = np.full(d, low), high, np.ones(d, np.int64)
    return Assembly(collect, EXPRESSION, np.ones(d), *limits, draw(st.booleans()), score)


def kept_promise(how: Assembly, case: ObjectCase) -> Assembly:
    """With the number of occurrences that is true of the stream."""
    times = np.ones(len(how), np.int64)
    for stream in range(len(how)):
        for key in np.unique(case.object).tolist():
            at = case.at[(case.stream == stream) & (case.object == key)]
            inside = np.searchsorted(at, at + case.meta.longest) - np.arange(len(at))
            times[stream] = max(times[stream], len(at) if how.ever else int(inside.max(initial=0)))
    return replace(how, times=times)


class Objects:
    name: DataModelName = "objects"
    precision = PRECISION

    def cases(self, *engines: str, late: bool = False, tied: bool = False) -> st.SearchStrategy[ObjectCase]:
        return served(engines, workloads(engines, late, tied))

    def long(self, engine: str, shape: Column, n: int, untils: Sequence[int]) -> ObjectCase:
        """The paper's streams, in which an object appears once at most, with values of that shape. An engine that may
        miss some is asked for nine of ten."""
        draw, fed = np.random.default_rng(n), appearances(n, 4, seed=1)
        how = Assembly("SUM", "SUM", np.ones(4), np.zeros(4), np.ones(4), np.ones(4, np.int64), ever=True)
        width, period, phase, k = columns([(500, 100, 0, 5), (300, 70, 3, 4)])
        rough = None if registration(engine).capabilities.exact else Approximate(precision=PRECISION)
        meta = MetaQuery("rows", width, period, phase, k, np.arange(2), apart=how, approximate=rough)
        rest = fed.object, fed.stream, shape(draw, n)
        return ObjectCase(meta, np.arange(n), tuple(untils), np.zeros(n, np.int64), *rest)

    def truth(self, case: ObjectCase, query: int, numbers: Ints) -> list[oracle.Ranked]:
        assert case.meta.apart is not None
        own = case.at, case.object, case.stream, case.value
        rows = zip(*(column[numbers].tolist() for column in own), numbers.tolist(), strict=True)
        ranked = oracle.ranking(case.meta.apart, map(oracle.Sighting._make, rows), case.meta.ascending)
        level = case.meta.threshold
        return ranked if level is None else oracle.above(ranked, float(level[query]))

    def agree(self, case: ObjectCase, query: int, found: Listed, truth: list[oracle.Ranked]) -> None:
        best = truth[: int(case.meta.k[query])]
        assert [number for number, _ in found] == [each.newest.row for each in best]
        np.testing.assert_allclose([score for _, score in found], [each.score for each in best], rtol=1e-14, atol=0)
        assert not any(score == 0 and np.signbit(score) for _, score in found), "-0 is shown as 0"

    def hits(self, case: ObjectCase, query: int, found: Listed, truth: list[oracle.Ranked]) -> tuple[int, int]:
        """Of objects; and nobody is said to have more than it has."""
        score = {each.object: each.score for each in truth}
        named = [int(case.object[number]) for number, _ in found]
        assert len(set(named)) == len(named)
        assert all(said <= score[each] + 1e-9 for each, (_, said) in zip(named, found, strict=True))
        best = {each.object for each in truth[: int(case.meta.k[query])]}
        return len(best & set(named)), len(best)

    def needed(self, engine: str, case: ObjectCase, until: int, arrived: Ints) -> tuple[set[int], set[int]]:
        """The newest values of the objects that would be reported should nothing more arrive, or all that make up a
        sum; by an engine that drops nothing all values of the window."""
        assert case.meta.apart is not None
        window, at, least = in_some_window(case, until, arrived), case.at[arrived], set[int]()
        horizon = int(at.max()) + case.meta.longest if len(at) else until
        for query, start, end in case.windows(until, horizon):
            inside = arrived[(at >= start) & (at < end)]
            best = self.truth(case, query, inside)[: int(case.meta.k[query])]
            least |= {each.newest.row for each in best}
            if case.meta.apart.collect in ("SUM", "AVG"):
                summed = {each.object for each in best}
                least |= {number for number in inside.tolist() if int(case.object[number]) in summed}
        return least if registration(engine).capabilities.drops else window, window

    def copies(self, case: ObjectCase) -> int:
        """Once per width of a window."""
        return len(np.unique(case.meta.width))

    def work(self, engine: str, case: ObjectCase, counters: Counters) -> tuple[int, int]:
        """In every width a value costs the depth of a tournament or a list when it comes and when it goes, and its part
        of the reports; whoever settles lays out the tournament anew."""
        depth = 2 * int(np.log2(case.meta.longest)) + 16
        return len(case.at), len(case.at) * len(case.meta) * depth + 1024 * counters.get("settlings", 0)
