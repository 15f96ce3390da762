"""Uncertain streams and query sets: their distributions, their rules, and that they depend on the seed alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import skyband as sb
from skyband.datasets import (
    QUERY_SETS,
    icebergs_with_rules,
    load,
    neighbours,
    query_set,
    uncertain,
    uncertain_streams,
)  # fmt: skip

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.parametrize("kind", QUERY_SETS)
def test_query_sets_are_drawn_as_the_paper_says(kind: str) -> None:
    found = query_set(kind, 20_000, seed=3)
    for values, drawn, mean, deviation, low in (
        (found.every, kind[0], (20.5, 40), (11.54, 5), 1),
        (found.k, kind[1], (51, 100), (28.58, 10), 2),
    ):
        normal = drawn == "g"
        assert values.min() >= low
        assert values.mean() == pytest.approx(mean[normal], rel=0.02)
        assert values.std() == pytest.approx(deviation[normal], rel=0.03)


def test_an_unknown_query_set_is_refused() -> None:
    with pytest.raises(sb.SkybandError, match="there is no query set called 'ux'"):
        query_set("ux", 3)


def test_rules_are_pairs_of_neighbours_that_fit() -> None:
    p = 1 - np.random.default_rng(1).random(5_000)
    rule = neighbours(p, 1.0, seed=2)
    for number in range(rule.max() + 1):
        (one, other) = np.flatnonzero(rule == number)
        assert other == one + 1
        assert p[one] + p[other] <= 1
    assert 0.3 < (rule >= 0).mean() < 0.9
    assert (neighbours(p, 0.0) == -1).all()
    assert len(neighbours(np.empty(0), 1.0)) == 0


def test_a_stream_depends_on_its_seed_alone() -> None:
    assert uncertain(100, seed=1) == uncertain(100, seed=1)
    assert uncertain(100, seed=1) != uncertain(100, seed=2)
    assert uncertain(100, seed=1).drop_columns("rule") == uncertain(200, seed=1).slice(0, 100).drop_columns("rule")


def test_several_streams_take_turns() -> None:
    table = uncertain_streams(4, 5)
    assert len(table) == 40
    assert set(table["p"].to_pylist()) == {0.2}
    assert all(pa.compute.sum(pa.compute.equal(table["source"].slice(7, 20), n)).as_py() == 5 for n in range(4))


@pytest.mark.skipif(not DATA.is_dir(), reason="the real streams are not here: no ../shared/data")
def test_icebergs_are_monitored() -> None:
    """The paper's real stream: the longest icebergs among the last 2,000 sightings."""
    table = icebergs_with_rules(load(DATA, "icebergs").slice(0, 6_000))
    stream = sb.Stream("icebergs", time="ts", probability="prob_proxy", rule="rule")
    longest = sb.TopK("longest", k=10, by="length_m", window="2000 rows", slide=50)
    likely = sb.TopK("likely", k=10, by="length_m", window="2000 rows", slide=50, using="PT_K(0.5)")
    monitor = sb.Monitor(sb.Workload([longest, likely], stream=stream))
    rows = monitor.push(table)
    p = rows.filter(pa.compute.equal(rows["query"], "likely"))["probability"].to_numpy()
    assert len(p) > 100
    assert (p >= 0.5 - 1e-9).all()
    assert monitor.counters["left_out"] == 0
