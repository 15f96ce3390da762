"""Engines for many scores against brute force: constraints, thresholds, ties, deletes, queries that come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, strategies as st

from skyband.datasets.points import anticorrelated, correlated, independent
from skyband.engines.base import registered
from skyband.engines.many.grid import GridEngine
from skyband.engines.many.points import PointEngine, PointIndex
from skyband.engines.many.sma import Sma
from skyband.engines.many.tma import Tma
from skyband.engines.many.tsl import Tsl
from skyband.model import Floats, Ints, MetaQuery
from skyband.model.many import (
    ABSOLUTE,
    ADD,
    COLUMN,
    CONSTANT,
    DIVIDE,
    MULTIPLY,
    NEGATE,
    SUBTRACT,
    Points,
    Scores,
    ScoreSpec,
)
from tests.drawn import examples

Spread = Callable[[int, int, int], Floats]
NONE: Ints = np.empty(0, np.int64)
INDEXES: dict[str, Callable[[int, int | None], PointIndex]] = {"sma": Sma, "tma": Tma, "tsl": Tsl}
ENGINES = sorted(INDEXES)
VALUES = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-10, 10, width=16),
    st.sampled_from([np.inf, -np.inf, np.nan, 1e300, 0.0, -0.0]),
)
thorough = examples(120, suppress_health_check=list(HealthCheck))


def merit(asked: ScoreSpec, x: list[float]) -> float:
    """The score by Python's own arithmetic."""
    if len(asked.weight):
        total = asked.weight[0] * x[asked.column[0]]
        for weight, column in zip(asked.weight[1:], asked.column[1:], strict=True):
            total += weight * x[column]
        return float(total)
    stack: list[float] = []
    for op, value in zip(asked.op.tolist(), asked.value.tolist(), strict=True):
        if op == CONSTANT:
            stack.append(value)
        elif op >= COLUMN:
            stack.append(x[op - COLUMN])
        elif op in (NEGATE, ABSOLUTE):
            last = stack.pop()
            stack.append(-last if op == NEGATE else abs(last))
        else:
            b, a = stack.pop(), stack.pop()
            stack.append(a + b if op == ADD else a - b if op == SUBTRACT else a * b if op == MULTIPLY else a / b)
    return stack[0]


def brute_force(asked: ScoreSpec, numbers: list[int], x: Floats) -> list[int]:
    """Everything that counts, sorted: by score, then newer first."""
    found = []
    for number in numbers:
        values = [float(value) for value in x[number]]
        inside = all(
            (low == -np.inf and high == np.inf) or low <= value <= high or (np.isnan(value) and high == np.inf)
            for low, value, high in zip(asked.low.tolist(), values, asked.high.tolist(), strict=True)
        )
        with np.errstate(all="ignore"):
            score = merit(asked, values)
        if inside and not np.isnan(score) and (asked.threshold is None or score > asked.threshold):
            found.append((score if asked.turned else -score, -number))
    return [-number for _, number in sorted(found)][: asked.k]


@dataclass
class Watched:
    """An engine, the queries it serves, and everything it was fed."""

    engine: PointIndex
    x: Floats
    at: Ints
    asked: list[ScoreSpec] = field(default_factory=list)
    places: Ints = field(default_factory=lambda: NONE)
    fed: int = 0
    since: int = -(2**40)
    dead: set[int] = field(default_factory=set)

    def add(self, asked: list[ScoreSpec]) -> None:
        self.places = np.concatenate((self.places, self.engine.add(asked)))
        self.asked += asked

    def remove(self, which: int) -> None:
        self.engine.remove(int(self.places[which]))
        self.places = np.delete(self.places, which)
        del self.asked[which]

    def advance(self, count: int, width: int, deleted: list[int]) -> None:
        upto = min(self.fed + count, len(self.at))
        if upto:
            self.since = max(self.since, int(self.at[upto - 1]) + 1 - width)
        fresh = Points(self.at[self.fed : upto], self.x[self.fed : upto])
        self.engine.advance(fresh, np.array(deleted, np.int64), self.since)
        self.fed, self.dead = upto, self.dead | set(deleted)

    def check(self) -> None:
        answers = self.engine.answers(self.places)
        alive = [n for n in range(self.fed) if self.at[n] >= self.since and n not in self.dead]
        for i, asked in enumerate(self.asked):
            assert answers.id[answers[i]].tolist() == brute_force(asked, alive, self.x)
            for number, score in zip(answers.id[answers[i]], answers.score[answers[i]], strict=True):
                assert score == (-1 if asked.turned else 1) * merit(asked, self.x[number].tolist())


