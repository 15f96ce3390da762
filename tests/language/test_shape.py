"""Scores taken apart: what is one attribute, what is a weight, and that the pieces give the whole, bit for bit."""

from __future__ import annotations

from math import inf, nextafter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from skyband.engines.kernels.grid.score import ranking_scores
from skyband.engines.many.questions import Questions
from skyband.language import compile_filter, compile_score, shape
from skyband.model.many import Attribute
from tests.drawn import examples

A, B = Attribute("a"), Attribute("b")


@pytest.mark.parametrize(
    ("by", "terms"),
    [
        ("0.3 * a + 0.7 * b", ((0.3, A), (0.7, B))),
        ("a * 0.3 - b", ((0.3, A), (-1.0, B))),
        ("-(0.3 * a)", ((-0.3, A),)),
        ("a", ((1.0, A),)),
        ("a - b", ((1.0, Attribute("a - b")),)),
        ("2 * a + 3 * b", ((1.0, Attribute("2 * a + 3 * b")),)),
        ("0.5 * power(a, 2) + 0.25 * ln(b)", ((0.5, Attribute("power(a, 2)")), (0.25, Attribute("ln(b)")))),
    ],
)
def test_sums(by: str, terms: tuple[tuple[float, Attribute], ...]) -> None:
    assert shape(by, None).terms == terms
    assert shape(by, None).steps == ()


@pytest.mark.parametrize(
    "by", ["(0.5 + a) * (0.2 + b)", "-abs(a - 0.5) - abs(b - 0.25)", "0.3 * (a * 0.5 + b)", "a / 2"]
)
def test_programs(by: str) -> None:
    assert shape(by, None).terms == ()
    assert set(shape(by, None).attributes) <= {A, B}


def test_what_is_too_long_is_one_attribute() -> None:
    by = " * ".join(f"(0.{i} + a)" for i in range(1, 12))
    assert [len(each.attributes) for each in (shape(by, None), shape(by, "a > 1 OR b > 2"))] == [1, 2]
    many = " + ".join(f"0.5 * c{i}" for i in range(9))
    assert len(shape(many, None).attributes) == 1


def test_ranges() -> None:
    found = shape("a", "a BETWEEN 1 AND 5 AND 3 > b AND b >= -1 AND a <> 2 AND s = 'x'").ranges
    assert found[:4] == ((A, 1.0, inf), (A, -inf, 5.0), (B, -inf, nextafter(3.0, -inf)), (B, -1.0, inf))
    assert found[4:] == ((Attribute("(a != 2) AND (s = 'x')", condition=True), 1.0, 1.0),)


numbers = st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(allow_nan=True, allow_infinity=True, width=64))
SCORES = ["0.3 * a + 0.7 * b - c", "(0.1 + a) * (0.7 + b) * (0.2 + c)", "-abs(a - 0.1) - 3.0 * abs(b - c * 0.5)"]
SCORES += ["0.1 * (a - b) + 0.3 * sqrt(c)", "c / 3 + 0.1 * a", "2 * c + a", "-(0.5 * a) * b"]


@given(rows=st.lists(st.tuples(numbers, numbers, st.integers(-9, 9) | st.none()), min_size=1, max_size=8))
@examples(60)
@pytest.mark.parametrize("by", SCORES)
def test_the_pieces_give_the_whole_bit_for_bit(
    by: str, rows: list[tuple[float | None, float | None, int | None]]
) -> None:
    kinds = [pa.float64(), pa.float64(), pa.int64()]
    columns = [pa.array(list(values), kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    table = pa.table(columns, names=["a", "b", "c"])
    found = shape(by, None)
    parts = [compile_score(each.text, table.schema).attribute(table) for each in found.attributes]
    questions = Questions(len(parts))
    questions.add([found.spec(found.attributes, 1), found.spec(found.attributes, 1, ascending=True)])
    x = np.ascontiguousarray(np.stack(parts, axis=1))
    whole = compile_score(by, table.schema).evaluate(table)
    for which, wanted in ((0, whole), (1, -whole)):
        scores = ranking_scores(questions.columns, np.full(len(rows), which), x)
        assert np.array_equal(scores, wanted, equal_nan=True)


def test_null_can_be_told_from_nan() -> None:
    table = pa.table({"a": [1.0, None, float("nan")]})
    values = compile_score("a", table.schema).attribute(table)
    assert np.isnan(values).tolist() == [False, True, True]
    assert np.signbit(values).tolist() == [False, True, False]
    assert compile_filter("a > 5", table.schema).evaluate(table).tolist() == [False, False, True]
