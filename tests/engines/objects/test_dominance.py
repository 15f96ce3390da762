"""What `eaa` keeps: the k-dominance set of the definition, and what keeping it costs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import log2

import numpy as np
import pytest

from skyband.datasets import appearances
from skyband.engines.objects.eaa import Eaa, Instances
from skyband.engines.objects.family import nothing_prunes
from skyband.engines.oracle import objects as oracle
from skyband.model import NEVER, DueReports
from skyband.model.apart import UNLIMITED, Assembly, AttributeValues
from tests.engines.objects.support import declared, family

NO_REPORT = np.empty(0, np.int64)


def fed_to(meta_width: int, slide: int, k: int, how: Assembly, fed: AttributeValues, above: float | None = None) -> Eaa:
    """An engine after a stream over which nothing was reported, settled."""
    meta = family("rows", [(meta_width, slide, meta_width % slide, k)], how)
    engine = Eaa(replace(meta, threshold=None if above is None else np.array([above])))
    engine.advance(fed, DueReports(NO_REPORT, NO_REPORT, NO_REPORT, NO_REPORT, len(fed)))
    engine.settle()
    return engine


def instances_of(fed: AttributeValues, how: Assembly) -> list[tuple[int, int, float, float]]:
    """Place, object, current and best score of every instance, by their definitions."""
    instances = []
    for place, key in enumerate(fed.object.tolist()):
        mine = np.flatnonzero(fed.object == key)
        suffix = mine[mine >= place]
        values: dict[int, list[float]] = {}
        for i in suffix.tolist():
            values.setdefault(int(fed.stream[i]), []).append(float(fed.value[i]))
        current = oracle.score(how, values)
        hopes = {x: list(own) for x, own in values.items()}
        for x in range(len(how)):
            counted = int((fed.stream[mine if how.ever else suffix] == x).sum())
            hopes.setdefault(x, []).extend([float(how.high[x])] * (int(how.times[x]) - counted))
        best = oracle.score(how, {x: own for x, own in hopes.items() if own})
        instances.append((place, key, current, best))
    return instances


def dominance_set(fed: AttributeValues, k: int, how: Assembly) -> set[int]:
    """Objects with an instance that fewer than k distinct objects dominate, by Definition 1 and all pairs."""
    instances, kept = instances_of(fed, how), set()
    for place, key, _, best in instances:
        above = {other for at, other, current, _ in instances if at >= place and other != key and current > best}
        if len(above) < k:
            kept.add(key)
    return kept


@pytest.mark.parametrize("ever", [True, False])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("combine", ["SUM", "MIN", "PRODUCT"])
def test_what_is_kept_is_the_dominance_set(ever: bool, times: int, combine: str) -> None:
    for seed in range(4):
        fed = appearances(90, 3, 0.6, remembered=8, seed=seed)
        fed = replace(fed, value=np.round(fed.value * 8) / 8)
        how = declared(3, combine=combine, times=times, ever=ever)
        engine = fed_to(100, 1, 2, how, fed)
        assert set(engine.held().object.tolist()) == dominance_set(fed, 2, how)


@pytest.mark.parametrize("ever", [True, False])
@pytest.mark.parametrize(("combine", "levels"), [("SUM", (0.8, 2.4)), ("MIN", (0.3, 0.8)), ("PRODUCT", (0.1, 0.6))])
def test_with_a_threshold_whoever_may_rise_above_it_is_kept(
    ever: bool, combine: str, levels: tuple[float, float]
) -> None:
    """However many others are above it, and nobody else."""
    for level in levels:
        fed = appearances(90, 3, 0.6, remembered=8, seed=3)
        how = declared(3, combine=combine, ever=ever)
        held = set(fed_to(100, 1, UNLIMITED, how, fed, level).held().object.tolist())
        assert held == {key for _, key, _, best in instances_of(fed, how) if best > level}
    assert 0 < len(held) < len(np.unique(fed.object))


def test_an_object_with_two_instances_above_is_one_dominator() -> None:
    """PITFALLS: with k = 2, two instances of p above q are not two objects above it."""
    fed = AttributeValues(
        np.arange(3), np.arange(3), np.array([1, 2, 2]), np.array([0, 0, 1]), np.array([0.1, 0.9, 0.9])
    )
    how = replace(declared(2), high=np.array([1.0, 0.2]), ever=True)
    fed = replace(fed, value=np.array([0.1, 0.9, 0.2]))
    engine = fed_to(10, 1, 2, how, fed)
    assert set(engine.held().object.tolist()) == {1, 2}


def test_a_dropped_instance_leaves_its_value_to_the_older_one() -> None:
    """PITFALLS: 9 has 0.9 and then 0.1. Its later instance is worth 0.1 and dominated by 5; the older needs both."""
    key, stream = np.array([9, 9, 5]), np.array([0, 1, 0])
    fed = AttributeValues(np.arange(3), np.arange(3), key, stream, np.array([0.9, 0.1, 0.5]))
    engine = fed_to(10, 1, 1, declared(2, ever=True), fed)
    assert engine.held().value.tolist() == [0.9, 0.1, 0.5]
    due = engine.meta.due_reports(np.arange(3, 4), 2, 3, 3)
    answers = engine.advance(AttributeValues.none(), DueReports(NO_REPORT + 0, NO_REPORT, NO_REPORT, NO_REPORT, 3))
    assert len(due) == len(answers) == 0
    ten = np.array([10])
    answers = engine.advance(AttributeValues.none(), DueReports(ten - 10, ten, ten - 9, ten - 10, 10))
    assert answers.score.tolist() == [1.0]


def test_nothing_is_dropped_where_nothing_may_be() -> None:
    fed = appearances(1_500, 3, seed=1)
    none = np.empty(0)
    open_ended = replace(declared(3), high=np.full(3, np.inf))
    for how, ascending, why in (
        (declared(3), True, "lowest"),
        (declared(3, "LAST"), False, "LAST"),
        (declared(3, low=-1.0), False, "below zero"),
        (declared(3, "MAX", "PRODUCT", low=-1.0), False, "below zero"),
        (open_ended, False, "highest"),
        (Assembly("SUM", "SUM", none, none, none, none.astype(np.int64)), False, "not declared"),
    ):
        meta = family("rows", [(1_000, 10, 0, 5)], how, ascending)
        assert why in (nothing_prunes(meta) or "")
        engine = Eaa(meta)
        engine.advance(fed, DueReports(NO_REPORT, NO_REPORT, NO_REPORT, NO_REPORT, len(fed)))
        engine.settle()
        inside = fed.at >= 510
        assert set(engine.held().object.tolist()) == set(fed.object[inside].tolist())
    assert nothing_prunes(family("rows", [(1_000, 10, 0, 5)], declared(3))) is None


def test_cost_per_value_grows_like_a_logarithm() -> None:
    """Counters, not clocks: settling visits each value a few times, comparisons grow with the depth of the tree."""
    d, k, slide = 3, 10, 100
    spent = []
    for width in (2_000, 8_000, 32_000):
        fed = appearances(3 * width, d, seed=2)
        meta = family("rows", [(width, slide, 0, k)], declared(d, ever=True))
        engine = Eaa(meta)
        half = len(fed) // 2
        engine.advance(fed[slice(0, half)], meta.due_reports(fed.at[:half], int(NEVER), int(NEVER), half))
        before = engine.counters
        engine.advance(fed[slice(half, None)], meta.due_reports(fed.at[half:], half - 1, half, len(fed)))
        after, n = engine.counters, len(fed) - half
        assert after["candidates_peak"] <= width
        assert (after["visited"] - before["visited"]) / n <= 4
        compared = (after["comparisons"] - before["comparisons"]) / n
        reading = k / slide * log2(width)
        assert compared <= 2 * log2(width) + reading + 12
        spent.append(compared)
    # A scan of lists would cost four times as much for a window four times as long.
    assert all(later / earlier < 1.5 for earlier, later in pairwise(spent))


def test_room_is_given_back_after_a_burst() -> None:
    """50,000 values in one second, then a thousand a second: the arrays follow what is kept."""
    burst, quiet = appearances(50_000, 3, seed=6), appearances(5_000, 3, seed=7)
    meta = family("range", [(2, 1, 0, 10)], replace(declared(3), high=np.full(3, np.inf)))
    engine = Eaa(meta)
    room = []
    for fed, first in ((replace(burst, at=burst.at * 0), 0), (replace(quiet, at=3 + quiet.at // 1_000), 3)):
        last = int(fed.at[-1])
        engine.advance(fed, meta.due_reports(fed.at, int(NEVER), first, last + 1))
        (structure,) = engine.structures
        assert isinstance(structure, Instances)
        room.append(len(structure.values.at))
    assert room[0] >= 50_000
    assert room[1] <= 25_000
