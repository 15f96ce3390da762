"""Uncertain streams and sets of queries over them, as uncertain-tkde §10.1 describes them, and real ones.

Each is a function of its sizes and a seed, and a longer stream begins with the shorter one of the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pyarrow as pa

from skyband.datasets._draw import at_least, generator
from skyband.errors import SkybandError
from skyband.model import Floats, Ints

QUERY_SETS = ("uu", "ug", "gu", "gg")
"""How FREQUENCY and then k are drawn: uniformly, or from a normal distribution."""
MICRO = pa.timestamp("us")
SECOND = 1_000_000


@dataclass(frozen=True)
class QuerySet:
    """Query i is to be executed at least every `every[i]` units of time, and asks for `k[i]`."""

    every: Ints
    k: Ints


def query_set(
    kind: str,
    x: int,
    seed: int = 0,
    every: tuple[int, int] = (1, 40),
    k: tuple[int, int] = (2, 100),
    spread: tuple[float, float] = (5.0, 10.0),
) -> QuerySet:
    """x queries. Uniform: between the two bounds. Normal: around the upper one with the given spread, at least the
    lower one (the paper's defaults are f of mean 40 and deviation 5, k of mean 100 and deviation 10)."""
    at_least("x", x, 0)
    if kind not in QUERY_SETS:
        raise SkybandError(f"there is no query set called {kind!r}", expected="one of " + ", ".join(QUERY_SETS))
    often = _whole(kind[0], x, seed, 0, every, spread[0])
    return QuerySet(often, _whole(kind[1], x, seed, 1, k, spread[1]))


def _whole(kind: str, x: int, seed: int, purpose: int, bounds: tuple[int, int], spread: float) -> Ints:
    draw = generator(seed, purpose)
    if kind == "u":
        return draw.integers(bounds[0], bounds[1] + 1, x)
    return np.maximum(np.rint(draw.normal(bounds[1], spread, x)), bounds[0]).astype(np.int64)


def uncertain(n: int, seed: int = 0, rules: float = 0.5, every: int = SECOND) -> pa.Table:
    """n records, one each `every` microseconds: values and probabilities uniform; a share of them in rules, which are
    random pairs of neighbours whose probabilities add up to 1 at most. Columns ts, id, value, p, rule."""
    at_least("n", n, 0)
    p = 1.0 - generator(seed, 2).random(n)
    return _table(n, every, generator(seed).random(n), p, neighbours(p, rules, seed))


def uncertain_streams(streams: int, w: int, seed: int = 0, windows: int = 2, every: int = SECOND) -> pa.Table:
    """Several streams read as one (column `source`), in turns: so a window of streams·w records holds w of each, and
    each record has the probability 1/w. No rules."""
    at_least("streams", streams, 1)
    at_least("w", w, 1)
    n = streams * w * windows
    table = _table(n, every, generator(seed).random(n), np.full(n, 1.0 / w), np.full(n, -1))
    return table.append_column("source", pa.array(np.arange(n) % streams))


def neighbours(p: Floats, share: float, seed: int = 0) -> Ints:
    """Rules for records with these probabilities: random pairs of neighbours that fit together; -1 for none.

    About `share` of the pairs that could be made are made.
    """
    draw = generator(seed, 3).random(len(p))
    rule = np.full(len(p), -1)
    joins = np.flatnonzero((draw[:-1] < share) & (p[:-1] + p[1:] <= 1.0)) if len(p) else np.empty(0, np.int64)
    # Of pairs that overlap, every second one in each chain: the first, the third …
    chain = np.cumsum(np.diff(joins, prepend=-2) > 1) if len(joins) else joins
    first = np.searchsorted(chain, chain)
    taken = joins[(np.arange(len(joins)) - first) % 2 == 0]
    rule[taken] = rule[taken + 1] = np.arange(len(taken))
    return rule


def icebergs_with_rules(table: pa.Table, share: float = 0.5, seed: int = 0) -> pa.Table:
    """The real icebergs (`load(..., "icebergs")`) with a column `rule`: as in the paper, random pairs of neighbours."""
    p = np.asarray(table.column("prob_proxy"), np.float64)
    rule = neighbours(p, share, seed)
    return table.append_column("rule", pa.array(rule, mask=rule < 0))


def spread(table: pa.Table, mean: str, error: str, points: int = 16) -> pa.Table:
    """Records whose score is normal (a mean and a standard error), as records that exclude each other.

    Each becomes `points` records with equal shares in a column `p`, at the middles (by probability) of as many equally
    likely stretches of its score, in a column `value`; one with an error of NULL or 0 stays one, with p = 1. With the
    record's key as RULE and SOURCE, `USING PK_STREAMS` then ranks by the probability of being in the top k.

    Error: replacing one score by its points changes a top-k probability by at most V / (2·points), V being how much the
    probability depends on where in its own range that score is: it only rises, or only falls, with that score, and
    within each stretch the middle stands for the mean. The sum over all scores that overlap bounds the whole.
    """
    at_least("points", points, 1)
    center = np.asarray(table.column(mean).to_numpy(), np.float64)
    width = np.nan_to_num(np.asarray(table.column(error).to_numpy(), np.float64))
    if (width < 0).any():
        raise SkybandError(f"column {error} has an error below zero", expected="standard errors from 0 on, or NULL")
    quantile = np.array([NormalDist().inv_cdf((2 * i + 1) / (2 * points)) for i in range(points)])
    count = np.where(width > 0, points, 1)
    row = np.repeat(np.arange(len(table)), count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    value = center[row] + np.where(width[row] > 0, width[row] * quantile[nth], 0.0)
    found = table.take(pa.array(row))
    return found.append_column("value", pa.array(value)).append_column("p", pa.array(1.0 / count[row]))


def _table(n: int, every: int, value: Floats, p: Floats, rule: Ints) -> pa.Table:
    number = np.arange(n)
    return pa.table(
        {
            "ts": pa.array(number * every).cast(MICRO),
            "id": number,
            "value": value,
            "p": p,
            "rule": pa.array(rule, mask=rule < 0),
        }
    )
