"""Two spellings of one expression have one normal form, and the normal form means the same."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

from skyband.language import canonical, columns, compile_score
from skyband.language.expressions.expression import read
from tests.language.samples import Maker


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("price*size", "price * size"),
        ("( price * size )", "price * size"),
        ("trades.price * trades.size", "price * size"),
        ('"price" * `size`', "price * size"),
        ("ABS( change )", "abs(change)"),
        ("a - (b - c)", "a - (b - c)"),
        ("(a - b) - c", "a - b - c"),
        ("a + b * c", "a + b * c"),
        ("(a + b) * c", "(a + b) * c"),
        ("a / (b * c)", "a / (b * c)"),
        ("-(a + b)", "-(a + b)"),
        ("- -a", "-(-a)"),
        ("a - -1", "a - -1"),
        ("x is not null and not y", "NOT isnull(x) AND NOT y"),
        ("not (a and b)", "NOT (a AND b)"),
        ("a and (b or c)", "a AND (b OR c)"),
        ("x between 1 and 2", "x >= 1 AND x <= 2"),
        ("x NOT IN (1,2)", "NOT x IN (1, 2)"),
        ("nvl(x, 0)", "coalesce(x, 0)"),
        ("ifnull(x, 0)", "coalesce(x, 0)"),
        ("POW(x, 2)", "power(x, 2)"),
        ("mod(a, b)", "a % b"),
        ("if(a > 1, b, c)", "CASE WHEN a > 1 THEN b ELSE c END"),
        ("case x when 1 then 2 end", "CASE WHEN x = 1 THEN 2 ELSE NULL END"),
        ("cast(x as double)", "CAST(x AS DOUBLE)"),
        ("x::bigint", "CAST(x AS BIGINT)"),
        ("1.50 + 1e3", "1.5 + 1000.0"),
        ("x = 'it''s'", "x = 'it''s'"),
        ("x = 'back\\\\slash'", "x = 'back\\\\slash'"),
        ("a <> b", "a != b"),
        ("a == b", "a = b"),
        ("date '2026-01-01' < d", "DATE '2026-01-01' < d"),
        ("ts > timestamp '2026-01-01T02:00+02:00'", "ts > TIMESTAMP '2026-01-01 00:00:00'"),
        ('"a b" + "select"', '"a b" + "select"'),
        ("x /* why */ + y -- because", "x + y"),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a - b - c", "a - (b - c)"),
        ("price", "PRICE"),
        ("1", "1.0"),
        ("a + b", "b + a"),
        ("'A'", "'a'"),
        ('"a b"', '"a  b"'),
    ],
)
def test_different_expressions_stay_different(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


def test_a_schema_settles_the_spelling_of_columns() -> None:
    schema = pa.schema({"Price": pa.float64(), "size": pa.int64()})
    scores = [compile_score(text, schema) for text in ("PRICE * trades.Size", "Price*size")]
    assert {score.canonical for score in scores} == {"Price * size"}
    assert {score.columns for score in scores} == {frozenset({"Price", "size"})}


def test_exact_spelling_wins_over_similar() -> None:
    schema = pa.schema({"x": pa.int64(), "X": pa.int64()})
    assert compile_score("X", schema).columns == {"X"}


def test_columns_without_a_schema() -> None:
    assert columns('trades.price * abs(size) + "odd one" + CASE WHEN p THEN 1 END') == {"price", "size", "odd one", "p"}


@pytest.mark.parametrize("kind", ["n", "b"])
def test_the_normal_form_reads_back_to_the_same_expression(kind: str) -> None:
    maker = Maker(7)
    for text in (maker.make(kind, 3) for _ in range(300)):
        assert canonical(canonical(text)) == canonical(text), text
        assert str(read(canonical(text))) == str(read(text)), text


def _words() -> list[str]:
    tables: list[Iterable[str]] = [Spark.Tokenizer.KEYWORDS, SparkParser.FUNCTIONS, SparkParser.FUNCTION_PARSERS]
    found = {word.lower() for table in tables for key in table for word in key.split()}
    return sorted(word for word in found if word.isidentifier())


SHAPES = ["{} + 1", "1 - {}", "{} > 1 AND {} < 2", "abs({})", "NOT {}", "{} IN (1, {})", "{} LIKE 'a'", "-{}"]
SHAPES += ["CASE WHEN {} THEN {} ELSE {} END", "CAST({} AS DOUBLE)"]


@pytest.mark.parametrize("shape", SHAPES)
def test_any_word_can_be_a_column_and_prints_so_that_it_stays_one(shape: str) -> None:
    words = _words()
    assert len(words) > 500
    for word in words:
        text = shape.replace("{}", f'"{word}"')
        assert columns(canonical(text)) == {word}
        assert canonical(canonical(text)) == canonical(text)
