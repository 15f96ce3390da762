"""NumPy and Spark must say the same, row by row: for every function at its edges, and for random expressions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skyband.language import Filter, Score, compile_filter, compile_score
from skyband.language.expressions.expression import read
from skyband.language.expressions.functions import FUNCTIONS
from skyband.language.expressions.nodes import ALIASES, calls
from tests.language.samples import SCHEMA, Maker, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Values = np.ndarray[Any, Any]
pytestmark = pytest.mark.spark

EXACT = [
    "i + j", "i - k", "i * k", "i / k", "i % k", "i DIV k", "-i", "abs(i)", "i + d", "m * 2", "f + 1", "m", "f", "j",
    "d + e", "d - e", "d * e", "d / e", "d % e", "-d", "abs(d)", "sign(d)", "sign(i)", "sqrt(d)", "floor(d)", "ceil(d)",
    "ceil(i)", "round(d)", "round(d, 1)", "round(d, 2)", "round(d, 15)", "round(i)", "round(i, 3)", "degrees(d)",
    "least(d, e)", "greatest(d, e)", "least(i, d, j)", "coalesce(d, e, 0)", "nvl(i, 1)", "ifnull(d, i)", "nullif(d, e)",
    "nullif(i, 0)", "if(p, d, e)", "CASE WHEN d > e THEN d WHEN p THEN e END", "length(s)", "unix_micros(at)",
    "CASE i WHEN 1 THEN 10 WHEN 7 THEN 70 ELSE j END", "CAST(d AS BIGINT)", "CAST(i AS DOUBLE)", "CAST(p AS DOUBLE)",
    "CAST(p AS BIGINT)", "unix_micros(local)", "unix_micros(day)",  '"odd `name`" + 1',
    *(f"{part}({time})" for part in (
        "year", "quarter", "month", "day", "dayofyear", "dayofweek", "weekday", "hour", "minute", "second",
        "unix_seconds", "unix_millis",
    ) for time in ("at", "local", "day")), "unix_micros(to_date(at))", "unix_micros(to_date(local))",
    *(f"unix_micros(date_trunc('{unit}', {time}))" for unit in (
        "microsecond", "millisecond", "second", "minute", "HOUR", "day", "week", "month", "quarter", "year",
    ) for time in ("at", "local")), "length(upper(s))", "length(lower(concat(s, t, 'é')))", "length(trim(s))",
]  # fmt: skip
CLOSE = [
    "ln(d)", "log(d)", "log10(d)", "log2(d)", "log1p(d)", "exp(d)", "expm1(d)", "cbrt(d)", "power(d, e)", "power(d, 2)",
    "power(i, 0.5)", "sin(d)", "cos(d)", "tan(d)", "tanh(d)", "atan2(d, e)", "hypot(d, e)", "radians(d)",
]  # fmt: skip
CONDITIONS = [
    "d = e", "d != e", "d < e", "d <= e", "d > e", "d >= e", "d <=> e", "i = d", "i < 2.5", "s = t", "s != t", "s < t",
    "s <= t", "s > t", "s >= t", "s <=> t", "p AND q", "p OR q", "NOT p", "p = q", "p < q", "p <=> q", "p IS TRUE",
    "p IS NOT FALSE", "i IN (1, 7, NULL)", "d IN (0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)", "s IN ('a', 'Ä', 'it''s')",
    "s NOT IN ('a', t)", "d BETWEEN -1 AND e", "s LIKE 'a%'", "s LIKE '_'", "s LIKE 'a\\_c'", "s LIKE '%\\\\%'",
    "s LIKE '%b\\%'", "s LIKE 'line%break'", "s NOT LIKE '%''%'", "i IS NULL", "isnotnull(s)", "isnull(p)", "isnan(d)",
    "isnan(i)", "at < TIMESTAMP '2026-07-01 12:00:00'", "at = TIMESTAMP '2026-07-01T14:00:00+02:00'",
    "local >= TIMESTAMP '2026-11-01 01:30:00'", "at = local", "local < at", "day = DATE '2026-07-01'", "day <= at",
    "local > day", "at IN (TIMESTAMP '1970-01-01', local)", "day < TIMESTAMP '2026-07-01 00:00:01'",
    "upper(s) = 'A'", "lower(s) = lower(t)", "upper(s) < t", "upper(s) = 'SS'", "lower(s) IN ('ä', 'ab')",
    "upper(t) LIKE 'A%'", "trim(s) = 'x y'", "ltrim(s) = 'x y '", "rtrim(s) = ' x y'", "substr(s, 2) = 'b'",
    "substr(s, 0, 2) = 'ab'", "substring(s, -2, 1) = 'a'", "substr(s, -5, 4) = 'a'", "substr(s, 2, 0) = ''",
    "substr(s, 1, -1) = ''", "left(s, 1) = 'a'", "left(s, 0) = ''", "right(s, 2) = 'xc'", "right(s, -1) = ''",
    "concat(s, t) = 'aa'", "concat(s, '-', t) < concat(t, '-', s)", "concat(upper(s), 'x') = 'Ax'",
    "upper(coalesce(s, t)) = 'A'", "upper('a') = s", "concat('a', 'b') = s", "replace(s, 'a', 'b') = t",
    "replace(s, '', 'x') = s", "startswith(s, 'a')", "endswith(s, 'c')", "contains(s, 'x')",
    "contains(upper(s), 'X')", "starts_with(s, '')", "to_date(at) = day",
    "date_trunc('day', at) = TIMESTAMP '2026-07-01'", "if(startswith(s, 'a'), upper(s), t) = 'A'",
]  # fmt: skip


def run(spark: SparkSession, rows: pa.Table, compiled: Sequence[Score | Filter]) -> pa.Table:
    """All expressions in one Spark job."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = spark.createDataFrame(rows)
        return frame.selectExpr(*(f"{one.spark_sql()} AS c{n}" for n, one in enumerate(compiled))).toArrow()


