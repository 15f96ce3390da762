"""`sla` = `eaa` = oracle on any stream, however it is cut, saved, restored and disturbed by late records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.datasets import appearances
from skyband.engines.base import registered
from skyband.engines.objects.eaa import Eaa, Instances
from skyband.engines.objects.expressed import Expressed
from skyband.engines.objects.family import FINE, Family
from skyband.engines.objects.sla import ONE_ARRAY, Sla
from skyband.errors import SkybandError
from skyband.model import NEVER, MetaQuery
from skyband.model.apart import Assembly
from tests.drawn import examples
from tests.engines.objects.support import Case, cases, check, declared, family, reports, sightings


class Restless(Instances):
    """Settles all the time, so that small streams are pruned."""

    least = 3


class RestlessExpressed(Expressed):
    least = 3


class RestlessEaa(Eaa):
    def structure(self, meta: MetaQuery, width: int) -> Instances:
        assert meta.apart is not None
        return Restless(meta, width) if meta.apart.score is None else RestlessExpressed(meta, width)


class TinyBlocks(Sla):
    """Lists in blocks of eight entries, so that small streams split and join them."""

    block = 8


class OneArray(Sla):
    block = ONE_ARRAY


ENGINES = {"eaa": RestlessEaa, "sla": TinyBlocks, "sla as one array": OneArray}


@pytest.mark.parametrize(
    ("name", "worth", "above"),
    [("eaa", 250, False), ("sla", 80, False), ("sla as one array", 20, False), ("eaa", 150, True)],
)
def test_every_report_is_that_of_the_oracle(name: str, worth: int, above: bool) -> None:
    @examples(worth)
    @given(case=cases(above=above), data=st.data())
    def any_stream(case: Case, data: st.DataObject) -> None:
        last = int(case.fed.at[-1]) + 1 if len(case.fed) else 0
        first = int(case.fed.at[0]) if len(case.fed) else 0
        middle = data.draw(st.lists(st.integers(first, last), max_size=4))
        untils = sorted({*middle, last, last + data.draw(st.integers(0, 60))})
        restart = data.draw(st.integers(0, 4))
        late = None
        if case.meta.kind == "range" and data.draw(st.booleans()):
            rng = np.random.default_rng(len(case.fed))
            late = data.draw(st.integers(0, len(untils) - 1)), rng.random(len(case.fed)) < 0.2
        check(case, ENGINES[name], untils, lambda number, engine: _swapped(engine, number == restart), late)

    any_stream()


def _swapped(engine: Family, now: bool) -> Family:
    if not now:
        return engine
    engine.settle()
    fresh = type(engine)(engine.meta)
    fresh.rebuild(engine.held(), engine.until)
    assert np.isin(engine.candidates(), fresh.candidates()).all()
    return fresh


def test_they_are_registered_for_objects() -> None:
    assert {"eaa", "sla"} <= set(registered("objects"))
    assert not {"eaa", "sla"} & set(registered())


def test_a_query_about_records_is_refused() -> None:
    one = np.array([1])
    with pytest.raises(SkybandError, match="a query about records"):
        Eaa(MetaQuery("rows", one, one, one - 1, one, one - 1))


def test_sums_are_right_to_the_last_bit_in_any_order() -> None:
    """0.1 ten times is 1.0 when it is rounded once, and nothing of a large value that has left stays behind."""
    value = np.array([1e17, *[0.1] * 10])
    fed = sightings(np.arange(11), np.zeros(11, np.int64), np.zeros(11, np.int64), value)
    for build in ENGINES.values():
        meta = family("rows", [(10, 1, 0, 1)], declared(1, high=1e17, times=10))
        engine = build(meta)
        due = meta.due_reports(fed.at, int(NEVER), int(NEVER), 11)
        *_, (_, end, _, found) = reports(engine, fed, due)
        assert (end, found[1]) == (11, [1.0])


@pytest.mark.parametrize("collect", ["SUM", "AVG"])
def test_a_mean_is_a_sum_rounded_once_and_divided_whatever_came_and_went(collect: str) -> None:
    """Values of either sign over twelve decimal places, in batches of any size: the oracle's bits."""
    rng, n = np.random.default_rng(8), 600
    value = rng.normal(size=n) * 10.0 ** rng.integers(-6, 7, n)
    fed = sightings(np.arange(n), rng.integers(0, 6, n), rng.integers(0, 2, n), value)
    case = Case(family("rows", [(90, 7, 0, 9), (40, 3, 1, 9)], declared(2, collect, high=np.inf, low=-1.0)), fed)
    for build in ENGINES.values():
        engine, last = build(case.meta), int(NEVER)
        for until in [*np.cumsum(rng.integers(1, 60, 12)).tolist(), n]:
            part = fed[np.flatnonzero((fed.at >= last) & (fed.at < until))]
            for start, end, k, found in reports(
                engine, part, case.meta.due_reports(part.at, max(last - 1, int(NEVER)), last, until)
            ):
                assert found == case.expected(start, end, k)
            last = until


