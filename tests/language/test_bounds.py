"""Texts that would take more time or memory than anybody has are refused at once, and say why."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from skyband.errors import SkybandError
from skyband.language import compile_filter, compile_score, parse
from skyband.language.clauses.workload import MOST_TEXT
from skyband.language.expressions.tree import parts

SCHEMA = pa.schema({"price": pa.float64()})


def nested(wrap: str, inner: str, times: int) -> str:
    for _ in range(times):
        inner = wrap.format(inner)
    return inner


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            nested("(CASE WHEN {} THEN price ELSE 2 END) BETWEEN 1 AND 2", "price > 1", 16),
            "parts when it is written out",
        ),
        (nested("(CASE {} WHEN 1 THEN 3 WHEN 2 THEN 4 END)", "price", 16), "parts when it is written out"),
        (nested("floor({})", "price", 16), "parts when it is written out"),
        ("price" + " + price" * 205, "nested (206|too) deep"),
        ("NOT " * 10_000 + "price", "nested too deeply"),
        ("(" * 100_000, "more than 50,000 words and signs"),
        ("(" * 30_000, "30,000 words and signs"),
    ],
    ids=["between", "case", "floor", "chain", "not", "parentheses", "fewer parentheses"],
)
def test_an_expression_that_would_take_for_ever_is_refused_at_once(text: str, message: str) -> None:
    """Sixteen levels of BETWEEN took 20 seconds and more: each says its operand twice."""
    begin = time.process_time()
    with pytest.raises(SkybandError, match=message) as caught:
        compile_score(text, SCHEMA)
    assert caught.value.span is not None
    assert time.process_time() - begin < 1.0


def test_what_stands_in_two_places_is_bound_once() -> None:
    """And so it is computed once."""
    table = pa.table({"price": [1.0, 3.0, 5.0]})
    text = nested("(CASE WHEN {} THEN price ELSE 2 END) BETWEEN 1 AND 4", "price > 1", 8)
    found = compile_filter(text, table.schema)
    assert len(list(parts(found._root))) < 100
    # In place of the operand: an expression that says the same once.
    inner = table["price"].to_pylist()
    passes = [price > 1 for price in inner]
    for _ in range(8):
        passes = [1 <= (price if true else 2) <= 4 for price, true in zip(inner, passes, strict=True)]
    assert found.evaluate(table).tolist() == passes


@pytest.mark.parametrize("frame", ["RANGE 365 DAYS SLIDE 1 MICROSECOND", "ROWS 10000000 SLIDE 1"])
def test_a_window_that_would_be_reported_without_end_is_refused(frame: str) -> None:
    """Two records a day apart asked for 644 GiB."""
    with pytest.raises(SkybandError, match="every record would be in") as caught:
        parse(f"CREATE STREAM s WITH (TIME = ts); SELECT TOP 1 * FROM s [{frame}] ORDER BY a")
    assert "1,000,000" in str(caught.value)


def test_a_text_without_end_is_refused() -> None:
    with pytest.raises(SkybandError, match="a text of 16,777,217 characters"):
        parse(" " * (MOST_TEXT + 1))
