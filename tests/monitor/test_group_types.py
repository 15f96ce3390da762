"""Aggregates of columns that a DOUBLE does not tell apart: exact, in their own type, and ranked as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from tests.drawn import examples

FAR = 2**53
EPOCH = datetime(1970, 1, 1)
CENTS = [Decimal(n).scaleb(-2) for n in (-(10**18) + 1, -(10**18) + 2, -1, 0, 10, 20, 10**18 - 2, 10**18 - 1)]
WIDE = [10**38 - 1, 10**38 - 2, 0, -(10**37)]


@dataclass(frozen=True)
class Kind:
    """A type of columns, values of it, and how many digits a sum of them may have; None where there are no sums."""

    arrow: pa.DataType
    values: Sequence[Any]
    total: pa.DataType | None = None
    double: bool = False
    """Compared as DOUBLE."""


KINDS = {
    "BIGINT": Kind(pa.int64(), [-(2**63), 2**63 - 1, FAR, FAR + 1, 0, 1], pa.int64()),
    "DECIMAL(18, 2)": Kind(pa.decimal128(18, 2), CENTS, pa.decimal128(18, 2)),
    "DECIMAL(18, 0)": Kind(pa.decimal128(18, 0), list(map(Decimal, (FAR, FAR + 1, 0, 1))), pa.decimal128(18, 0)),
    "DECIMAL(5, 1)": Kind(pa.decimal128(5, 1), [Decimal(n).scaleb(-1) for n in (1, 2, -99999)], pa.decimal128(15, 1)),
    "DECIMAL(7, 7)": Kind(pa.decimal128(7, 7), [Decimal(n).scaleb(-7) for n in (1, 2, 3)], pa.decimal128(17, 7)),
    "DECIMAL(38, 0)": Kind(pa.decimal128(38, 0), list(map(Decimal, WIDE)), double=True),
    "UINT64": Kind(pa.uint64(), [2**64 - 1, 2**64 - 2, 2**63, FAR + 1, 0], double=True),
    "DATE": Kind(pa.date32(), [date.min, date(1969, 12, 31), date(2026, 11, 16), date.max]),
    "TIMESTAMP_NTZ": Kind(pa.timestamp("us"), [EPOCH + timedelta(365_000, 0, n) for n in range(3)] + [datetime.min]),
    "BOOLEAN": Kind(pa.bool_(), [True, False]),
}
each = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
Row = dict[str, Any]


def aggregates(kind: Kind) -> list[str]:
    summed = ["SUM(x) AS total", "AVG(x) AS mean"] if kind.total is not None else []
    return ["g", "COUNT(DISTINCT x) AS once", "MIN(x) AS least", "MAX(x) AS most", "LAST(x) AS recent", *summed]


def truth(kind: Kind, values: list[Any]) -> Row:
    """Of a group, in the order in which the values came."""
    some = [value for value in values if value is not None]
    shown = [float(value) for value in some] if kind.double else some
    found: Row = {"once": len(set(some))}
    found |= {"least": min(shown, default=None), "most": max(shown, default=None)}
    found["recent"] = shown[-1] if shown else None
    if kind.total is not None:
        total = sum(map(Fraction, some))
        found |= {"total": _fitting(total, kind.total) if some else None}
        found["mean"] = float(total) / len(some) if some else None
    return found


def _fitting(total: Fraction | int, kind: pa.DataType) -> Any:
    """NULL where it does not fit."""
    if pa.types.is_integer(kind):
        return int(total) if -(2**63) <= total < 2**63 else None
    unscaled = int(total * 10**kind.scale)
    return Decimal(unscaled).scaleb(-kind.scale) if abs(unscaled) < 10**kind.precision else None


def table_of(kind: Kind, rows: Sequence[tuple[str, Any]]) -> pa.Table:
    names, values = [name for name, _ in rows], [value for _, value in rows]
    moments = pa.array(range(len(rows)), pa.timestamp("us"))
    return pa.table({"ts": moments, "g": pa.array(names, pa.string()), "x": pa.array(values, kind.arrow)})


def listed(query: sb.TopK | sb.Above, table: pa.Table, cut: int) -> list[Row]:
    """In two pushes, with a snapshot in between."""
    workload = sb.Workload([query], stream=sb.Stream("s", time="ts"))
    monitor = sb.Monitor(workload)
    parts = [monitor.push(table.slice(0, cut))]
    monitor = sb.Monitor.restore(workload, monitor.snapshot())
    parts += [monitor.push(table.slice(cut)), monitor.close()]
    found: list[Row] = pa.concat_tables(parts).to_pylist()
    return found


@each
@examples(40)
@given(data=st.data())
def test_aggregates_are_exact_and_ranked_as_such(kind: Kind, data: st.DataObject) -> None:
    values = st.sampled_from([None, *kind.values])
    rows = data.draw(st.lists(st.tuples(st.sampled_from("abc"), values), min_size=1, max_size=12))
    told = {name: truth(kind, [value for other, value in rows if other == name]) for name, _ in rows}
    scores = ["once", *([] if kind.arrow == pa.bool_() else ["least", "most", "recent"])]
    by = data.draw(st.sampled_from([*scores, *(["total", "mean"] if kind.total is not None else [])]))
    ascending = data.draw(st.booleans())
    options: Row = {"group_by": "g", "select": aggregates(kind), "ascending": ascending}
    query = sb.TopK("q", 3, by, "1 hour", **options)
    newest = {name: place for place, (name, _) in enumerate(rows)}
    ranked = [name for name in told if told[name][by] is not None]
    ranked.sort(key=lambda name: newest[name], reverse=True)
    ranked.sort(key=lambda name: told[name][by], reverse=not ascending)
    shown = listed(query, table_of(kind, rows), data.draw(st.integers(0, len(rows))))
    assert [row["g"] for row in shown] == ranked
    for row in shown:
        assert {name: row[name] for name in told[row["g"]]} == told[row["g"]]
        assert row["score"] == row[by]
        assert type(row["score"]) is type(row[by])


@each
def test_each_is_shown_in_its_own_type(kind: Kind) -> None:
    query = sb.TopK("q", 3, "COUNT(*)", "1 hour", group_by="g", select=aggregates(kind))
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    monitor.push(table_of(kind, [("a", kind.values[0])]))
    schema = monitor.close().schema
    own = pa.float64() if kind.double else kind.arrow
    assert [schema.field(name).type for name in ("once", "least", "most", "recent")] == [pa.int64(), own, own, own]
    if kind.total is not None:
        assert [schema.field(name).type for name in ("total", "mean")] == [kind.total, pa.float64()]


@pytest.mark.parametrize(
    ("kind", "threshold", "names"),
    [
        ("BIGINT", FAR, "b"),
        ("BIGINT", FAR + 1, ""),
        ("BIGINT", -1e300, "ab"),
        ("DECIMAL(18, 0)", FAR, "b"),
        ("DECIMAL(18, 2)", 0.1, "b"),
        ("DECIMAL(5, 1)", 0.1, "b"),
    ],
)
@pytest.mark.parametrize("ascending", [False, True])
def test_a_threshold_between_sums_that_a_double_confuses(
    kind: str, threshold: float, names: str, ascending: bool
) -> None:
    values = [FAR, FAR + 1] if threshold >= FAR or threshold < 0 else [Decimal("0.1"), Decimal("0.2")]
    rows = list(zip("ab", values, strict=True))
    query = sb.Above("q", threshold, "SUM(x)", "1 hour", group_by="g", ascending=ascending)
    shown = [row["g"] for row in listed(query, table_of(KINDS[kind], rows), 1)]
    assert shown == sorted(names, reverse=not ascending)


def test_a_sum_that_leaves_its_digits_is_null_for_as_long_as_it_does() -> None:
    rows = [("a", CENTS[-1]), ("a", CENTS[-1]), ("a", CENTS[0]), ("b", Decimal("0.10")), ("b", Decimal("0.20"))]
    query = sb.TopK("q", 3, "SUM(x)", "2 rows", 1, group_by="g", select=["g", "SUM(x) AS total", "AVG(x) AS mean"])
    shown = [
        (row["row_end"], row["g"], row["total"], row["mean"])
        for row in listed(query, table_of(KINDS["DECIMAL(18, 2)"], rows), 3)
    ]
    largest = CENTS[-1]
    assert shown == [
        (1, "a", largest, float(largest)),
        (3, "a", Decimal("0.00"), 0.0),
        (4, "b", Decimal("0.10"), 0.1),
        (4, "a", -largest, -float(largest)),
        (5, "b", Decimal("0.30"), 0.15),
        (6, "b", Decimal("0.20"), 0.2),
    ]


def test_nanoseconds_are_rounded_down_as_in_scores() -> None:
    moments = pa.array([-1_500, 1_500], pa.timestamp("ns"))
    table = pa.table({"ts": pa.array([0, 1], pa.timestamp("us")), "g": ["a", "b"], "x": moments})
    grouped = sb.TopK("grouped", 2, "MAX(x)", "1 hour", group_by="g")
    plain = sb.TopK("plain", 2, "x", "1 hour", select="g")
    shown = {query.name: [row["score"] for row in listed(query, table, 1)] for query in (grouped, plain)}
    assert shown["grouped"] == shown["plain"] == [EPOCH + timedelta(microseconds=1), EPOCH - timedelta(microseconds=2)]


def test_the_rest_and_updates_are_exact() -> None:
    kind, select = KINDS["DECIMAL(18, 0)"], ["g", "SUM(x) AS total", "MAX(x) AS most"]
    rows = [("a", Decimal(3 * FAR)), ("b", Decimal(FAR)), ("c", Decimal(1)), ("b", Decimal(0))]
    first = sb.TopK("q", 1, "total", "1 hour", group_by="g", select=select, rest=True)
    shown = [(row["g"], row["score"], row["total"], row["most"]) for row in listed(first, table_of(kind, rows), 2)]
    assert shown == [("a", 3 * FAR, 3 * FAR, 3 * FAR), (None, FAR + 1, FAR + 1, FAR)]
    ever = {"window": "unbounded", "slide": timedelta(microseconds=1)}
    log = sb.TopK("q", 1, "COUNT(*)", group_by="g", select=select, changes=True, **ever)  # type: ignore[arg-type]
    told = listed(log, table_of(kind, [("a", Decimal(FAR)), ("a", Decimal(1))]), 1)
    assert [(row["change"], row["total"]) for row in told] == [("enter", FAR), ("update", FAR + 1)]
    values = [("a", Decimal(FAR)), ("a", Decimal(FAR)), ("a", Decimal(FAR + 1))]
    log = sb.TopK("q", 1, "COUNT(*)", "1 rows", group_by="g", select=["MAX(x) AS most"], changes=True)
    told = listed(log, table_of(kind, values), 2)
    assert [(row["change"], row["most"]) for row in told] == [("enter", FAR), ("update", FAR + 1), ("leave", None)]