def test_an_object_whose_score_is_no_number_is_not_ranked() -> None:
    how = Assembly("SUM", "PRODUCT", np.ones(2), np.zeros(2), np.full(2, np.inf), np.ones(2, np.int64))
    fed = sightings(np.arange(4), np.array([1, 1, 2, 2]), np.array([0, 1, 0, 1]), np.array([np.inf, 0.0, 2.0, 3.0]))
    for build in ENGINES.values():
        check(Case(family("rows", [(4, 1, 0, 2)], how), fed), build, [2, 4, 8])


def test_values_beyond_the_declared_number_are_counted_and_harm_nobody() -> None:
    n = 400
    rng = np.random.default_rng(3)
    fed = sightings(np.arange(n), rng.integers(0, 9, n), rng.integers(0, 2, n), rng.random(n))
    for build in ENGINES.values():
        meta = family("rows", [(50, 10, 0, 3)], declared(2))
        engine = build(meta)
        for _, _, _, found in reports(engine, fed, meta.due_reports(fed.at, int(NEVER), int(NEVER), n)):
            assert len(found[0]) == 3
            assert found[1] == sorted(found[1], reverse=True)
        assert engine.counters["beyond_declared"] > n / 2


@pytest.mark.parametrize(("streams", "xi"), [(2, 0.0), (3, 0.5), (4, 1.0), (6, 0.3), (8, 0.8)])
def test_the_paper_s_streams(streams: int, xi: float) -> None:
    """Engines as they are, over many windows: against each other in every report, against the oracle in some."""
    fed = appearances(4_000, streams, xi, seed=streams)
    meta = family("rows", [(700, 7, 0, 10), (700, 50, 0, 25), (300, 30, 0, 4)], declared(streams, ever=True))
    due = meta.due_reports(fed.at, int(NEVER), int(NEVER), len(fed) + 800)
    first, second = Eaa(meta).advance(fed, due), Sla(meta).advance(fed, due)
    assert first.size.tolist() == second.size.tolist()
    assert first.id[first.entries()].tolist() == second.id[second.entries()].tolist()
    for i in np.linspace(0, len(due) - 1, 12).astype(int).tolist():
        wanted = Case(meta, fed).expected(int(due.start[i]), int(due.end[i]), int(due.k[i]))
        assert first.id[first[i]].tolist() == wanted[0]
        np.testing.assert_allclose(first.score[first[i]], wanted[1], rtol=1e-15)


@pytest.mark.nojit
def test_the_kernels_are_plain_python_too() -> None:
    fed = appearances(60, 3, 0.6, remembered=5, seed=1)
    meta = family("rows", [(30, 7, 2, 3), (20, 5, 0, 2)], declared(3, ever=True))
    with np.errstate(over="ignore"):  # hashing wraps around, as machine code does
        for build in (RestlessEaa, TinyBlocks):
            check(Case(meta, fed), build, [25, 60, 100])


def test_many_slides_make_every_moment_a_window_start() -> None:
    fed = appearances(300, 3, 0.5, remembered=20, seed=4)
    meta = family("rows", [(40, slide, 40 % slide, 1 + slide % 4) for slide in range(3, 3 + FINE + 2)], declared(3))
    engine = check(Case(meta, fed), RestlessEaa, [150, 300])
    engine.settle()
    assert engine.counters["objects"] < len(np.unique(fed.object[260:]))
