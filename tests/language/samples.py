"""Rows full of edge cases, and random expressions over them."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product

import pyarrow as pa

BIG = 2**63 - 1
INTS = [0, 1, -1, 2, -3, 7, BIG, -BIG - 1, BIG - 1, 2**53 + 1, 2**31, -(2**62), None]
DOUBLES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e300, -1e300, 5e-324, 1e19, 2.0**63, 2.675, 1.005]
DOUBLES_MORE = [float("nan"), float("inf"), float("-inf"), None, 0.49999999999999994, 4503599627370497.5, 123456.785]
TEXTS = ["", "a", "A", "ab", "b%", "a_c", "axc", "Ä", "ｚ", "\U0001f600", "it's", "back\\slash", "line\nbreak", None]
TEXTS += [" x y ", "Straße", "ΑΣ", "abxc"]
TIMES = ["1969-12-31 23:59:59.999999", "1970-01-01", "2026-07-01 12:00:00", "2026-11-01 01:30:00", "0001-01-02", None]
TIMES += ["2024-02-29 23:59:59.5", "1900-03-01", "9999-12-31 23:59:59.999999"]
DAYS = [date(1970, 1, 1), date(2026, 7, 1), date(2026, 7, 2), date(1, 1, 3), None]

SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "k": pa.int64(),
        "j": pa.int32(),
        "d": pa.float64(),
        "e": pa.float64(),
        "f": pa.float32(),
        "m": pa.decimal128(20, 4),
        "s": pa.string(),
        "t": pa.string(),
        "p": pa.bool_(),
        "q": pa.bool_(),
        "at": pa.timestamp("us", tz="UTC"),
        "local": pa.timestamp("us"),
        "day": pa.date32(),
        "odd `name`": pa.int64(),
    }
)


def table(rows: int = 400, seed: int = 1) -> pa.Table:
    """Pairs of doubles and of integers, the rest at random."""
    rng = random.Random(seed)
    doubles = DOUBLES + DOUBLES_MORE
    pairs = list(product(doubles, doubles))
    rng.shuffle(pairs)
    pairs = (pairs * (rows // len(pairs) + 1))[:rows]
    ints = list(product(INTS, INTS))
    instants = [None if t is None else datetime.fromisoformat(t).replace(tzinfo=UTC) for t in TIMES]
    columns = {
        "i": [ints[n % len(ints)][0] for n in range(rows)],
        "k": [ints[n % len(ints)][1] for n in range(rows)],
        "odd `name`": list(range(rows)),
        "j": [rng.choice([0, 1, -1, 2**31 - 1, -(2**31), 5, None]) for _ in range(rows)],
        "d": [d for d, _ in pairs],
        "e": [e for _, e in pairs],
        "f": [rng.choice([0.0, 0.1, -1.5, 3e38, float("nan"), float("inf"), None]) for _ in range(rows)],
        "m": [
            rng.choice([Decimal("0.0000"), Decimal("1.1000"), Decimal("-9007199254740993.1235"), None])
            for _ in range(rows)
        ],
        "s": [rng.choice(TEXTS) for _ in range(rows)],
        "t": [rng.choice(TEXTS) for _ in range(rows)],
        "p": [rng.choice([True, False, None]) for _ in range(rows)],
        "q": [rng.choice([True, False, None]) for _ in range(rows)],
        "at": [rng.choice(instants) for _ in range(rows)],
        "local": [None if (t := rng.choice(instants)) is None else t.replace(tzinfo=None) for _ in range(rows)],
        "day": [rng.choice(DAYS) for _ in range(rows)],
    }
    return pa.table(columns, schema=SCHEMA)


class Maker:
    """Makes random expressions of a wanted type out of functions that are exact on both sides."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def make(self, kind: str, depth: int) -> str:
        options = LEAVES[kind] if depth == 0 else FORMS[kind]
        form = self.rng.choice(options)
        parts = form.split("$")
        text = parts[0]
        for part in parts[1:]:
            text += self.make(part[0], self.rng.randrange(depth) if depth else 0) + part[1:]
        return text


