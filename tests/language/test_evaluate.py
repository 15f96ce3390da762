"""Values of expressions, one function at a time; NULL, NaN, overflow and division are the point."""

from __future__ import annotations

import pickle
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from skyband.errors import SkybandError
from skyband.language import compile_filter, compile_score
from tests.language.samples import BIG, INTS, SCHEMA, table

MIN = -BIG - 1
Value = Any


def score(text: str, **row: Value) -> float:
    rows = pa.table({name: [row.get(name)] for name in SCHEMA.names}, schema=SCHEMA)
    return float(compile_score(text, SCHEMA).evaluate(rows)[0])


def condition(text: str, **row: Value) -> bool | None:
    """True, False or None: a filter alone does not tell false from NULL."""
    rows = pa.table({name: [row.get(name)] for name in SCHEMA.names}, schema=SCHEMA)
    if compile_filter(f"isnull({text})", SCHEMA).evaluate(rows)[0]:
        return None
    return bool(compile_filter(text, SCHEMA).evaluate(rows)[0])


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("i + 1", {"i": BIG}, nan),
        ("i + 1", {"i": BIG - 1}, float(BIG)),
        ("i - 1", {"i": MIN}, nan),
        ("i * 2", {"i": 2**62}, nan),
        ("i * -1", {"i": MIN}, nan),
        ("-1 * i", {"i": MIN}, nan),
        ("i * 3037000500", {"i": 3037000500}, nan),
        ("i * 3037000499", {"i": 3037000499}, float(3037000499**2)),
        ("-i", {"i": MIN}, nan),
        ("abs(i)", {"i": MIN}, nan),
        ("abs(i)", {"i": -7}, 7.0),
        ("i DIV 2", {"i": -7}, -3.0),
        ("i DIV -1", {"i": MIN}, nan),
        ("i DIV 0", {"i": 1}, nan),
        ("i % 3", {"i": -7}, -1.0),
        ("i % -1", {"i": MIN}, 0.0),
        ("i % 0", {"i": 7}, nan),
        ("i / 2", {"i": 7}, 3.5),
        ("i / 0", {"i": 7}, nan),
        ("d / 0", {"d": 1.0}, nan),
        ("d % 2", {"d": -5.5}, -1.5),
        ("d % 0", {"d": 1.0}, nan),
        ("d * 1e300", {"d": 1e300}, inf),
        ("j * 2", {"j": 2**31 - 1}, float(2**32 - 2)),
        ("m", {"m": Decimal("0.1000")}, 0.1),
        ("f", {"f": 0.5}, 0.5),
        ("ln(d)", {"d": 0.0}, nan),
        ("coalesce(ln(d), -1)", {"d": 0.0}, -1.0),
        ("coalesce(sqrt(d), -1)", {"d": -1.0}, nan),
        ("coalesce(d, e, 3)", {"e": 2.0}, 2.0),
        ("coalesce(d, e, 3)", {}, 3.0),
        ("least(d, e)", {"d": 1.0}, 1.0),
        ("least(d, e)", {"d": nan, "e": inf}, inf),
        ("greatest(d, e)", {"d": nan, "e": inf}, nan),
        ("greatest(d, 5)", {"d": 3.0}, 5.0),
        ("nullif(d, 0)", {"d": -0.0}, nan),
        ("nullif(d, e)", {"d": 2.0}, 2.0),
        ("power(d, e)", {"d": 1.0, "e": nan}, nan),
        ("power(d, 3)", {"d": -2.0}, -8.0),
        ("floor(d)", {"d": -0.5}, -1.0),
        ("floor(d)", {"d": 1e300}, 1e300),
        ("ceil(d)", {"d": 1.2}, 2.0),
        ("round(d)", {"d": 2.5}, 3.0),
        ("round(d)", {"d": -2.5}, -3.0),
        ("round(d)", {"d": 0.49999999999999994}, 0.0),
        ("round(d, 2)", {"d": 2.675}, 2.68),
        ("round(d, 2)", {"d": 1.005}, 1.01),
        ("round(d, 2)", {"d": 123456.785}, 123456.79),
        ("round(d, 1)", {"d": inf}, inf),
        ("round(i, 2)", {"i": BIG}, float(BIG)),
        ("if(p, 1, 2)", {"p": None}, 2.0),
        ("CASE WHEN p THEN 1 END", {"p": False}, nan),
        ("CASE i WHEN 1 THEN 10 ELSE 20 END", {"i": 1}, 10.0),
        ("CASE i WHEN 1 THEN 10 ELSE 20 END", {}, 20.0),
        ("CAST(d AS BIGINT)", {"d": -1.9}, -1.0),
        ("CAST(d AS BIGINT)", {"d": 1e19}, nan),
        ("CAST(d AS BIGINT)", {"d": nan}, nan),
        ("CAST(d AS BIGINT)", {"d": 2.0**63}, float(BIG)),
        ("CAST(p AS DOUBLE)", {"p": True}, 1.0),
        ("length(s)", {"s": "Ä😀"}, 2.0),
        ("length(s)", {}, nan),
        ("sign(d)", {"d": -3.0}, -1.0),
        ("unix_micros(local)", {"local": datetime(1970, 1, 1, 0, 0, 1)}, 1e6),
        ("unix_micros(day)", {"day": date(1970, 1, 2)}, 86400e6),
        ("9223372036854775808", {}, 2.0**63),
        ("-9223372036854775808 + 0", {}, -(2.0**63)),
        ("1L + 1.5D", {}, 2.5),
    ],
)
def test_scores(text: str, row: dict[str, Value], expected: float) -> None:
    found = score(text, **row)
    assert found == expected or (isnan(found) and isnan(expected))


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("d = e", {"d": nan, "e": nan}, True),
        ("d = e", {"d": 0.0, "e": -0.0}, True),
        ("d > e", {"d": nan, "e": inf}, True),
        ("d < e", {"d": nan, "e": nan}, False),
        ("d >= e", {"d": nan, "e": nan}, True),
        ("d = e", {"d": 1.0}, None),
        ("d <=> e", {}, True),
        ("d <=> e", {"d": 1.0}, False),
        ("i = d", {"i": 2**53 + 1, "d": 2.0**53}, True),
        ("p AND q", {"p": False}, False),
        ("p AND q", {"p": True}, None),
        ("p OR q", {"p": True}, True),
        ("p OR q", {"p": False}, None),
        ("NOT p", {}, None),
        ("p IS TRUE", {}, False),
        ("p IS NOT TRUE", {}, True),
        ("i IN (1, NULL)", {"i": 1}, True),
        ("i IN (1, NULL)", {"i": 2}, None),
        ("i NOT IN (1, 2)", {"i": 3}, True),
        ("i BETWEEN 1 AND 3", {"i": 3}, True),
        ("i BETWEEN 1 AND NULL", {"i": 0}, False),
        ("s = 'a'", {"s": "A"}, False),
        ("s = t", {"s": "x", "t": "y"}, False),
        ("s = t", {"s": "x", "t": "x"}, True),
        ("s IN (t, 'a')", {"s": "x", "t": "y"}, False),
        ("coalesce(s, 'a') = 'a'", {}, True),
        ("upper(coalesce(s, 'a')) = 'B'", {"s": "b"}, True),
        ("upper(CASE WHEN i > 1 THEN s ELSE 'a' END) = 'B'", {"s": "b", "i": 2}, True),
        ("s < 'b'", {"s": "Z"}, True),
        ("s > 'z'", {"s": "Ä"}, True),
        ("s < t", {"s": "ｚ", "t": "\U0001f600"}, True),
        ("s LIKE 'a%'", {"s": "abc"}, True),
        ("s LIKE 'a_c'", {"s": "a\nc"}, True),
        ("s LIKE 'a\\_c'", {"s": "abc"}, False),
        ("s LIKE 'a.c'", {"s": "abc"}, False),
        ("s NOT LIKE '%'", {}, None),
        ("s = 'it''s'", {"s": "it's"}, True),
        ("isnan(d)", {"d": nan}, True),
        ("isnan(d)", {}, False),
        ("d IS NULL", {"d": nan}, False),
        ("local >= TIMESTAMP '2026-01-01 12:00:00'", {"local": datetime(2026, 1, 1, 12)}, True),
        ("local = TIMESTAMP '2026-01-01T14:00:00+02:00'", {"local": datetime(2026, 1, 1, 12)}, True),
        ("day = DATE '2026-01-01'", {"day": date(2026, 1, 1)}, True),
        ("day < local", {"day": date(2026, 1, 1), "local": datetime(2026, 1, 1, 0, 0, 1)}, True),
    ],
)
def test_conditions(text: str, row: dict[str, Value], expected: bool | None) -> None:
    assert condition(text, **row) is expected


