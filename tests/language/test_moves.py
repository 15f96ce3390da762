"""Monotonicity: what is claimed, and that what is claimed is true."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.language import compile_score
from tests.language.samples import BIG

SCHEMA = pa.schema({"x": pa.float64(), "y": pa.float64(), "n": pa.int64(), "p": pa.bool_()})
UP, DOWN, NONE = "rising", "falling", "unknown"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", {"x": UP}),
        ("-x", {"x": DOWN}),
        ("x + y", {"x": UP, "y": UP}),
        ("x - y", {"x": UP, "y": DOWN}),
        ("x - x", {"x": NONE}),
        ("x + 2 * x", {"x": UP}),
        ("x * y", {"x": NONE, "y": NONE}),
        ("x * 2", {"x": UP}),
        ("-3 * x", {"x": DOWN}),
        ("x / -4", {"x": DOWN}),
        ("2 / x", {"x": NONE}),
        ("2 / exp(x)", {"x": DOWN}),
        ("-2 / exp(x)", {"x": UP}),
        ("x * exp(y)", {"x": UP, "y": NONE}),
        ("exp(x) * exp(y)", {"x": UP, "y": UP}),
        ("x * abs(x)", {"x": NONE}),
        ("n DIV 3", {"n": UP}),
        ("n DIV -3", {"n": DOWN}),
        ("n % 3", {"n": NONE}),
        ("abs(x)", {"x": NONE}),
        ("sqrt(x) + ln(y)", {"x": UP, "y": UP}),
        ("power(x, 3)", {"x": UP}),
        ("power(x, 2)", {"x": NONE}),
        ("power(x, 0.5)", {"x": NONE}),
        ("power(abs(y) + 1, -2)", {"y": NONE}),
        ("power(exp(x), 2)", {"x": UP}),
        ("power(sqrt(x), -1)", {"x": NONE}),
        ("power(2, x)", {"x": UP}),
        ("power(0.5, x)", {"x": DOWN}),
        ("floor(x) + ceil(y) + round(x, 2) + sign(y)", {"x": UP, "y": UP}),
        ("least(x, y, 3)", {"x": UP, "y": UP}),
        ("greatest(x, -y)", {"x": UP, "y": DOWN}),
        ("least(ln(x), 5)", {"x": NONE}),
        ("least(x * 2, 100)", {"x": UP}),
        ("least(n * 2, 100)", {"n": NONE}),
        ("coalesce(x, 0)", {"x": UP}),
        ("coalesce(sqrt(x), 0)", {"x": NONE}),
        ("coalesce(ln(x), 100)", {"x": NONE}),
        ("nullif(x, y)", {"x": UP, "y": NONE}),
        ("if(p, x, y)", {"p": NONE, "x": UP, "y": UP}),
        ("if(x > 0, x, y)", {"x": NONE, "y": UP}),
        ("CASE WHEN p THEN x ELSE -x END", {"p": NONE, "x": NONE}),
        ("CAST(n AS DOUBLE) + CAST(x AS BIGINT)", {"n": UP, "x": UP}),
        ("sin(x)", {"x": NONE}),
        ("5", {}),
    ],
)
def test_claims(text: str, expected: dict[str, str]) -> None:
    found = compile_score(text, SCHEMA).monotonicity()
    assert found == expected


VALUES = [-np.inf, -1e300, -7.0, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, 1e300, np.inf]
WHOLES = [-BIG - 1, -BIG, -7, -1, 0, 1, 2, 9, BIG - 1, BIG]
FORMS = [
    "($ + $)", "($ - $)", "($ * $)", "($ / $)", "(- $)", "abs($)", "sqrt($)", "ln($)", "exp($)", "cbrt($)", "floor($)",
    "round($, 1)", "sign($)", "power($, 3)", "power($, 2)", "power($, 0.5)", "power(2, $)", "power($, -1)",
    "least($, $)", "greatest($, $, $)", "coalesce($, $)", "nullif($, $)", "if(p, $, $)", "if(x > y, $, $)",
    "CAST(CAST($ AS BIGINT) AS DOUBLE)", "(n DIV 3)", "(n * 2)", "tanh($)", "log1p($)", "hypot($, $)",
]  # fmt: skip
LEAVES = ["x", "y", "n", "x", "y", "2", "-1.5", "0", "0.25", "exp(y)", "abs(x)"]


def make(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(LEAVES)
    parts = rng.choice(FORMS).split("$")
    return parts[0] + "".join(make(rng, rng.randrange(depth)) + part for part in parts[1:])


def test_no_claim_is_ever_broken() -> None:
    """Random expressions; for every claim, all pairs of values of that column with the others held."""
    rng = random.Random(3)
    claims = 0
    for _ in range(1500):
        text = make(rng, 3)
        score = compile_score(text, SCHEMA)
        for column, claim in score.monotonicity().items():
            if claim == "unknown":
                continue
            claims += 1
            for _ in range(4):
                _check(text, column, claim, rng)
    assert claims > 500


def _check(text: str, column: str, claim: str, rng: random.Random) -> None:
    values = WHOLES if column == "n" else [False, True] if column == "p" else VALUES
    count = len(values)
    held: dict[str, list[Any]] = {"x": VALUES, "y": VALUES, "n": WHOLES, "p": [True, None]}
    table = {name: values if name == column else [rng.choice(held[name])] * count for name in held}
    scores = compile_score(text, SCHEMA).evaluate(pa.table(table, schema=SCHEMA))
    ranked = scores[~np.isnan(scores)]
    for low, high in combinations(ranked, 2):
        good = low <= high if claim == "rising" else low >= high
        assert good, f"{text} is not {claim} in {column}: {table} gives {scores}"