@st.composite
def questions(draw: st.DrawFn, d: int, linear: bool) -> ScoreSpec:
    limits = st.one_of(st.none(), st.none(), st.integers(-2, 2).map(float))
    low = np.array([-np.inf if (v := draw(limits)) is None else v for _ in range(d)])
    high = np.array([np.inf if (v := draw(limits)) is None else v for _ in range(d)])
    above = draw(st.integers(0, 3)) == 0
    threshold = draw(st.integers(-4, 4).map(float)) if above else None
    k = 2**31 - 1 if above else draw(st.integers(1, 4) | st.sampled_from([20, 2**31 - 1]))
    weights = st.sampled_from([0.0, 1.0, -1.0, 0.3, -2.5])
    if linear or draw(st.booleans()):
        column = draw(st.permutations(range(d)))[: draw(st.integers(1, d))]
        weight = [draw(weights) for _ in column]
        turned = above and draw(st.booleans())
        parts = (np.array(weight), np.array(column, np.int64), NONE, np.empty(0))
        return ScoreSpec(k, low, high, *parts, threshold, turned)
    op, value = [COLUMN + draw(st.integers(0, d - 1))], [0.0]
    for _ in range(draw(st.integers(1, 4))):
        step = draw(st.sampled_from([ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, ABSOLUTE]))
        if step == DIVIDE:
            op, value = [*op, CONSTANT], [*value, draw(st.sampled_from([0.5, -3.0]))]
        elif step not in (NEGATE, ABSOLUTE):
            one = draw(st.integers(-1, d - 1))
            op, value = [*op, CONSTANT if one < 0 else COLUMN + one], [*value, draw(weights)]
        op, value = [*op, step], [*value, 0.0]
    return ScoreSpec(k, low, high, np.empty(0), NONE, np.array(op), np.array(value), threshold)


@pytest.mark.parametrize("name", ENGINES)
@given(data=st.data())
@thorough
def test_answers_are_those_of_brute_force(name: str, data: st.DataObject) -> None:
    d = data.draw(st.integers(1, 3))
    x = np.array(data.draw(st.lists(st.lists(VALUES, min_size=d, max_size=d), max_size=40)), np.float64).reshape(-1, d)
    in_rows = data.draw(st.booleans())
    gaps = data.draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 9]), min_size=len(x), max_size=len(x)))
    at = np.arange(len(x)) if in_rows else np.cumsum(np.array(gaps, np.int64))
    width = data.draw(st.integers(1, 25))
    build, able = INDEXES[name], registered("multi_score")[name].capabilities
    engine = build(d, width if in_rows else None)
    if isinstance(engine, GridEngine):
        per_cell, share = data.draw(st.sampled_from([1, 4])), data.draw(st.sampled_from([0.0, 1.0]))
        engine = type(engine)(d, width if in_rows else None, per_cell, share)
    watched = Watched(engine, x, at)
    ask = st.lists(questions(d, linear=name == "tsl"), max_size=4)
    watched.add(data.draw(ask))
    while watched.fed < len(x):
        count = data.draw(st.integers(1, 8))
        upto = min(watched.fed + count, len(x))
        deleted = data.draw(st.lists(st.integers(0, upto - 1), max_size=2)) if able.deletes else []
        watched.advance(count, width, deleted)
        if watched.asked and data.draw(st.integers(0, 4)) == 0:
            watched.remove(data.draw(st.integers(0, len(watched.asked) - 1)))
            watched.add(data.draw(ask))
        watched.check()


def random_asked(draw: np.random.Generator, d: int) -> ScoreSpec:
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    if draw.random() < 0.3:
        low, high = draw.random(d) * 0.5, 0.5 + draw.random(d) * 0.5
    threshold = 0.4 * d if draw.random() < 0.1 else None
    k = 2**31 - 1 if threshold is not None else int(draw.integers(1, 30))
    return ScoreSpec.linear(k, draw.uniform(-0.3, 1.0, d).round(3), low, high, threshold)


def sorted_window(asked: ScoreSpec, x: Floats, alive: Ints) -> Ints:
    """As brute force, with NumPy: for windows of thousands."""
    inside = alive[((x[alive] >= asked.low) & (x[alive] <= asked.high)).all(axis=1)]
    score = asked.weight[0] * x[inside, 0]
    for j in range(1, x.shape[1]):
        score = score + asked.weight[j] * x[inside, j]
    keep = np.ones(len(inside), bool) if asked.threshold is None else score > asked.threshold
    best: Ints = inside[keep][np.lexsort((-inside[keep], -score[keep]))][: asked.k]
    return best


