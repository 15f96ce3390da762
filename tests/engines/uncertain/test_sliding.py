"""`pk_topk` over sliding windows: every report is that of a window read from scratch, however the stream is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.engines.base import registered
from skyband.engines.uncertain.pk_topk import NONE, PkTopk, Tuples
from skyband.model import NEVER, DueReports, MetaQuery, Using
from tests.drawn import examples
from tests.engines.uncertain.support import Window, by_report, one_report

ASKS = [Using(), Using("PT_K", 0.2), Using("U_KRANKS"), Using("EXPECTED_RANK"), Using("U_TOPK")]


@st.composite
def streams(draw: st.DrawFn, most: int = 120) -> Window:
    n = draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    p = np.where(rng.random(n) < 0.2, 1.0, 1 - rng.random(n))
    rule = np.where(rng.random(n) < 0.5, -1, rng.integers(0, max(n // 3, 1), n))
    return Window(rng.integers(0, max(n // 2, 1), n).astype(float), p / draw(st.sampled_from([1, 2, 4])), rule)


@st.composite
def families(draw: st.DrawFn) -> MetaQuery:
    """Windows of several lengths, slides, k and semantics."""
    n = draw(st.integers(1, 4))
    width = np.array(draw(st.lists(st.integers(1, 40), min_size=n, max_size=n)))
    slide = np.array([draw(st.integers(1, int(each))) for each in width])
    k = np.array(draw(st.lists(st.integers(1, 8), min_size=n, max_size=n)))
    using = tuple(draw(st.sampled_from(ASKS)) for _ in range(n))
    return MetaQuery("rows", width, slide, width % slide, k, np.arange(n), using=using)


@examples(120)
@given(window=streams(), meta=families(), data=st.data())
def test_every_report_is_that_of_a_fresh_window(window: Window, meta: MetaQuery, data: st.DataObject) -> None:
    cuts = sorted({*data.draw(st.lists(st.integers(0, len(window)), max_size=5)), 0, len(window)})
    restart = data.draw(st.integers(0, 5))
    engine, last = PkTopk(meta), int(NEVER)
    assert meta.using is not None
    for number, (low, high) in enumerate(zip(cuts, [*cuts[1:], len(window) + 60], strict=True)):
        part = window[low : min(high, len(window))]
        at = np.arange(low, min(high, len(window)))
        due = meta.due_reports(at, last, low if low else int(NEVER), high)
        last = int(at[-1]) if len(at) else last
        if number == restart:
            fresh = PkTopk(meta)
            fresh.rebuild(engine.held(), engine.until)
            engine = fresh
        found = by_report(engine.advance(part.tuples(low), due))
        for i, (places, values) in enumerate(found):
            expected = _fresh(window, due, i, meta.using[int(due.query[i])])
            assert values == pytest.approx(expected[1], abs=1e-9)
            if meta.using[int(due.query[i])].name == "PK_TOPK":
                assert places == expected[0]


def _fresh(window: Window, due: DueReports, i: int, using: Using) -> tuple[list[int], list[float]]:
    start = max(int(due.start[i]), 0)
    ((places, values),) = one_report(window[start : int(due.end[i])], [(int(due.k[i]), using)])
    return [place + start for place in places], values


def test_it_is_registered_as_an_engine_for_uncertain_data() -> None:
    assert {"pk_normal", "pk_topk"} <= set(registered("uncertain"))
    assert "pk_topk" not in registered()


def test_a_slide_costs_little_and_a_scan_stops() -> None:
    """Counters, not clocks: the runs take in a slide's records, and a scan reads a few hundred of ten thousand."""
    n, k = 10_000, 100
    rng = np.random.default_rng(1)
    window = Window(rng.random(3 * n), 1 - rng.random(3 * n), np.full(3 * n, -1))
    meta = MetaQuery("rows", np.array([n]), np.array([n // 100]), np.array([0]), np.array([k]), np.array([0]))
    engine = PkTopk(meta)
    engine.advance(window[:n].tuples(), meta.due_reports(np.arange(n), int(NEVER), int(NEVER), n))
    before = engine.counters
    due = meta.due_reports(np.arange(n, 3 * n), n - 1, n, 3 * n)
    engine.advance(window[n:].tuples(n), due)
    after = engine.counters
    assert len(due) == 200
    assert (after["scanned"] - before["scanned"]) / len(due) <= 256
    assert after["insertions"] - before["insertions"] == 2 * n
    assert after["candidates"] <= n


@pytest.mark.nojit
def test_a_rule_lets_the_same_record_in_after_another_engine_took_over() -> None:
    """Of one time, the smaller key first: that is the later one in feed order, and the turn says so."""
    one = np.array([0])
    meta = MetaQuery("range", one + 10, one + 5, one, one + 1, one)
    none, both, score = np.zeros(2, np.int64), np.arange(2), np.array([2.0, 1.0])
    pair = Tuples(both, none, score, np.full(2, 0.7), none, both[::-1], none)
    engine, other = PkTopk(meta), PkTopk(meta)
    engine.advance(pair, DueReports(NONE, NONE, NONE, NONE, 1))
    other.rebuild(engine.held(), 1)
    for each in (engine, other):
        ((places, _),) = by_report(each.advance(Tuples.none(), meta.due_reports(NONE, 0, 1, 5)))
        assert places == [1]