def numbers(column: pa.ChunkedArray) -> Values:
    return np.array([np.nan if value is None else value for value in column.to_pylist()], np.float64)


def disagreements(rows: pa.Table, ours: Values, theirs: Values, same: Values) -> str:
    return "\n".join(
        f"{rows.slice(int(n), 1).to_batches()}: {ours[n]!r}, Spark {theirs[n]!r}" for n in np.flatnonzero(~same)[:3]
    )


def check(
    spark: SparkSession,
    scores: Sequence[str],
    conditions: Sequence[str],
    tolerance: float = 0.0,
    rows: pa.Table | None = None,
    run: Callable[[SparkSession, pa.Table, Sequence[Score | Filter]], pa.Table] = run,
) -> None:
    rows = table() if rows is None else rows
    filters = [*conditions, *(f"isnull({text})" for text in scores), *(f"isnull({text})" for text in conditions)]
    compiled: list[Score | Filter] = [
        *(compile_score(s, SCHEMA) for s in scores),
        *(compile_filter(f, SCHEMA) for f in filters),
    ]
    answer = run(spark, rows, compiled)
    wrong = []
    for n, one in enumerate(compiled):
        theirs = numbers(answer.column(n)) if isinstance(one, Score) else np.array(answer.column(n).fill_null(False))
        ours = one.evaluate(rows)
        with np.errstate(all="ignore"):
            same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
            same |= np.abs(ours * 1.0 - theirs) <= tolerance * np.abs(ours)
        if not same.all():
            wrong.append(f"{one.text}\n{one.spark_sql()}\n{disagreements(rows, ours, theirs, same)}")
    assert not wrong, "\n\n".join(wrong[:5]) + f"\n{len(wrong)} of {len(compiled)}"


def test_arithmetic_choice_and_comparison_agree_exactly(spark: SparkSession) -> None:
    check(spark, EXACT, CONDITIONS)


def test_transcendental_functions_agree_to_the_last_digits(spark: SparkSession) -> None:
    check(spark, CLOSE, [], tolerance=1e-12)


def test_the_ends_of_time_agree_exactly(spark: SparkSession, tmp_path: Path) -> None:
    """Times at the ends of BIGINT and days at those of INT, which some of the functions cannot be had of."""
    ends = [sign * moment for sign in (-1, 1) for moment in (2**61, 10**18, 2**63 - 1, 2**63 - 10**12)] + [-(2**63), 0]
    days = [sign * day for sign in (-1, 1) for day in (2**31 - 1, 106_751_991, 106_751_990, 3_000_000)] + [-(2**31), 0]
    rows = table().slice(0, len(ends))
    for name, values, width in (("at", ends, pa.int64()), ("local", ends[::-1], pa.int64()), ("day", days, pa.int32())):
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(
            place, rows.schema.field(name), pa.array(values, width).view(rows.schema.field(name).type)
        )
    path = str(tmp_path / "ends.parquet")
    pq.write_table(rows, path)

    def from_file(spark: SparkSession, rows: pa.Table, compiled: Sequence[Score | Filter]) -> pa.Table:
        texts = [f"{one.spark_sql()} AS c{n}" for n, one in enumerate(compiled)]
        return spark.read.parquet(path).coalesce(1).selectExpr(*texts).toArrow()

    timed = re.compile(r"\b(at|local|day)\b")
    scores, conditions = ([text for text in texts if timed.search(text)] for texts in (EXACT, CONDITIONS))
    check(spark, scores, conditions, rows=rows, run=from_file)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_expressions_agree_exactly(spark: SparkSession, seed: int) -> None:
    maker = Maker(seed)
    check(spark, [maker.make("n", 3) for _ in range(60)], [maker.make("b", 3) for _ in range(60)])


def test_every_function_is_compared() -> None:
    used = {call.function for text in EXACT + CLOSE + CONDITIONS for call in calls(read(text))}
    assert {ALIASES.get(name, name) for name in used} == set(FUNCTIONS)
