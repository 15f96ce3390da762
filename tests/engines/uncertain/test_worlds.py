"""Every semantics of `pk_topk` against the enumeration of possible worlds, and the paper's own tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.engines.oracle import uncertain as oracle
from skyband.model import Using
from tests.drawn import examples
from tests.engines.uncertain.support import CLOSE, Window, one_report, windows

SPEED = Window(
    np.array([80.0, 65.0, 45.0, 30.0, 50.0, 25.0]),
    np.array([0.3, 0.4, 0.5, 1.0, 0.8, 0.2]),
    np.array([-1, 0, 0, -1, 1, 1]),
)
"""Table 1 of the paper."""


@pytest.mark.parametrize(
    ("k", "expected"), [(2, [0.3, 0.4, 0.38, 0.202, 0.704, 0.014]), (3, [0.3, 0.4, 0.5, 0.784, 0.8, 0.146])]
)
def test_table_3(k: int, expected: list[float]) -> None:
    ranked = SPEED.ranked()
    by_place = {record.row: p for record, p in zip(ranked, oracle.top_k_probabilities(ranked, k), strict=True)}
    assert [by_place[place] for place in range(6)] == pytest.approx(expected, abs=1e-12)
    assert oracle.recurrence_with_rules(ranked, k) == pytest.approx(oracle.top_k_probabilities(ranked, k), abs=1e-12)
    ((places, values),) = one_report(SPEED, [(k, Using("PT_K", 1e-6))])
    assert [dict(zip(places, values, strict=True))[place] for place in range(6)] == pytest.approx(expected, abs=1e-12)


def test_the_papers_answers_to_q1_and_q2() -> None:
    (three, _), (two, _) = one_report(SPEED, [(3, Using()), (2, Using())])
    assert three == [4, 3, 2]
    assert two == [4, 1]


@examples(300)
@given(window=windows(), k=st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True))
def test_pk_topk_for_every_k_of_one_pass(window: Window, k: list[int]) -> None:
    ranked = window.ranked()
    wanted = sorted(k, reverse=True)
    for each, (places, values) in zip(wanted, one_report(window, [(each, Using()) for each in wanted]), strict=True):
        _is_the_best(ranked, oracle.top_k_probabilities(ranked, each), each, places, values)


@examples(200)
@given(window=windows(), k=st.integers(1, 6), level=st.sampled_from([0.001, 0.1, 0.25, 0.5, 0.9, 1.0]))
def test_pt_k(window: Window, k: int, level: float) -> None:
    ranked = window.ranked()
    chances = oracle.top_k_probabilities(ranked, k)
    exact = {record.row: p for record, p in zip(ranked, chances, strict=True)}
    ((places, values),) = one_report(window, [(k, Using("PT_K", level))])
    if _are_clear(chances):
        assert places == [ranked[rank].row for rank in oracle.highest(chances, len(places))]
    assert values == pytest.approx([exact[place] for place in places], abs=CLOSE)
    assert {place for place, p in exact.items() if p >= level + CLOSE} <= set(places)
    assert set(places) <= {place for place, p in exact.items() if p >= level - CLOSE}


@examples(300)
@given(window=windows(), k=st.integers(1, 6))
def test_u_topk(window: Window, k: int) -> None:
    ranked = window.ranked()
    lists = oracle.answer_lists(ranked, k)
    ((places, values),) = one_report(window, [(k, Using("U_TOPK"))])
    rank = {record.row: number for number, record in enumerate(ranked)}
    said = tuple(rank[place] for place in places)
    assert said == tuple(sorted(said))
    best = max(lists.values())
    assert lists.get(said, 0.0) == pytest.approx(best, abs=CLOSE)
    assert values == pytest.approx([best] * len(said), abs=CLOSE)


@examples(200)
@given(window=windows(), k=st.integers(1, 6))
def test_u_kranks(window: Window, k: int) -> None:
    ranked = window.ranked()
    holds = oracle.rank_probabilities(ranked, k)
    ((places, values), _) = one_report(window, [(k, Using("U_KRANKS")), (max(k - 1, 1), Using("U_KRANKS"))])
    rank = {record.row: number for number, record in enumerate(ranked)}
    assert len(places) >= sum(max(row) > 1e-12 for row in holds)
    for row, place, value in zip(holds, places, values, strict=False):
        if _are_clear(row):
            assert rank[place] == oracle.highest(row, 1)[0] or max(row) < 1e-12
        assert value == pytest.approx(max(row), abs=CLOSE)
        assert row[rank[place]] == pytest.approx(max(row), abs=CLOSE)


@examples(200)
@given(window=windows(), k=st.integers(1, 6))
def test_expected_rank(window: Window, k: int) -> None:
    ranked = window.ranked()
    expected = oracle.expected_ranks(ranked)
    ((places, values),) = one_report(window, [(k, Using("EXPECTED_RANK"))])
    _is_the_best(ranked, [-each for each in expected], k, places, [-value for value in values])


@examples(150)
@given(window=windows(), k=st.integers(1, 6), data=st.data())
def test_pk_streams(window: Window, k: int, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.integers(0, 4), min_size=len(window), max_size=len(window)))
    window = Window(window.score, window.p, window.rule, np.array(drawn))
    ranked = window.ranked()
    first, total = dict[int, int](), dict[int, float]()
    for rank, (record, p) in enumerate(zip(ranked, oracle.top_k_probabilities(ranked, k), strict=True)):
        first.setdefault(drawn[record.row], rank)
        total[drawn[record.row]] = total.get(drawn[record.row], 0.0) + p
    ((places, values),) = one_report(window, [(k, Using("PK_STREAMS"))])
    sources = sorted(total, key=lambda source: first[source])
    best = [sources[place] for place in oracle.highest([total[source] for source in sources], k)]
    if _are_clear(list(total.values())):
        assert [drawn[place] for place in places] == best
    assert values == pytest.approx([total[source] for source in best], abs=CLOSE)
    assert [total[drawn[place]] for place in places] == pytest.approx(values, abs=CLOSE)
    assert [ranked[first[drawn[place]]].row for place in places] == places


@pytest.mark.parametrize("k", [1, 3, 40])
def test_without_rules_one_row_is_enough(k: int) -> None:
    """A window of 300 independent records, more than a block: U_KRANKS and PK_STREAMS against the recurrence."""
    draw = np.random.default_rng(k)
    window = Window(
        draw.permutation(300).astype(float), 1 - draw.random(300), np.full(300, -1), draw.integers(0, 9, 300)
    )
    assert window.source is not None
    ranked = window.ranked()
    exact = np.array(oracle.recurrence(ranked, k))
    ((places, values),) = one_report(window, [(k, Using("PK_STREAMS"))])
    total = np.bincount(window.source[[record.row for record in ranked]], exact)
    assert values == pytest.approx(np.sort(total)[::-1][:k].tolist(), abs=CLOSE)
    assert total[window.source[places]] == pytest.approx(values, abs=CLOSE)
    before = np.array(oracle.recurrence(ranked, k - 1)) if k > 1 else np.zeros(300)
    ((places, values),) = one_report(window, [(k, Using("U_KRANKS"))])
    holds = exact - before
    assert values[-1] == pytest.approx(holds.max(), abs=CLOSE)
    assert ranked[int(holds.argmax())].row == places[-1]


NOISY = [
    ("EXPECTED_RANK", 3, [0.7, 0.5, 1.0], [-1, -1, -1], [0, 1, 2]),
    ("EXPECTED_RANK", 2, [0.4, 0.1, 0.1, 0.6, 0.8, 0.6], [-1] * 6, [3, 0]),
    ("PK_TOPK", 3, [0.2, 0.5, 0.3, 1.0, 0.4], [-1, -1, 1, -1, -1], [3, 1, 2]),
    ("U_KRANKS", 2, [0.6, 0.6, 0.25, 0.9], [-1] * 4, [0, 1]),
]
"""Records from the best score down, of which some have equal figures that are rounded differently."""


@pytest.mark.nojit
@pytest.mark.parametrize(("name", "k", "p", "rule", "expected"), NOISY, ids=[f"{each[0]} {each[1]}" for each in NOISY])
def test_of_equal_figures_the_better_score_comes_first(
    name: str, k: int, p: list[float], rule: list[int], expected: list[int]
) -> None:
    window = Window(-np.arange(len(p), dtype=float), np.array(p), np.array(rule))
    ((places, _),) = one_report(window, [(k, Using(name))])
    assert places == expected


def test_expected_ranks_of_a_long_window_are_not_ordered_by_rounding() -> None:
    """Tenths, so that dozens of records have the same expected rank as another; in whole numbers it is exact."""
    tenths = np.random.default_rng(5).integers(1, 11, 3_000)
    window = Window(-np.arange(3_000.0), tenths / 10, np.full(3_000, -1))
    ((places, values),) = one_report(window, [(3_000, Using("EXPECTED_RANK"))])
    higher, everything = np.cumsum(tenths) - tenths, int(tenths.sum())
    hundredths = tenths * higher + (10 - tenths) * (everything - tenths)
    assert len(np.unique(hundredths)) < 2_960
    assert places == np.argsort(hundredths, kind="stable").tolist()
    assert values == pytest.approx((np.sort(hundredths) / 100).tolist(), abs=CLOSE)


def _is_the_best(
    ranked: list[oracle.Tuple], exact: list[float], k: int, places: list[int], values: list[float]
) -> None:
    """The k best in order."""
    best = oracle.highest(exact, k)
    if _are_clear(exact):
        assert places == [ranked[rank].row for rank in best]
    assert len(places) == len(set(places)) == len(best)
    assert values == pytest.approx([exact[rank] for rank in best], abs=CLOSE)
    of = {record.row: number for number, record in enumerate(ranked)}
    assert [exact[of[place]] for place in places] == pytest.approx([exact[rank] for rank in best], abs=CLOSE)


def _are_clear(figures: list[float]) -> bool:
    """Whether each two of them are surely equal or surely different, whatever rounding does to them."""
    apart = np.abs(np.subtract.outer(figures, figures))
    return bool(((apart < 0.5e-12) | (apart > 2e-12)).all())


@pytest.mark.nojit
def test_a_rule_that_does_not_fit_is_cut_in_order_of_time() -> None:
    window = Window(np.array([1.0, 2.0, 3.0]), np.array([0.6, 0.6, 0.4]), np.array([0, 0, 0]))
    assert oracle.fitting([oracle.Tuple(p, 0) for p in window.p]) == [True, False, True]
    ((places, values),) = one_report(window, [(2, Using())])
    assert places == [0, 2]
    assert values == pytest.approx([0.6, 0.4])


@pytest.mark.nojit
def test_pitfall_a_dominated_record_may_be_the_answer() -> None:
    """k = 1: an old sure record below a new doubtful one; and a rule-mate that beats a free record of equal p."""
    old = Window(np.array([5.0, 9.0]), np.array([1.0, 0.4]), np.array([-1, -1]))
    ((places, values),) = one_report(old, [(1, Using())])
    assert (places, values) == ([0], [0.6])
    mates = Window(np.array([10.0, 8.0, 9.0]), np.array([0.6, 0.4, 0.4]), np.array([0, 0, -1]))
    ((places, values),) = one_report(mates, [(1, Using("PT_K", 0.01))])
    assert dict(zip(places, values, strict=True)) == pytest.approx({0: 0.6, 1: 0.24, 2: 0.16})
