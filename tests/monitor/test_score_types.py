"""Scores that are no DOUBLE: ranked exactly, and shown as what they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.engines import base
from skyband.engines.base import Capabilities, Registration
from skyband.engines.complete.shared import Shared
from skyband.model import DOUBLE, Above, Query, TopK
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.state import operator_bytes, restore_operator
from tests import support
from tests.drawn import examples

FAR = 2**53
LEAST, GREATEST = -(2**63), 2**63 - 1
EDGES = [LEAST, LEAST + 1, -FAR - 1, -FAR, -1, 0, 1, FAR, FAR + 1, FAR + 2, GREATEST - 1, GREATEST]
EPOCH = datetime(1970, 1, 1)
MOMENTS = [EPOCH + timedelta(days=365 * 1_000, microseconds=n) for n in range(4)] + [datetime.min, datetime.max]


@dataclass(frozen=True)
class Kind:
    """A type of scores, values of it that a double would confuse, and thresholds between them."""

    arrow: pa.DataType
    values: list[Any]
    levels: tuple[float, ...] = ()
    shown: pa.DataType | None = None


CENTS = [Decimal(n).scaleb(-2) for n in (-(10**18) + 1, -(10**18) + 2, -1, 0, 1, 10**18 - 2, 10**18 - 1)]
KINDS = {
    "BIGINT": Kind(pa.int64(), EDGES, (LEAST, -FAR - 1, 0.5, FAR + 1, float(FAR), 1e30, GREATEST)),
    "INT": Kind(pa.int32(), [-(2**31), -1, 0, 1, 2**31 - 1], (-1, 0.5), pa.int64()),
    "DECIMAL(18, 2)": Kind(pa.decimal128(18, 2), CENTS, (-1e300, 0, 0.005, -0.015, float(10**16))),
    "DECIMAL(18, 0)": Kind(pa.decimal128(18, 0), [10**18 - 1, 10**18 - 2, 0, 1 - 10**18], (0, 10**18 - 2)),
    "DECIMAL(9, 4)": Kind(pa.decimal128(9, 4), [Decimal(n).scaleb(-4) for n in (1, 2, 3, -(10**9) + 1)], (0, 0.00015)),
    "DATE": Kind(pa.date32(), [date.min, date(1969, 12, 31), date(2026, 11, 16), date.max]),
    "TIMESTAMP_NTZ": Kind(pa.timestamp("us"), MOMENTS),
    "TIMESTAMP": Kind(pa.timestamp("us", "UTC"), MOMENTS),
}
each = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def asked(data: st.DataObject, workload: sb.Workload, kind: Kind) -> sb.Workload:
    """The same queries by `score`, with thresholds that fit it, or none for times."""
    found: list[Query] = []
    for query in workload.queries:
        options: dict[str, Any] = {"per": query.per, "where": query.where, "ascending": query.ascending}
        if isinstance(query, Above) and kind.levels:
            level = data.draw(st.sampled_from(kind.levels))
            found.append(Above(query.name, level, "score", query.window, **options))
        else:
            k = query.k if isinstance(query, TopK) else 3
            found.append(TopK(query.name, k, "score", query.window, **options))
    return sb.Workload(found, stream=workload.streams[0])


def with_scores(data: st.DataObject, tables: list[pa.Table], kind: Kind) -> list[pa.Table]:
    scores = st.sampled_from([None, *kind.values])
    typed = [pa.array([data.draw(scores) for _ in range(len(table))], kind.arrow) for table in tables]
    return [table.set_column(2, "score", column) for table, column in zip(tables, typed, strict=True)]


@each
@examples(60)
@given(data=st.data())
def test_every_row_is_the_oracles(kind: Kind, data: st.DataObject) -> None:
    workload = asked(data, data.draw(support.workloads()), kind)
    tables = with_scores(data, data.draw(support.tables()), kind)
    cut = data.draw(st.integers(0, len(tables)))
    monitor, parts = sb.Monitor(workload), []
    for number, table in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.push(table))
        support.check_structures(monitor)
    rows = pa.concat_tables([*parts, monitor.close()])
    assert rows.schema.field("score").type == (kind.shown or kind.arrow)
    assert support.in_order(workload, support.actual_rows(rows)) == support.expected_rows(workload, tables)


def table(**columns: Any) -> pa.Table:
    some = next(iter(columns.values()))
    return pa.table({"ts": pa.array(range(len(some)), pa.timestamp("s")), **columns})


STREAM = sb.Stream("s", time="ts")


def test_a_table_of_several_types_has_the_nearest_double_and_each_in_its_own_type() -> None:
    columns = {
        "size": pa.array([FAR + 1]),
        "price": pa.array([2.5]),
        "fee": pa.array([Decimal("0.30")], pa.decimal128(18, 2)),
        "tax": pa.array([Decimal("1.2345")], pa.decimal128(10, 4)),
        "paid": pa.array([date(2026, 1, 31)]),
        "seen": pa.array([datetime(2026, 1, 31, 12)], pa.timestamp("us")),
    }
    queries = [TopK(name, 1, name, "1 rows", select=name) for name in columns]
    monitor = sb.Monitor(sb.Workload(queries, stream=STREAM))
    rows = monitor.push(table(**columns))
    assert rows.column("score").to_pylist() == [float(FAR), 2.5, 0.3, 1.2345, None, None]
    named = {
        "score_bigint": [FAR + 1, None, None, None, None, None],
        "score_decimal": [None, None, Decimal("0.3000"), Decimal("1.2345"), None, None],
        "score_date": [None, None, None, None, date(2026, 1, 31), None],
        "score_timestamp_ntz": [None, None, None, None, None, datetime(2026, 1, 31, 12)],
    }
    assert {name: rows.column(name).to_pylist() for name in named} == named
    for name, column in columns.items():
        mine = monitor.results.of(name)
        assert mine.schema.field("score").type == column.type
        own = mine.rows(rows)
        assert own.column("score").to_pylist() == own.column(name).to_pylist() == column.to_pylist()


def test_a_stream_with_a_column_that_is_called_like_one_of_ours() -> None:
    queries = [TopK("a", 1, "x", "1 rows"), TopK("b", 1, "score_bigint", "1 rows")]
    monitor = sb.Monitor(sb.Workload(queries, stream=STREAM))
    rows = monitor.push(table(x=[1.5], score_bigint=[7]))
    assert rows.column("score_bigint").to_pylist() == [None, 7]
    assert rows.column("record_score_bigint").to_pylist() == [7, 7]


@pytest.mark.parametrize("known", [False, True], ids=["columns found", "columns declared"])
def test_many_filters_share_an_index_of_doubles_only(known: bool) -> None:
    """Eight filters over one window make one multi-score family. Its attributes are doubles, so a BIGINT is ranked by
    itself, and a CAST says that the nearest DOUBLE will do."""
    declared = [("ts", "TIMESTAMP_NTZ"), ("x", "BIGINT"), ("n", "INT")] if known else []
    stream = sb.Stream("s", time="ts", columns=declared)
    records = table(x=pa.array([FAR + 1, FAR, FAR]), n=pa.array([7, 8, 9], pa.int32()))

    def run(by: str) -> tuple[int, list[Any]]:
        queries = [TopK(f"q{i}", 1, by, "3 rows", where=f"n < {100 + i}") for i in range(8)]
        monitor = sb.Monitor(sb.Workload(queries, stream=stream))
        best = monitor.push(records).column("n").to_pylist()
        return len(monitor.counters["families"]), best

    assert run("x") == (8, [7] * 8)
    assert run("CAST(x AS DOUBLE)") == (1, [9] * 8)
    assert run("n") == (1, [9] * 8)


def test_a_query_that_joins_is_ranked_by_its_type() -> None:
    monitor = sb.Monitor(sb.Workload([TopK("a", 1, "x", "2 rows")], stream=STREAM))
    monitor.push(table(x=[1, 2], y=[5, 6]))
    monitor.add(TopK("b", 1, "y", "2 rows", where="x > 0"))
    monitor.add(TopK("c", 2, "x", "4 rows"))
    rows = monitor.push(table(x=[FAR + 1, FAR], y=[FAR, FAR + 1]))
    found = {name: monitor.results.of(name).rows(rows).column("score").to_pylist() for name in "abc"}
    assert found == {"a": [FAR + 1], "b": [FAR + 1], "c": [FAR + 1, FAR]}


def test_an_engine_for_doubles_is_refused_for_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Registration("doubles", Capabilities("", ""), Shared)
    monkeypatch.setitem(base._REGISTRY, "doubles", known)
    workload = sb.Workload([TopK("q", 1, "x", "2 rows")], stream=STREAM)
    assert len(sb.Monitor(workload, engine="doubles").push(table(x=[0.5, 1.5]))) == 1
    with pytest.raises(sb.SkybandError, match="engine doubles ranks DOUBLE scores, and these are of type BIGINT") as no:
        sb.Monitor(workload, engine="doubles").push(table(x=[1, 2]))
    assert no.value.hint == "ORDER BY CAST(x AS DOUBLE) ranks by the nearest DOUBLE"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Above("q", 3, "day", "2 rows"), "query q: this must be a number, and is a DATE"),
        (Above("q", -1e19, "x", "2 rows"), "query q: its scores are of type BIGINT, and every one is above -1e+19"),
    ],
    ids=["a threshold for a date", "a threshold below all"],
)
def test_thresholds_that_say_nothing_are_refused(query: Query, message: str) -> None:
    with pytest.raises(sb.SkybandError, match=re.escape(message)):
        sb.Monitor(sb.Workload([query], stream=STREAM)).push(table(x=[1], day=[date(2026, 1, 1)]))


def test_a_column_whose_type_changed_is_refused_and_not_misread() -> None:
    workload = sb.Workload([TopK("q", 1, "x", "2 rows")], stream=STREAM)
    monitor = sb.Monitor(workload)
    monitor.push(table(x=[1]))
    monitor._streams["s"].catch_up()
    (blob,) = [operator_bytes(each) for each in monitor._streams["s"].families]
    other = sb.Monitor(workload)
    other.push(table(x=[1.5]))
    with pytest.raises(sb.SkybandError, match="its saved scores are 64-bit integers, and now they are of type DOUBLE"):
        restore_operator(FamilyOperator(other._streams["s"].families[0].planned), blob, {"": 1})


@given(level=st.integers(-(2**70), 2**70), score=st.floats(allow_nan=False))
def test_a_whole_threshold_is_exact_for_doubles_too(level: int, score: float) -> None:
    (key,) = DOUBLE.thresholds([("q", level)]).tolist()
    assert (score > key) == (score > level)


def test_thresholds_are_written_as_they_were() -> None:
    for text in ("ABOVE 9007199254740993", "ABOVE -5", "ABOVE 0.5", "ABOVE 1e+30"):
        statement = f"CREATE STREAM s WITH (TIME = ts); SELECT {text} * FROM s [ROWS 2] ORDER BY x;"
        (query,) = sb.Workload.from_sql(statement).queries
        assert query.limit == text
