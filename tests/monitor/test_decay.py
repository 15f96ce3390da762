"""DECAY: scores that halve with time, ranked by what no report changes and shown as what they are worth."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, getcontext
from math import inf, isclose, isnan, nan
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.engines.oracle import complete as oracle
from skyband.runtime.decay import EPOCH, rank, worth
from tests import support
from tests.drawn import examples

getcontext().prec = 50
SECOND = 1_000_000
Listed = dict[tuple[str, int, str], list[tuple[int, float]]]
"""By query, end and group: the records of a report, best first, each with its score."""


def in_2025(table: pa.Table) -> pa.Table:
    """Where ranks tell all scores of these streams apart."""
    at = pa.compute.add(table.column("ts").cast(pa.int64()), EPOCH).cast(support.MICRO)
    return table.set_column(0, "ts", at)


def exact_rank(score: float, at: int, half_life: int) -> float:
    """log2(score) + time / half life, to so many places that only what is equal is equal."""
    if score in (0, inf):
        return -inf if score == 0 else inf
    return float(round(Decimal(score).ln() / Decimal(2).ln() + Decimal(at - EPOCH) / half_life, 9))


def exact_worth(score: float, age: int, half_life: int) -> float:
    return score if score in (0, inf) else float(Decimal(score) * Decimal(2) ** (Decimal(-age) / half_life))


def expected(workload: sb.Workload, tables: Sequence[pa.Table]) -> Listed:
    """The oracle ranks by that; negative scores, NULL and NaN are not ranked."""
    found: Listed = {}
    for query in workload.queries:
        assert isinstance(query, sb.TopK)
        assert query.half_life is not None
        records = []
        for each in support.oracle_records(query, workload.streams[0], tables):
            ranked = each.score is not None and not isnan(each.score) and each.score >= 0
            score = exact_rank(each.score, each.at, query.half_life) if ranked and each.score is not None else None
            records.append(each._replace(score=score, row=each.row | {"given": each.score}))
        for report in oracle.answer(query, records, newest=support.newest(tables)):
            listed = [
                (each.row["id"], exact_worth(each.row["given"], report.end - each.at, query.half_life))
                for each in report.best
            ]
            found[query.name, report.end, report.group] = listed
    return found


def lists(rows: list[support.Expected]) -> Listed:
    found: Listed = {}
    for row in sorted(rows, key=lambda row: row.rank):
        found.setdefault((row.query, row.end, row.group), []).append((row.id, row.score))
    return found


def agree(found: Listed, truth: Listed) -> None:
    assert found.keys() == truth.keys()
    for report, listed in found.items():
        assert [id for id, _ in listed] == [id for id, _ in truth[report]]
        for (_, score), (_, exact) in zip(listed, truth[report], strict=True):
            assert isclose(score, exact, rel_tol=1e-13, abs_tol=5e-324)


@st.composite
def workloads(draw: st.DrawFn) -> sb.Workload:
    """Half lives that are powers of two: then many records are worth the same, exactly."""
    queries = []
    for number in range(draw(st.integers(1, 4))):
        step, width = draw(st.sampled_from(["slide", "cumulate"])), draw(st.integers(1, 30))
        slide = draw(st.integers(1, width))
        width = -(-width // slide) * slide
        options: dict[str, Any] = {"window": f"{width} seconds", step: f"{slide} seconds"}
        options |= {"per": draw(st.sampled_from([(), "color"]))}
        options |= draw(st.sampled_from([{}, {"ties": True}, {"at_most": (1, "bonus")}]))
        if draw(st.integers(0, 3)) == 0:
            options = {"window": "unbounded", "slide": f"{width} seconds", "per": options["per"]}
        options |= {"where": draw(st.sampled_from([None, "bonus > 0"])), "ascending": draw(st.booleans())}
        half_life = f"{2 ** draw(st.integers(0, 5))} seconds"
        queries.append(sb.TopK(f"q{number}", draw(st.integers(1, 5)), "score", half_life=half_life, **options))
    lateness = support.micros(SECOND * draw(st.integers(0, 6)))
    return sb.Workload(queries, stream=sb.Stream("s", time="ts", key="id", lateness=lateness))


@examples(100)
@given(workload=workloads(), drawn=support.tables(unit=SECOND), data=st.data())
def test_every_list_is_the_oracles(workload: sb.Workload, drawn: list[pa.Table], data: st.DataObject) -> None:
    tables = [in_2025(table) for table in drawn]
    rows = support.run_monitor(workload, tables)
    agree(lists(rows), expected(workload, tables))
    cut, monitor, parts = data.draw(st.integers(0, len(tables))), sb.Monitor(workload), []
    for number, table in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.push(table))
    parts.append(monitor.close())
    assert support.in_order(workload, support.actual_rows(pa.concat_tables(parts))) == rows, "to the last bit"


def test_powers_of_two_rank_exactly() -> None:
    """A score is worth as much as half of it one half life later."""
    score, at = np.array([8.0, 4.0, 2.0, 1.0, 2.0**-1074, 0.0, inf]), np.arange(7) * 10 + EPOCH
    assert rank(score, at, 10).tolist() == [3.0, 3.0, 3.0, 3.0, -1070.0, -inf, inf]
    assert worth(score, at, np.full(7, EPOCH + 30), 10).tolist()[:4] == [1.0, 1.0, 1.0, 1.0]


@examples(300)
@given(
    score=st.floats(0, allow_infinity=False, allow_nan=False),
    age=st.integers(0, 10**9),
    half_life=st.integers(1, 10**7),
)
def test_logarithm_and_power_are_those_of_long_arithmetic(score: float, age: int, half_life: int) -> None:
    one, at = np.array([score]), np.array([EPOCH])
    if score > 0:
        exact = float(Decimal(score).ln() / Decimal(2).ln())
        assert isclose(rank(one, at, half_life)[0], exact, rel_tol=1e-14, abs_tol=1e-15)
    found = worth(one, at, np.array([EPOCH + age]), half_life)[0]
    exact = exact_worth(score, min(age, 4_000 * half_life), half_life)
    assert isclose(found, exact, rel_tol=1e-13, abs_tol=5e-324)


def test_the_same_bits_wherever_a_record_stands() -> None:
    """A library's logarithm may treat the last few of an array differently."""
    draw = np.random.default_rng(3)
    score, at = draw.random(1_001) * 100, EPOCH + draw.integers(0, 10**14, 1_001)
    alone = [rank(score[i : i + 1], at[i : i + 1], 600_000_000)[0] for i in range(1_001)]
    assert rank(score, at, 600_000_000).tolist() == alone