@pytest.mark.parametrize("spread", [independent, anticorrelated, correlated], ids=lambda spread: spread.__name__)
@pytest.mark.parametrize(
    ("name", "d"), [("tma", 2), ("tma", 3), ("tma", 6), ("sma", 1), ("sma", 4), ("sma", 5), ("sma", 6), ("tsl", 3)]
)
def test_three_hundred_queries_over_thousands_of_points(name: str, d: int, spread: Spread) -> None:
    draw = np.random.default_rng(d)
    x = spread(7_000, d, d)
    x = np.round(x, 2) if d < 4 else x  # ties
    engine = INDEXES[name](d, 3_000)
    deletes = registered("multi_score")[name].capabilities.deletes
    asked = [random_asked(draw, d) for _ in range(300)]
    places, gone = engine.add(asked), np.zeros(len(x), np.bool_)
    for begin in range(0, len(x), 700):
        upto = begin + 700
        deleted = draw.integers(max(0, upto - 3_000), upto, 40 if deletes else 0)
        gone[deleted] = True
        engine.advance(Points(np.arange(begin, upto), x[begin:upto]), deleted, upto - 3_000)
        if begin == 3_500:
            for which in range(60):
                engine.remove(int(places[which]))
            asked[:60] = [random_asked(draw, d) for _ in range(60)]
            places[:60] = engine.add(asked[:60])
        if begin in (0, 2_100) or begin >= 3_500:
            answers = engine.answers(places)
            alive = np.arange(max(0, upto - 3_000), upto)
            alive = alive[~gone[alive]]
            for i, each in enumerate(asked):
                assert answers.id[answers[i]].tolist() == sorted_window(each, x, alive).tolist()
    if d == 6 and spread is anticorrelated:
        assert engine.counters["scored_always"] > 200, "most cells of most queries hold most points"


def run_cycles(engine: GridEngine, k: int, queries: int, n: int, r: int, cycles: int, seed: int = 1) -> list[float]:
    """Fill a window of n points, then cycles of r; the mean length of the queries' lists after each."""
    x = independent(n + cycles * r, 4, seed)
    draw = np.random.default_rng(seed)
    engine.advance(Points(np.arange(n), x[:n]), NONE, 0)
    places = engine.add([ScoreSpec.linear(k, draw.random(4)) for _ in range(queries)])
    engine.answers(places)
    sizes = []
    for begin in range(n, n + cycles * r, r):
        engine.advance(Points(np.arange(begin, begin + r), x[begin : begin + r]), NONE, begin + r - n)
        engine.answers(places)
        sizes.append(float(engine.list_sizes().mean()))
    return sizes


@pytest.mark.parametrize("k", [1, 5, 20])
def test_tma_searches_no_more_often_than_the_paper_s_bound(k: int) -> None:
    n, r, queries, cycles = 10_000, 100, 100, 60
    tma, sma = Tma(4, n), Sma(4, n)
    run_cycles(tma, k, queries, n, r, cycles)
    run_cycles(sma, k, queries, n, r, cycles)
    most = (1 - (1 - r / n) ** k) * queries * cycles
    # A mean over draws of points and weights, which share points: the slack is three standard errors, generously.
    assert 0 < tma.counters["recomputations"] <= most + 3 * np.sqrt(most * k)
    assert sma.counters["recomputations"] <= tma.counters["recomputations"]
    assert k == 1 or sma.counters["recomputations"] < tma.counters["recomputations"]
    assert tma.counters["cells_visited"] > 0
    assert tma.counters["points_scored"] < 0.2 * n * (tma.counters["recomputations"] + queries)


def scored(index: PointIndex, d: int, n: int, queries: int, arrivals: int, k: int = 20) -> dict[str, int]:
    """The work of so many arrivals into a full window of n points, a hundred at a time."""
    x, draw = independent(n + arrivals, d, d), np.random.default_rng(queries)
    index.advance(Points(np.arange(n), x[:n]), NONE, 0)
    places = index.add([ScoreSpec.linear(k, draw.random(d)) for _ in range(queries)])
    index.answers(places)
    before = index.counters
    for begin in range(n, n + arrivals, 100):
        index.advance(Points(np.arange(begin, begin + 100), x[begin : begin + 100]), NONE, begin + 100 - n)
        index.answers(places)
    return {name: count - before[name] for name, count in index.counters.items()}


@pytest.mark.parametrize("index", [Tma, Sma], ids=lambda index: index.__name__)
@pytest.mark.parametrize(("d", "looked"), [(2, 250), (4, 800)])
def test_an_arrival_is_scored_by_the_queries_that_watch_its_cell(index: type[GridEngine], d: int, looked: int) -> None:
    """A query watches the few cells its search saw: of n arrivals as many come to it as there are points in those,
    however large the window is. The baseline scores every arrival for every query."""
    queries, arrivals, share = 40, 5_000, []
    for n in (5_000, 20_000):
        engine = index(d, n)
        share.append(scored(engine, d, n, queries, arrivals)["comparisons"] / (arrivals * queries))
        assert share[-1] <= looked / n
        assert share[-1] <= 1.25 * engine._lists.looked.mean() / n
    assert share[1] < share[0] / 3
    everyone = scored(Tsl(d, 5_000), d, 5_000, queries, arrivals)
    assert everyone["comparisons"] == arrivals * queries


