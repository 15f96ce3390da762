"""Uncertain streams and query sets: their distributions, their rules, and that they depend on the seed alone."""

from __future__ import annotations

from math import erfc, sqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import skyband as sb
from skyband.datasets import (
    QUERY_SETS,
    icebergs_with_rules,
    load,
    neighbours,
    query_set,
    spread,
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
    assert all(pc.sum(pc.equal(table["source"].slice(7, 20), n)).as_py() == 5 for n in range(4))


def normal_top_k(mean: np.ndarray, error: np.ndarray, k: int) -> list[float]:
    """By integration over each record's score: the others above it, one after the other."""
    found = []
    for i in range(len(mean)):
        x = mean[i] + error[i] * np.linspace(-8, 8, 2_001)
        density = np.exp(-0.5 * ((x - mean[i]) / error[i]) ** 2)
        above = np.zeros((k, len(x)))
        above[0] = 1.0
        for j in range(len(mean)):
            if j != i:
                p = np.array([0.5 * erfc((each - mean[j]) / (error[j] * sqrt(2))) for each in x])
                above[1:] = above[1:] * (1 - p) + above[:-1] * p
                above[0] *= 1 - p
        found.append(float((density * above.sum(axis=0)).sum() / density.sum()))
    return found


@pytest.mark.parametrize("points", [4, 16, 64])
def test_normal_scores_as_rules_come_near_the_integral(points: int) -> None:
    """Within what replacing one single score may change; the changes of twelve mostly cancel."""
    within = 1 / (2 * points)
    draw = np.random.default_rng(8)
    mean, error, k = draw.normal(5, 0.4, 12), draw.uniform(0.05, 0.5, 12), 4
    table = pa.table(
        {"ts": pa.array(np.arange(12)).cast(pa.timestamp("us")), "id": np.arange(12), "m": mean, "e": error}
    )
    stream = sb.Stream("s", time="ts", key="id", probability="p", rule="id", source="id")
    exact = normal_top_k(mean, error, k)
    query = sb.TopK("likely", k=k, by="value", window="100 us", using="PK_STREAMS")
    monitor = sb.Monitor(sb.Workload([query], stream=stream))
    monitor.push(spread(table, "m", "e", points))
    rows = monitor.close()
    assert rows["probability"].to_pylist() == pytest.approx([exact[id] for id in rows["id"].to_pylist()], abs=within)
    assert min(exact[id] for id in rows["id"].to_pylist()) >= sorted(exact)[-k] - 2 * within


def test_a_sure_score_stays_one_record() -> None:
    table = pa.table({"m": [1.0, 2.0, 3.0], "e": [None, 0.0, 0.5]})
    found = spread(table, "m", "e", 2)
    assert found["p"].to_pylist() == [1.0, 1.0, 0.5, 0.5]
    assert found["value"].to_pylist() == pytest.approx([1.0, 2.0, 3 - 0.5 * 0.67449, 3 + 0.5 * 0.67449], abs=1e-4)
    with pytest.raises(sb.SkybandError, match="error below zero"):
        spread(pa.table({"m": [1.0], "e": [-1.0]}), "m", "e")


@pytest.mark.skipif(not DATA.is_dir(), reason="the real streams are not here: no ../shared/data")
def test_earthquakes_are_ranked_by_likelihood() -> None:
    """30 days, a day apart: many ties in magnitude, measured errors."""
    table = spread(load(DATA, "earthquakes").slice(0, 3_000), "mag", "mag_err", 8)
    stream = sb.Stream("quakes", time="ts", key="id", probability="p", rule="id", source="id")
    query = sb.TopK("strongest", k=10, by="value", window="30 days", slide="1 day", using="PK_STREAMS", select="id")
    monitor = sb.Monitor(sb.Workload([query], stream=stream))
    rows = pa.concat_tables([monitor.push(table), monitor.close()])
    by_report = rows.group_by("window_end").aggregate([("probability", "sum"), ("id", "count_distinct")])
    full = by_report.filter(pc.equal(by_report["id_count_distinct"], 10))
    assert len(full) > 20
    assert max(full["probability_sum"].to_pylist()) <= 10 + 1e-6
    assert monitor.counters["left_out"] == 0


@pytest.mark.skipif(not DATA.is_dir(), reason="the real streams are not here: no ../shared/data")
def test_icebergs_are_monitored() -> None:
    """The paper's real stream: the longest icebergs among the last 2,000 sightings."""
    table = icebergs_with_rules(load(DATA, "icebergs").slice(0, 6_000))
    stream = sb.Stream("icebergs", time="ts", probability="prob_proxy", rule="rule")
    longest = sb.TopK("longest", k=10, by="length_m", window="2000 rows", slide=50)
    likely = sb.TopK("likely", k=10, by="length_m", window="2000 rows", slide=50, using="PT_K(0.5)")
    monitor = sb.Monitor(sb.Workload([longest, likely], stream=stream))
    rows = monitor.push(table)
    p = rows.filter(pc.equal(rows["query"], "likely"))["probability"].to_numpy()
    assert len(p) > 100
    assert (p >= 0.5 - 1e-9).all()
    assert monitor.counters["left_out"] == 0