# $n a number, $i an integer, $b a condition, $s a string, $t a time
LEAVES = {
    "i": ["i", "j", '"odd `name`"', "0", "1", "-1", "3", "9223372036854775807", "-9223372036854775808", "NULL"],
    "n": ["i", "j", "d", "e", "f", "m", "0", "2", "0.5", "-1e300", "7", "2.675", "CAST(NULL AS DOUBLE)"],
    "b": ["p", "q", "TRUE", "FALSE", "(d > e)", "(i = j)", "(s < t)"],
    "s": ["s", "t", "'a'", "'it''s'", "'Ä'", "''"],
    "t": [
        "at",
        "local",
        "day",
        "TIMESTAMP '2026-07-01 12:00:00'",
        "DATE '2026-07-01'",
        "TIMESTAMP '2026-07-01T14:00+02:00'",
    ],
}
_CHOICES = [
    "coalesce(${0}, ${0})",
    "least(${0}, ${0})",
    "greatest(${0}, ${0}, ${0})",
    "nullif(${0}, ${0})",
    "if($b, ${0}, ${0})",
    "CASE WHEN $b THEN ${0} WHEN $b THEN ${0} END",
    "CASE ${0} WHEN ${0} THEN ${0} ELSE ${0} END",
]
FORMS = {
    "i": [
        "($i + $i)",
        "($i - $i)",
        "($i * $i)",
        "($i % $i)",
        "($i DIV $i)",
        "-($i)",
        "abs($i)",
        "floor($i)",
        "round($i, 1)",
        "CAST($n AS BIGINT)",
        "CAST($b AS BIGINT)",
        "length($s)",
        "unix_micros($t)",
        "hour($t)",
        "dayofyear($t)",
        "unix_seconds(date_trunc('week', $t))",
        "unix_micros(date_trunc('quarter', $t))",
        *(c.format("i") for c in _CHOICES),
    ],
    "n": [
        "($n + $n)",
        "($n - $n)",
        "($n * $n)",
        "($n / $n)",
        "($n % $n)",
        "-($n)",
        "abs($n)",
        "sign($n)",
        "sqrt($n)",
        "floor($n)",
        "ceil($n)",
        "round($n)",
        "CAST($i AS DOUBLE)",
        "CAST($b AS DOUBLE)",
        "$i",
        *(c.format("n") for c in _CHOICES),
    ],
    "b": [
        "($n < $n)",
        "($n <= $n)",
        "($n = $n)",
        "($n != $n)",
        "($n > $i)",
        "($i >= $n)",
        "($i <=> $i)",
        "($n <=> $n)",
        "($n IN ($n, $n, 0.0, 1))",
        "($i NOT IN (1, $i))",
        "($n BETWEEN $n AND $n)",
        "($s = $s)",
        "($s < $s)",
        "($s >= $s)",
        "($s IN ('a', $s))",
        "($s <=> $s)",
        "($s LIKE 'a%')",
        "($s NOT LIKE '_')",
        "contains($s, 'x')",
        "endswith($s, 'c')",
        "($t < $t)",
        "($t = $t)",
        "($t >= $t)",
        "($b AND $b)",
        "($b OR $b)",
        "(NOT $b)",
        "($b = $b)",
        "($b < $b)",
        "($n IS NULL)",
        "($s IS NOT NULL)",
        "isnan($n)",
        "($b IS TRUE)",
        "($b IS NOT FALSE)",
        *(c.format("b") for c in _CHOICES),
    ],
    "s": [
        "s",
        "t",
        "upper($s)",
        "lower($s)",
        "trim($s)",
        "substr($s, 2, 2)",
        "substr($s, -2)",
        "right($s, 1)",
        "concat($s, $s)",
        "replace($s, 'a', 'xy')",
        *(c.format("s") for c in _CHOICES),
    ],
    "t": ["at", "local", "day", "to_date($t)", "date_trunc('hour', $t)", *(c.format("t") for c in _CHOICES)],
}