def test_negative_scores_are_unranked() -> None:
    workload = sb.Workload.from_sql(
        "CREATE STREAM s WITH (TIME = ts); SELECT TOP 9 FROM s [RANGE 9 s] ORDER BY x DECAY HALF LIFE 1 s;"
    )
    monitor = sb.Monitor(workload)
    table = pa.table({"ts": pa.array([1, 2, 3, 4, 5], pa.timestamp("s")), "x": [-1.0, nan, None, 0.0, 16.0]})
    rows = pa.concat_tables([monitor.push(table), monitor.close()])
    assert rows.column("score").to_pylist() == [1.0, 0.0]
    assert monitor.counters["unranked"] == 3


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("TOP 1 FROM s [ROWS 5] ORDER BY x DECAY HALF LIFE 1 s", "scores decay with time, and the window counts rows"),
        ("ABOVE 1 FROM s [RANGE 5 s] ORDER BY x DECAY HALF LIFE 1 s", "ABOVE has a threshold for scores as they are"),
        ("TOP 1 FROM s [RANGE 5 s] ORDER BY x DECAY HALF LIFE 0 s", "a half life of 0 SECONDS is out of range"),
        (
            "TOP 1 FROM s [RANGE 5 s] ORDER BY x DECAY HALF LIFE 1 s WITH ERROR y",
            "asks for DECAY of scores that are no",
        ),
    ],
)
def test_what_does_not_decay(query: str, why: str) -> None:
    with pytest.raises(sb.SkybandError, match=why):
        sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = ts); SELECT {query};")


def test_explain_says_what_ranks() -> None:
    query = sb.TopK("q", 1, "x", "1 hour", half_life="10 minutes")
    said = sb.Workload([query], stream=sb.Stream("s", time="ts")).explain()
    assert "half after every 10 MINUTES; ranked by log2(score) + time / half life" in said
