"""Signs of expressions: what is proven of them, and that what is proven is true."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from skyband.language import compile_score
from skyband.language.expressions.expression import read
from skyband.language.expressions.signs import floors, sign
from tests.language.test_moves import LEAVES, SCHEMA, VALUES, WHOLES, make


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", 0),
        ("0", 1),
        ("-2.5", -1),
        ("NULL", 0),
        ("abs(x) + exp(y)", 1),
        ("abs(x) - exp(y)", 0),
        ("abs(x) - -exp(y)", 1),
        ("x * x", 1),
        ("x * y", 0),
        ("-(x * x)", -1),
        ("power(x, 2)", 1),
        ("pow(x, 3)", 0),
        ("power(abs(x), y)", 0),
        ("power(abs(x), 0.5)", 1),
        ("greatest(x, 0)", 1),
        ("greatest(x, -1)", 0),
        ("greatest(x, sqrt(y))", 0),
        ("least(x, -1)", -1),
        ("least(abs(x), 3)", 1),
        ("if(p, abs(x), 0)", 1),
        ("CASE WHEN p THEN abs(x) ELSE y END", 0),
        ("CASE WHEN p THEN abs(x) END", 0),
        ("coalesce(abs(x), 1)", 1),
        ("abs(n) % -3", 1),
        ("n * n DIV 4", 1),
        ("round(sqrt(x), 1) / hypot(x, y)", 1),
        ("ln(abs(x))", 0),
        ("CAST(abs(n) AS DOUBLE)", 1),
    ],
)
def test_claims(text: str, expected: int) -> None:
    assert sign(read(text)) == expected


@pytest.mark.parametrize("text", ["abs()", "power(x)", "greatest()", "div(1)", "round()", "nullif()", "negative(1, 2)"])
def test_calls_that_do_not_fit_are_no_reason_to_stop(text: str) -> None:
    assert sign(read(text)) in (0, 1)


@pytest.mark.parametrize(
    ("where", "known"),
    [
        ("x >= 0", {"x"}),
        ("x > 2 AND 0 <= y AND n = 4", {"x", "y", "n"}),
        ("x BETWEEN 0 AND 4", {"x"}),
        ("x-y>0", {"x - y"}),
        ("x >= -1 AND y < 4 AND -1 = n", set()),
        ("x >= 0 OR y >= 0", set()),
        ("NOT x >= 0", set()),
    ],
)
def test_conditions(where: str, known: set[str]) -> None:
    assert floors(read(where)) == known


def test_no_claim_is_ever_broken() -> None:
    """Random expressions over every combination of awkward values."""
    draw, claims = random.Random(8), 0
    x, y, n, p = (column.ravel() for column in np.meshgrid(VALUES, VALUES, [0, 3, 9], [False, True], indexing="ij"))
    table = pa.table([x, y, pa.array([WHOLES[place] for place in n], pa.int64()), p], schema=SCHEMA)
    for _ in range(1_500):
        text = make(draw, 3)
        claim = sign(read(text))
        if claim and any(leaf in text for leaf in LEAVES if leaf.isalpha()):
            claims += 1
            scores = compile_score(text, SCHEMA).evaluate(table)
            with np.errstate(invalid="ignore"):
                assert not (claim * scores < 0).any(), f"{text} is {scores[claim * scores < 0]}, not {claim}"
    assert claims > 200