def wrapped(exact: int) -> float:
    return float(exact) if MIN <= exact <= BIG else nan


ints = st.sampled_from([n for n in INTS if n is not None]) | st.integers(MIN, BIG) | st.integers(-(2**32), 2**32)


@given(ints, ints)
def test_integer_arithmetic_is_exact_or_null(a: int, b: int) -> None:
    expected = {
        "i + k": wrapped(a + b),
        "i - k": wrapped(a - b),
        "i * k": wrapped(a * b),
        "i DIV k": wrapped(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)) if b else nan,
        "i % k": float(abs(a) % abs(b) * (-1 if a < 0 else 1)) if b else nan,
    }
    found = {text: score(text, i=a, k=b) for text in expected}
    assert {t: repr(abs(x)) for t, x in found.items()} == {t: repr(abs(x)) for t, x in expected.items()}
    assert all(x == expected[t] or isnan(x) for t, x in found.items())


@given(st.floats(-1e15, 1e15), st.integers(0, 8))
def test_rounding_follows_the_printed_digits(value: float, places: int) -> None:
    exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=60))
    assert score(f"round(d, {places})", d=value) == float(exact)


def test_a_constant_is_as_long_as_the_table() -> None:
    rows = table(5)
    assert compile_score("1 + 1", SCHEMA).evaluate(rows).tolist() == [2.0] * 5
    assert compile_filter("TRUE", SCHEMA).evaluate(rows).tolist() == [True] * 5


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_batches_tables_and_chunks_agree(rows: int) -> None:
    whole = table(rows)
    chunked = pa.concat_tables([whole.slice(0, 3), whole.slice(3)])
    for text in ("i + d * 2", "length(s)", "if(s LIKE 'a%' OR p, unix_micros(at), i)"):
        compiled = compile_score(text, SCHEMA)
        expected = compiled.evaluate(whole)
        assert len(expected) == rows
        np.testing.assert_array_equal(compiled.evaluate(chunked), expected)
        if rows:
            np.testing.assert_array_equal(compiled.evaluate(whole.to_batches()[0]), expected)