@pytest.mark.parametrize("index", [Tma, Sma], ids=lambda index: index.__name__)
def test_of_queries_that_are_scored_always_only_those_that_want_an_arrival_work_its_score_out(
    index: type[GridEngine],
) -> None:
    engine, queries, arrivals = index(3, 10_000), 300, 5_000
    work = scored(engine, 3, 10_000, queries, arrivals)
    assert engine.counters["scored_always"] == queries
    assert work["insertions"] <= work["comparisons"] <= 1.05 * work["insertions"] + 50
    assert work["comparisons"] <= 0.01 * arrivals * queries


@pytest.mark.parametrize("d", [1, 4, 8])
def test_memory_per_point(d: int) -> None:
    n = 200_000
    for row_window in (n, None):
        engine = Sma(d, row_window)
        x = independent(n + n // 2, d, 3)
        for begin in range(0, len(x), 20_000):
            upto = begin + 20_000
            engine.advance(Points(np.arange(begin, upto), x[begin:upto]), NONE, upto - n)
        assert len(engine) == n
        assert engine.window_bytes <= 8 * (d + 3) * n


def test_points_that_leave_together_are_not_reported() -> None:
    """Figure 11 line 15, taken literally, keeps b: it was in no top list when a and b expired together."""
    for engine in (Tma(1), Sma(1)):
        place = engine.add([ScoreSpec.linear(1, np.array([1.0]))])
        engine.advance(Points(np.array([0, 0, 5]), np.array([[10.0], [9.0], [8.0]])), NONE, 0)
        assert engine.answers(place).id.tolist() == [0]
        engine.advance(Points(NONE, np.empty((0, 1))), NONE, 3)
        assert engine.answers(place).id.tolist() == [2]


def test_few_matches_do_not_mean_a_search_in_every_cycle() -> None:
    for engine in (Tma(1, 500), Sma(1, 500)):
        place = engine.add([ScoreSpec.linear(50, np.array([1.0]), low=np.array([0.99]))])
        x = independent(3_000, 1, 5)
        for begin in range(0, 3_000, 100):
            engine.advance(Points(np.arange(begin, begin + 100), x[begin : begin + 100]), NONE, begin + 100 - 500)
            engine.answers(place)
        assert engine.counters["recomputations"] == 0


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(("row_window", "width", "batch"), [(40, 40, 1), (40, 40, 9), (None, 1_000, 400)])
def test_a_list_of_the_whole_window_leaves_its_neighbour_alone(
    name: str, row_window: int | None, width: int, batch: int
) -> None:
    """k above the window: the arrival that pushes the oldest point out comes before that point has left the list, and
    was written over the first entry of the next query's list."""
    engine = INDEXES[name](1, row_window)
    asked = [ScoreSpec.linear(k, np.array([1.0])) for k in (2_000, 1)]
    places, x = engine.add(asked), independent(8 * width, 1, 3)
    for upto in range(batch, len(x), batch):
        engine.advance(Points(np.arange(upto - batch, upto), x[upto - batch : upto]), NONE, upto - width)
        answers, alive = engine.answers(places), np.arange(max(0, upto - width), upto)
        for i, each in enumerate(asked):
            assert answers.id[answers[i]].tolist() == sorted_window(each, x, alive).tolist()


@pytest.mark.nojit
@pytest.mark.parametrize("name", ENGINES)
def test_a_late_record_is_counted_once_and_what_was_counted_stays(name: str) -> None:
    """The window is laid out anew for it: its records were counted again, and the most there ever were forgotten."""
    one = np.array([0])
    scores = Scores(1, (ScoreSpec.linear(1, np.array([1.0])),))
    meta = MetaQuery("range", one + 10, one + 5, one, one + 1, one, scores=scores)
    engine = PointEngine.of(registered("multi_score")[name].build(meta))
    at, x = np.arange(40), independent(41, 1, 3)
    engine.advance(Points(at[:20], x[:20], at[:20]), engine.meta.due_reports(at[:20], -1, 0, 20))
    engine.advance(Points(at[20:], x[20:40], at[20:]), engine.meta.due_reports(at[20:], 19, 20, 40))
    held = engine.held()
    assert held.id is not None
    label = np.append(held.id, 40)
    engine.rebuild(Points(np.append(held.at, 39), np.append(held.x, x[40:], axis=0), label), 40, label[-1:])
    assert engine.counters["records"] == 41
    assert engine.counters["candidates_peak"] == 10
