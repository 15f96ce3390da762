"""Boards in a Monitor against the oracle: many scores, ranges, thresholds, deletes, queries that come and go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, strategies as st

import skyband as sb
from skyband.engines.base import registered
from skyband.engines.oracle import complete as oracle
from skyband.model import Query
from skyband.runtime.hashing import hash_rows
from tests import support
from tests.drawn import examples
from tests.engines.conformance.multi_score import takes_programs

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("id", pa.int64()),
        ("a", pa.float64()),
        ("b", pa.int64()),
        ("op", pa.string()),
    ]
)
Row = dict[str, Any]
thorough = examples(40, suppress_health_check=list(HealthCheck))


SCORES: dict[str, Callable[[float, int], float]] = {
    "0.3 * a + 0.7 * b": lambda a, b: 0.3 * a + 0.7 * b,
    "0.7 * b - a": lambda a, b: 0.7 * b - a,
    "a": lambda a, b: a,
    "(0.5 + a) * (0.25 + b)": lambda a, b: (0.5 + a) * (0.25 + b),
    "-abs(a - 1.5) - abs(b - 0.5)": lambda a, b: -abs(a - 1.5) - abs(b - 0.5),
    "0.2 * b * b": lambda a, b: 0.2 * b * b,
    "b + b": lambda a, b: float(b + b),
}
SUMS = ["0.3 * a + 0.7 * b", "0.7 * b - a", "a", "b + b"]
"""Those that are sums of weighted columns."""
FILTERS: dict[str, Callable[[float | None, int], bool]] = {
    "b BETWEEN 0 AND 1": lambda a, b: 0 <= b <= 1,
    "a > 1": lambda a, b: a is not None and not a <= 1,
    "b < 2 AND (a < 2 OR b = 1)": lambda a, b: b < 2 and (b == 1 or (a is not None and a < 2)),
}


def score_of(by: str, row: Row) -> float | None:
    if row["a"] is None and "a" in by.replace("abs", ""):
        return None
    with np.errstate(all="ignore"):
        return SCORES[by](row["a"] if row["a"] is not None else 0.0, row["b"])


@st.composite
def queries(
    draw: st.DrawFn, number: int, frames: Sequence[dict[str, Any]], scores: Sequence[str] = tuple(SCORES)
) -> Query:
    options: dict[str, Any] = {
        "where": draw(st.sampled_from([None, None, *FILTERS])),
        "ascending": draw(st.booleans()),
        **draw(st.sampled_from(frames)),
    }
    by = draw(st.sampled_from(scores))
    if draw(st.integers(0, 4)) == 0:
        return sb.Above(f"q{number}", threshold=draw(st.integers(-2, 2)), by=by, **options)
    return sb.TopK(f"q{number}", k=draw(st.integers(1, 4)), by=by, **options)


def frames(unit: int = 1) -> list[dict[str, Any]]:
    """RANGE windows, times in `unit` microseconds."""
    return [
        {"window": f"{7 * unit} microseconds", "slide": support.micros(3 * unit)},
        {"window": f"{9 * unit} microseconds", "slide": support.micros(9 * unit)},
    ]


FRAMES: list[dict[str, Any]] = [{"window": "6 rows", "slide": 2}, *frames()]


@st.composite
def workloads(
    draw: st.DrawFn,
    op: str | None,
    most: int = 8,
    windows: Sequence[dict[str, Any]] = FRAMES,
    unit: int = 1,
    scores: Sequence[str] = tuple(SCORES),
) -> sb.Workload:
    members = [draw(queries(number, windows, scores)) for number in range(draw(st.integers(1, most)))]
    stream = sb.Stream("s", time="ts", key="id", op=op, lateness=support.micros(unit * draw(st.integers(0, 5))))
    return sb.Workload(members, stream=stream)


@st.composite
def tables(draw: st.DrawFn, deletes: bool, longest: int = 30, unit: int = 1) -> list[pa.Table]:
    """Pushes with ties, disorder, NULLs; keys come again, are deleted and updated, also such that never were."""
    rows: list[tuple[Any, ...]] = []
    at = 0
    kinds = ["I", "insert", None, "D", "delete", "u"] if deletes else ["I"]
    for number in range(draw(st.integers(0, longest))):
        at += draw(st.sampled_from([0, 0, 1, 1, 2, -1, -4, 12]))
        a = draw(st.sampled_from([None, float("nan"), 0.0, 1.0, 2.0, 1.5, -1.0, float("inf")]))
        key = draw(st.integers(0, 6)) if deletes else number
        rows.append((unit * at, key, a, draw(st.integers(-2, 3)), draw(st.sampled_from(kinds))))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    return [table_of(rows[low:high]) for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def table_of(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def expected_rows(workload: sb.Workload, tables: Sequence[pa.Table]) -> list[support.Expected]:
    """By the oracle, from the semantics alone: deletes and updates by key, each with the watermark at its arrival."""
    found = []
    for place, query in enumerate(workload.queries):
        records, deletes = _split(query, workload.streams[0], tables)
        for report in oracle.answer(query, records, deletes):
            for rank, record in enumerate(report.best, 1):
                assert record.score is not None
                row = support.Expected(
                    query.name, report.start, report.end, "", rank, record.score + 0.0, record.row["id"]
                )
                found.append(((query.window.kind == "rows", report.end, place, rank), row))
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def _split(
    query: Query, stream: sb.Stream, tables: Sequence[pa.Table]
) -> tuple[list[oracle.Record], list[oracle.Delete]]:
    watermark, position = -(2**62), 0
    records, deletes = [], []
    for table in tables:
        plain = table.set_column(0, "ts", table.column("ts").cast(pa.int64())).to_pylist()
        for row, hashed in zip(plain, hash_rows(table).tolist(), strict=True):
            in_rows = query.window.kind == "rows"
            at, reported = (position, -(2**62)) if in_rows else (row["ts"], watermark)
            what = (row["op"] or "i").lower()[0] if stream.op else "i"
            if what in "du":
                deletes.append(oracle.Delete(at, row["id"], reported))
            if what in "iu":
                position += 1
                if not query.where or FILTERS[query.where](row["a"], row["b"]):
                    score = score_of(query.by, row)
                    records.append(oracle.Record(at, score, (row["id"], hashed), "", reported, row, row["id"]))
        watermark = max([watermark, *(row["ts"] - stream.lateness for row in plain)])
    return records, deletes


@pytest.mark.parametrize("engine", registered("multi_score"))
@given(data=st.data())
@thorough
def test_every_row_is_the_oracles(engine: str, data: st.DataObject) -> None:
    scores = sorted(SCORES) if takes_programs(engine) else SUMS
    workload, pushes = data.draw(workloads(None, scores=scores)), data.draw(tables(deletes=False))
    assert support.run_monitor(workload, pushes, engine) == expected_rows(workload, pushes)


@given(data=st.data())
@examples(80, suppress_health_check=list(HealthCheck))
def test_deletes_and_updates_take_records_back(data: st.DataObject) -> None:
    workload, pushes = data.draw(workloads("op")), data.draw(tables(deletes=True))
    assert support.run_monitor(workload, pushes) == expected_rows(workload, pushes)


@pytest.mark.parametrize("op", [None, "op"])
@given(data=st.data())
@thorough
def test_a_snapshot_at_any_point_changes_nothing(op: str | None, data: st.DataObject) -> None:
    workload, pushes = data.draw(workloads(op)), data.draw(tables(deletes=op is not None))
    engine = "tma"
    undisturbed, monitor = sb.Monitor(workload, engine), sb.Monitor(workload, engine)
    cut = data.draw(st.integers(0, len(pushes)))
    for number, table in enumerate(pushes):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot(), engine)
        assert support.actual_rows(monitor.push(table)) == support.actual_rows(undisturbed.push(table))
    assert support.actual_rows(monitor.close()) == support.actual_rows(undisturbed.close())
    assert monitor.counters["queries"] == undisturbed.counters["queries"]


def many(count: int, **options: Any) -> list[Query]:
    return [
        sb.TopK(f"q{i}", k=3, by=f"0.{i + 1} * a + 0.{count - i} * b", window="6 rows", slide=2, **options)
        for i in range(count)
    ]


def test_the_planner_puts_many_scores_on_a_board_and_says_why() -> None:
    stream = sb.Stream("s", time="ts", key="id")
    text = sb.Workload(many(40), stream=stream).explain()
    assert "multi-score family 1 of 1: 40 queries" in text
    assert "engine    sma: 40 scores and filters over the same windows" in text
    assert "multi-score" not in sb.Workload(many(5), stream=stream).explain()
    assert "engine    tsl: asked for" in sb.Workload(many(5), stream=stream).explain(engine="tsl")


def test_what_a_board_cannot_do_is_refused() -> None:
    deletes = sb.Stream("s", time="ts", key="id", op="op")
    with pytest.raises(sb.SkybandError, match=r"engine sma drops records .* a delete may take those away"):
        sb.Monitor(sb.Workload(many(2), stream=deletes), engine="sma")
    with pytest.raises(sb.SkybandError, match="engine shared takes no deletes"):
        sb.Monitor(sb.Workload(many(2), stream=deletes), engine="shared")
    with pytest.raises(sb.SkybandError, match="PER over stream s, which has deletes"):
        sb.Workload(many(2, per="b"), stream=deletes)


def test_operations_are_words_and_unknown_ones_are_bad_records() -> None:
    workload = sb.Workload(many(1), stream=sb.Stream("s", time="ts", key="id", op="op"))
    monitor = sb.Monitor(workload)
    monitor.push(table_of([(0, 1, 1.0, 1, "I"), (1, 2, 1.0, 1, "what?"), (2, 9, 1.0, 1, "D")]))
    assert monitor.counters["bad"] == {"unknown operation": 1}
    assert monitor.counters["unknown_deletes"] == 1
    numbers = table_of([]).drop_columns(["op"]).append_column("op", pa.array([], pa.int64()))
    with pytest.raises(sb.SkybandError, match="tells inserts from deletes, is of type int64"):
        sb.Monitor(workload).push(numbers)