@pytest.mark.parametrize(
    ("arrow", "values", "expected"),
    [
        (pa.int8(), [-128, None], [-128.0, nan]),
        (pa.uint32(), [2**32 - 1, 0], [4294967295.0, 0.0]),
        (pa.uint64(), [2**64 - 1, 1], [1.8446744073709552e19, 1.0]),
        (pa.float32(), [0.5, nan], [0.5, nan]),
        (
            pa.decimal128(38, 10),
            [Decimal("0.1"), Decimal("123456789012345678.1234567891")],
            [0.1, 123456789012345678.12],
        ),
        (pa.null(), [None, None], [nan, nan]),
    ],
)
def test_column_types(arrow: pa.DataType, values: list[Value], expected: list[float]) -> None:
    rows = pa.table({"x": pa.array(values, arrow)})
    text = "coalesce(x, CAST(NULL AS DOUBLE))" if pa.types.is_null(arrow) else "x"
    np.testing.assert_array_equal(compile_score(text, rows.schema).evaluate(rows), expected)


def test_dictionary_and_large_strings() -> None:
    for kind in (pa.dictionary(pa.int32(), pa.string()), pa.large_string(), pa.string_view()):
        rows = pa.table({"s": pa.array(["a", None, "b"]).cast(kind)})
        keep = compile_filter("s >= 'b'", rows.schema)
        assert keep.evaluate(rows).tolist() == [False, False, True]


def test_nanoseconds_before_the_epoch_round_down() -> None:
    rows = pa.table({"t": pa.array([-1, 1], pa.timestamp("ns"))})
    assert compile_score("unix_micros(t)", rows.schema).evaluate(rows).tolist() == [-1.0, 0.0]


def test_the_input_is_left_alone() -> None:
    rows = pa.table({"x": [1.0, 2.0]})
    compile_score("x", rows.schema).evaluate(rows)[0] = 9.0
    assert rows.column("x").to_pylist() == [1.0, 2.0]


def test_compiled_expressions_travel() -> None:
    rows = table(20)
    one = compile_score("s.d + length(s.s)", SCHEMA, stream="s")
    other = pickle.loads(pickle.dumps(one))
    assert other == one
    np.testing.assert_array_equal(other.evaluate(rows), one.evaluate(rows))
    keep = compile_filter("p", SCHEMA)
    assert pickle.loads(pickle.dumps(keep)) == keep


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    with pytest.raises(SkybandError, match="nested too deeply"):
        compile_score("(" * 3000 + "d" + ")" * 3000, SCHEMA)
