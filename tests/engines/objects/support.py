"""Streams of objects whose attributes arrive apart, engines fed with them, and what the oracle says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from skyband.engines.objects.family import COLUMNS, Family
from skyband.engines.oracle import objects as oracle
from skyband.model import NEVER, DueReports, Flags, Floats, Ints, Kind, MetaQuery
from skyband.model.apart import COLLECTIONS, COMBINATIONS, UNLIMITED, Assembly, AttributeValues

Reported = tuple[list[int], list[float]]


@dataclass(frozen=True)
class Case:
    """A family and everything that will be fed to it. Labels are places in the stream, backwards: no engine may rely on
    their order."""

    meta: MetaQuery
    fed: AttributeValues

    def expected(self, start: int, end: int, k: int, query: int = 0) -> Reported:
        assert self.meta.apart is not None
        inside = np.flatnonzero((self.fed.at >= start) & (self.fed.at < end))
        window = [
            oracle.Sighting(int(at), int(key), int(stream), float(value), int(label))
            for label, at, key, stream, value in zip(
                *(getattr(self.fed, name)[inside] for name in COLUMNS), strict=True
            )
        ]
        best = oracle.ranking(self.meta.apart, window, self.meta.ascending)[:k]
        if self.meta.threshold is not None:
            best = oracle.above(best, float(self.meta.threshold[query]))
        return [each.newest.row for each in best], [each.score for each in best]


def declared(
    d: int,
    collect: str = "SUM",
    combine: str = "SUM",
    high: float = 1.0,
    times: int = 1,
    ever: bool = False,
    low: float = 0.0,
) -> Assembly:
    """Streams that are all alike."""
    return Assembly(collect, combine, np.ones(d), np.full(d, low), np.full(d, high), np.full(d, times, np.int64), ever)


def family(kind: Kind, beats: list[tuple[int, int, int, int]], how: Assembly, ascending: bool = False) -> MetaQuery:
    """One query per (width, period, phase, k)."""
    width, period, phase, k = np.array(beats, np.int64).T
    return MetaQuery(kind, width, period, phase, k, np.arange(len(beats)), ascending=ascending, apart=how)


def sightings(at: Ints, key: Ints, stream: Ints, value: Floats) -> AttributeValues:
    """In feed order: by time, of equal times the larger object first."""
    order = np.lexsort((-key, at))
    label = 10_000_000 - np.arange(len(at))
    return AttributeValues(label, at[order], key[order], stream[order], value[order])


def reports(engine: Family, part: AttributeValues, due: DueReports) -> Iterator[tuple[int, int, int, Reported]]:
    answers = engine.advance(part, due)
    for i in range(len(due)):
        rows = answers[i]
        found = answers.id[rows].tolist(), answers.score[rows].tolist()
        yield int(due.start[i]), int(due.end[i]), int(due.k[i]), found


def check(
    case: Case,
    build: Callable[[MetaQuery], Family],
    untils: list[int],
    turn: Callable[[int, Family], Family] = lambda number, engine: engine,
    late: tuple[int, Flags] | None = None,
) -> Family:
    """Feed to each of `untils` and compare every report; `turn` may swap the engine between two calls. The records that
    `late` names come only after the call it names, if they are older than its end."""
    engine, last, after = build(case.meta), int(NEVER), int(NEVER)
    held_back = np.zeros(len(case.fed), np.bool_) if late is None else late[1] & (case.fed.at < untils[late[0]])
    known = case.fed[np.flatnonzero(~held_back)]
    for number, until in enumerate(untils):
        part = known[np.flatnonzero((known.at >= after) & (known.at < until))]
        due = case.meta.due_reports(part.at, last, after, until)
        for query, (start, end, k, found) in zip(due.query.tolist(), reports(engine, part, due), strict=True):
            wanted = Case(case.meta, known).expected(start, end, k, query)
            assert found[0] == wanted[0], (start, end, k, found, wanted)
            np.testing.assert_allclose(found[1], wanted[1], rtol=1e-14, atol=0)
        last = int(part.at[-1]) if len(part) else last
        after = until
        engine = turn(number, engine)
        if late is not None and number == late[0]:
            come_late(engine, case.fed[np.flatnonzero(held_back)])
            known = case.fed
    return engine


def come_late(engine: Family, records: AttributeValues) -> None:
    """What the runtime does with records that are older than some already fed."""
    held = engine.held()
    both = AttributeValues(*(np.concatenate((getattr(held, name), getattr(records, name))) for name in COLUMNS))
    # Labels fall along the stream here, so this is feed order.
    engine.rebuild(both[np.lexsort((-both.id, both.at))], engine.until, records.id)


# --------------------------------------------------------------------------------------------------------- strategies


@st.composite
def cases(draw: st.DrawFn, longest: int = 150, above: bool = False) -> Case:
    """Ties, repeats, gaps, any number of streams and any way to make a score; promises hold. With `above`, each query
    has a threshold instead of a k."""
    rng = np.random.default_rng(draw(st.integers(0, 10**9)))
    d, n = draw(st.integers(2, 8)), draw(st.integers(0, longest))
    kind: Kind = draw(st.sampled_from(["rows", "range"]))
    gaps = rng.choice([0, 1, 2, 5, 40], n, p=[0.3, 0.5, 0.1, 0.08, 0.02])
    at = np.arange(n) if kind == "rows" else np.cumsum(gaps) - 20
    key = rng.integers(0, max(int(n * draw(st.sampled_from([0.05, 0.2, 0.5]))), 1), n) * 77_777_777_777 - 5
    how = draw(assemblies(d))
    low = float(how.low[0]) if len(how) else draw(st.sampled_from([0.0, -2.0]))
    value = rng.integers(int(4 * low), 9, n) / 4.0
    fed = sightings(at.astype(np.int64), key, rng.integers(0, d, n), value)
    beats = draw(st.lists(_beats(), min_size=1, max_size=3))
    if draw(st.booleans()):
        beats = [(beats[0][0], *each[1:]) for each in beats]
    meta = family(kind, [(w, min(p, w), f % min(p, w), k) for w, p, f, k in beats], how, draw(st.integers(0, 5)) == 0)
    if above:
        levels = st.sampled_from([-3.0, 0.0, 1.0, 2.0, 3.5, 5.0])
        level = np.array([draw(levels) for _ in range(len(meta))])
        meta = replace(meta, k=np.full(len(meta), UNLIMITED), threshold=level, ascending=draw(st.booleans()))
    return Case(replace(meta, apart=_kept_promise(how, fed, meta.longest)), fed)


def _beats() -> st.SearchStrategy[tuple[int, int, int, int]]:
    return st.tuples(st.integers(1, 50), st.sampled_from([1, 1, 2, 5, 17, 60]), st.integers(0, 60), st.integers(1, 5))


@st.composite
def assemblies(draw: st.DrawFn, d: int) -> Assembly:
    collect, combine = draw(st.sampled_from(COLLECTIONS)), draw(st.sampled_from(COMBINATIONS))
    if draw(st.integers(0, 4)) == 0:
        none = np.empty(0)
        return Assembly(
            collect, combine if combine in ("SUM", "MAX") else "SUM", none, none, none, none.astype(np.int64)
        )
    weight = np.array([draw(st.sampled_from([1.0, 1.0, 0.5, 2.0, 0.0])) for _ in range(d)])
    low = np.full(d, draw(st.sampled_from([0.0, 0.0, 0.0, 0.25, -1.0])))
    high = np.full(d, draw(st.sampled_from([2.0, 2.0, 2.0, np.inf])))
    return Assembly(collect, combine, weight, low, high, np.ones(d, np.int64), draw(st.booleans()))


def _kept_promise(how: Assembly, fed: AttributeValues, width: int) -> Assembly:
    """With the number of occurrences that is true of the stream."""
    times = np.ones(len(how), np.int64)
    for x in range(len(how)):
        mine = fed.stream == x
        for key in np.unique(fed.object[mine]).tolist():
            at = fed.at[mine & (fed.object == key)]
            inside = len(at) if how.ever else int((np.searchsorted(at, at + width) - np.arange(len(at))).max())
            times[x] = max(times[x], inside)
    return replace(how, times=times)
