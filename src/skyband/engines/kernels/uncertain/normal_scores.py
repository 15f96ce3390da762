"""Top-k probabilities where each score is normal, with a mean and a standard error: integrals over the score.

A record with score density f is in the top k with probability ∫ p·f(x)·A(x) dx, A(x) = P(at most k - 1 records of other
rules are above x). At one x that is a count of independent events, one for each rule: "a record of it exists and is
above x". So at each node one row (tally) is filled with all events, and each rule is taken out of it once, for all its
records and every k. Taken out from the end that is stable: with q ≤ 1/2 upwards, C'[j] = (C[j] - q·C'[j-1]) / (1 - q),
else downwards; an error is multiplied by at most 1 in every step, and nothing is put back into the row. Events with q
or 1 - q up to 3e-4 are taken out to first order: that is wrong by q² at most, over a share 3e-4 of the record's
density. Events up to 1e-8 are put in together, 1e-7 at a time; two of them at once have a chance of 5e-15.

Nodes are those of Gauss and Legendre, 13 in each panel, and the panels make the error provable. Continue f and A to
the ellipse around a panel of half width r with foci at its ends and ρ = 3 (half axes 5r/3 and 4r/3). There a record
with density φ has |P(above z) - P(above Re z)| ≤ |Im z|·φ(Re z)·exp(|Im z|²/2σ²), so |A| ≤ exp(2L) with L = (4r/3)·
exp((4r/3σ)²/2)·Σ p·max φ. A panel has r ≤ σ/2 for every σ in reach, and L ≤ 1. Then the error of Gauss and Legendre's
rule for it is at most 64/15·9/8·ρ⁻²⁴·e²·1.25·r·max f, and all panels together are wrong by less than 2e-10. Scores
without an error are steps of A: panels end there. Tails beyond 7.5σ (3e-14) are left out, and so is what lies below the
place where at most k records are above with less than 1e-11; as long as k are above with less than 1e-12, A is taken
for 1. Altogether, with up to ten thousand records in reach: less than 1e-9.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import inlined, kernel
from skyband.engines.kernels.uncertain.heap import best_first
from skyband.engines.kernels.uncertain.normal_curve import density, exceeds
from skyband.engines.kernels.uncertain.pk_topk import Asks
from skyband.engines.kernels.uncertain.ranks import Ranked, Store, fetch
from skyband.engines.kernels.uncertain.tally import put_in
from skyband.model.types import Floats, Ints

REACH = 7.5
"""So many standard errors around its mean a score may be."""
STOP, START = 1e-11, 1e-12
ROUNDING = 1e-9
"""A probability within this of PT_K's threshold counts as reaching it."""
FLOOR, NEAR = 1e-20, 4e-16
SLIGHT, TINY, TOGETHER = 3e-4, 1e-8, 1e-7
DENSEST = 0.6
"""Half a panel's width times the density of all scores near it: then L ≤ 1."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(13)


class Normal(NamedTuple):
    """By slot: mean and standard error. The store's `score` is the highest the score can be. `curve` is the table of
    the normal distribution."""

    mean: Floats
    error: Floats
    curve: Floats


class Walk(NamedTuple):
    """Records in the order of how high they reach (of `ranked`), and the rules that have some of them: `unit[i]` of
    record i, `first[u]` a record of rule u, `next[i]` the rule's next one (-1 at the end). `sizes`: records walked
    into, rules. `mass` is how likely each rule is above x. `row`, and `without` one rule, say how many are above;
    `base` begins it; `band` has their bounds."""

    unit: Ints
    first: Ints
    next: Ints
    latest: Ints
    sizes: Ints
    above: Floats
    mass: Floats
    row: Floats
    without: Floats
    base: Floats
    band: Ints


@kernel
def normal_top(
    asks: Asks, store: Store, normal: Normal, start: int, ranked: Ranked, latest: Ints, work: Ints
) -> Floats:
    """Per ask, the top-k probability of each record walked into, in the order of `ranked`."""
    n, least, most = len(ranked.slot), asks.k.min(), asks.k.max()
    walk = _new_walk(n, len(store.total))
    value = np.zeros((len(asks.k), n))
    fetch(store, start, ranked, latest, min(64, n))
    x = np.inf
    while True:
        low = _panel(walk, store, normal, start, ranked, latest, x)
        if np.isnan(low):
            return value
        if low < x < np.inf:
            while _reaches(walk, store, start, ranked, latest, walk.sizes[0]) > low:
                _walk_in(walk, store, ranked)
            _fill(walk, store, normal, ranked, low, False, work)
            if 1.0 - _entry(walk, least - 1) <= START:
                _add_all(walk, store, normal, ranked, low, x, value)
            else:
                _integrate(asks, walk, store, normal, ranked, low, x, value, work)
        x = low
        while _reaches(walk, store, start, ranked, latest, walk.sizes[0]) == x:
            if normal.error[ranked.slot[walk.sizes[0]]] == 0.0:
                _step(asks, walk, store, normal, ranked, x, value, work)
            _walk_in(walk, store, ranked)
        _fill(walk, store, normal, ranked, x, False, work)
        if _entry(walk, most) <= STOP:
            return value


@kernel
def _new_walk(n: int, rules: int) -> Walk:
    ints = np.full((4, n), -1)
    return Walk(
        ints[0],
        ints[1],
        ints[2],
        np.full(rules, -1),
        np.zeros(2, np.int64),
        np.zeros(n),
        np.zeros(n),
        np.empty(n + 2),
        np.empty(n + 2),
        np.empty(n + 2),
        np.zeros(4, np.int64),
    )


@kernel
def _reaches(walk: Walk, store: Store, start: int, ranked: Ranked, latest: Ints, i: int) -> float:
    """How high record i reaches; NaN if there are not so many."""
    if i == ranked.cursor[2]:
        fetch(store, start, ranked, latest, min(2 * i + 64, len(ranked.slot)))
        if i == ranked.cursor[2]:
            return np.nan
    return float(store.score[ranked.slot[i]])


@kernel
def _walk_in(walk: Walk, store: Store, ranked: Ranked) -> None:
    """One record more counts."""
    i = walk.sizes[0]
    code = store.code[ranked.slot[i]]
    before = -1 if code < 0 else walk.latest[code]
    if before < 0:
        walk.unit[i] = walk.sizes[1]
        walk.first[walk.sizes[1]] = i
        walk.sizes[1] += 1
    else:
        walk.unit[i] = walk.unit[before]
        walk.next[before] = i
    if code >= 0:
        walk.latest[code] = i
    walk.sizes[0] = i + 1


@kernel
def _panel(walk: Walk, store: Store, normal: Normal, start: int, ranked: Ranked, latest: Ints, x: float) -> float:
    """Where the panel below x ends; NaN if there is nothing below."""
    width = np.inf
    for i in range(walk.sizes[0]):
        slot = ranked.slot[i]
        error = normal.error[slot]
        if error > 0.0 and normal.mean[slot] - REACH * error < x:
            width = min(width, error)
    if width == np.inf:
        return _reaches(walk, store, start, ranked, latest, walk.sizes[0])
    low, i = x - width, walk.sizes[0]
    # Records that begin further down may need narrower panels; and none may hold a step.
    while True:
        reach = _reaches(walk, store, start, ranked, latest, i)
        if not reach > low:
            break
        error = normal.error[ranked.slot[i]]
        if error == 0.0:
            low = reach
            break
        low = max(low, min(reach, x - error))
        i += 1
    # What crowds a wide panel may lie far below a narrower one: it is halved, and not cut to what the crowd would want.
    # Where no number lies between its ends it stays as it is.
    while low < x:
        crowd = _crowd(store, normal, ranked, i, low, x)
        narrower = x - max(2.0 * DENSEST / crowd, 0.5 * (x - low))
        if 0.5 * (x - low) * crowd <= DENSEST or not low < narrower < x:
            return low
        low = narrower
    return float(np.nextafter(x, -np.inf))


@kernel
def _crowd(store: Store, normal: Normal, ranked: Ranked, count: int, low: float, x: float) -> float:
    """How dense the scores of the first records are near the panel from `low` to x, at most."""
    half, crowd = 0.5 * (x - low), 0.0
    for j in range(count):
        slot = ranked.slot[j]
        error = normal.error[slot]
        if error > 0.0:
            away = max(normal.mean[slot] - (x + 0.67 * half), (low - 0.67 * half) - normal.mean[slot])
            z = max(away, 0.0) / error
            crowd += store.p[slot] * density(normal.curve, z) / error
    return crowd


@inlined
def _mass(walk: Walk, store: Store, normal: Normal, ranked: Ranked, unit: int, x: float) -> float:
    """The probability that a record of this rule is above x, or a sure score at x that was walked into."""
    total, i = 0.0, walk.first[unit]
    while i >= 0:
        slot = ranked.slot[i]
        mean, error = normal.mean[slot], normal.error[slot]
        if error > 0.0:
            total += store.p[slot] * exceeds(normal.curve, (x - mean) / error)
        elif mean >= x:
            total += store.p[slot]
        i = walk.next[i]
    return min(total, 1.0)


@kernel
def _settle(walk: Walk, store: Store, normal: Normal, ranked: Ranked, x: float) -> int:
    """The row of the rules whose records are all surely above x, as a beginning for every node below it; `above` of the
    others, which are counted, is -1."""
    low = high = moving = 0
    for u in range(walk.sizes[1]):
        total, i = 0.0, walk.first[u]
        while i >= 0:
            slot = ranked.slot[i]
            if normal.mean[slot] - REACH * normal.error[slot] < x:
                total = -1.0
                moving += 1
                break
            total += store.p[slot]
            i = walk.next[i]
        walk.above[u] = total
        if total > 0.0:
            low, high = put_in(walk.base, low, high, total, 1.0, FLOOR, NEAR)
    walk.band[2], walk.band[3] = low, high
    return moving


@kernel
def _fill(walk: Walk, store: Store, normal: Normal, ranked: Ranked, x: float, settled: bool, work: Ints) -> None:
    """The row of how many are above x; `settled` where `_settle` has been asked about a higher place."""
    low, high, tiny = 0, 0, 0.0
    if settled:
        low, high = walk.band[2], walk.band[3]
        walk.row[low:high] = walk.base[low:high]
    for u in range(walk.sizes[1]):
        if settled and walk.above[u] >= 0.0:
            continue
        walk.mass[u] = mass = _mass(walk, store, normal, ranked, u, x)
        work[0] += high - low
        if mass <= TINY:
            tiny += mass
            mass = 0.0
            if tiny > TOGETHER:
                mass, tiny = tiny, 0.0
        if mass > 0.0:
            low, high = put_in(walk.row, low, high, mass, 1.0, FLOOR, NEAR)
    if tiny > 0.0:
        low, high = put_in(walk.row, low, high, tiny, 1.0, FLOOR, NEAR)
    walk.band[0], walk.band[1] = low, high


@inlined
def _entry(walk: Walk, j: int) -> float:
    """P(at most j are above), from the row."""
    return 0.0 if j < walk.band[0] else 1.0 if j >= walk.band[1] else float(walk.row[j])


@inlined
def _take_out(walk: Walk, mass: float, upto: int) -> None:
    """`without`: the row without one event of this mass, as far as the first `upto` entries need it. C[j] is
    (1 - q)·C'[j] + q·C'[j - 1]: upwards from where all is 0, or downwards from where all is 1."""
    low, high, row, out = walk.band[0], walk.band[1], walk.row, walk.without
    if mass <= 0.5:
        scale, before = 1.0 / (1.0 - mass), 0.0
        ratio = mass * scale
        for j in range(low, min(high, upto)):
            before = row[j] * scale - ratio * before
            out[j] = before
        return
    scale, after = 1.0 / mass, 1.0
    ratio = (1.0 - mass) * scale
    if high > 0:
        out[high - 1] = 1.0
    for j in range(high - 1, max(low, 1) - 1, -1):
        after = row[j] * scale - ratio * after
        out[j - 1] = after


@inlined
def _few(walk: Walk, mass: float, j: int) -> float:
    """P(at most j of the others are above), to first order where that is enough."""
    here = _entry(walk, j)
    if mass <= SLIGHT:
        return here + mass * (here - _entry(walk, j - 1))
    if mass >= 1.0 - SLIGHT:
        above = _entry(walk, j + 1)
        return above + (1.0 - mass) * (above - _entry(walk, j + 2))
    return _left(walk, mass, j)


@inlined
def _left(walk: Walk, mass: float, j: int) -> float:
    """P(at most j of the others are above), from what `_take_out` left."""
    low, high = walk.band[0] - (mass > 0.5), walk.band[1]
    return 0.0 if j < low else 1.0 if j >= high else float(walk.without[j])


@inlined
def _slight(mass: float) -> bool:
    """Taken out to first order: the row itself says enough."""
    return mass <= SLIGHT or mass >= 1.0 - SLIGHT


@kernel
def _add_all(walk: Walk, store: Store, normal: Normal, ranked: Ranked, low: float, high: float, value: Floats) -> None:
    """Add what the panel (low, high) holds where every record in it is in the top k."""
    for i in range(walk.sizes[0]):
        slot = ranked.slot[i]
        mean, error = normal.mean[slot], normal.error[slot]
        if error > 0.0 and mean - REACH * error < high:
            share = exceeds(normal.curve, (low - mean) / error) - exceeds(normal.curve, (high - mean) / error)
            for a in range(len(value)):
                value[a, i] += store.p[slot] * share


@kernel
def _integrate(
    asks: Asks, walk: Walk, store: Store, normal: Normal, ranked: Ranked, low: float, high: float, value: Floats,
    work: Ints,
) -> None:  # fmt: skip
    """Add what the panel (low, high) holds."""
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    most = asks.k.max()
    if not _settle(walk, store, normal, ranked, high):
        return
    for node in range(len(NODES)):
        x, weight = middle + half * NODES[node], half * WEIGHTS[node]
        _fill(walk, store, normal, ranked, x, True, work)
        for u in range(walk.sizes[1]):
            if walk.above[u] >= 0.0:
                continue
            mass, ready = walk.mass[u], False
            i = walk.first[u]
            while i >= 0:
                slot = ranked.slot[i]
                error = normal.error[slot]
                z = (x - normal.mean[slot]) / error if error > 0.0 else np.inf
                if abs(z) < REACH:
                    if not ready and not _slight(mass):
                        _take_out(walk, mass, most)
                        work[0] += walk.band[1] - walk.band[0]
                    ready = True
                    share = weight * store.p[slot] * density(normal.curve, z) / error
                    for a in range(len(asks.k)):
                        value[a, i] += share * _few(walk, mass, asks.k[a] - 1)
                i = walk.next[i]


@kernel
def _step(
    asks: Asks, walk: Walk, store: Store, normal: Normal, ranked: Ranked, x: float, value: Floats, work: Ints
) -> None:
    """The next record, whose score surely is x: those of equal score that rank before it were walked into."""
    here = walk.sizes[0]
    slot = ranked.slot[here]
    _fill(walk, store, normal, ranked, x, False, work)
    code, own = store.code[slot], 0.0
    if code >= 0 and walk.latest[code] >= 0:
        own = walk.mass[walk.unit[walk.latest[code]]]
        _take_out(walk, own, asks.k.max())
    for a in range(len(asks.k)):
        few = _left(walk, own, asks.k[a] - 1) if own > 0.0 else _entry(walk, asks.k[a] - 1)
        value[a, here] = store.p[slot] * few


@kernel
def normal_answer(
    value: Floats, k: int, level: float, store: Store, normal: Normal, start: int, ranked: Ranked, latest: Ints
) -> tuple[Ints, Floats]:
    """What one ask reports: places in `ranked` and probabilities, the likeliest first; equals by mean, newer first."""
    n = fetch(store, start, ranked, latest, min(k, len(ranked.slot)))
    slot = ranked.slot[:n]
    for i in range(n):
        value[i] = min(value[i], store.p[slot[i]])
    newest = np.argsort(-slot)
    by_mean = newest[np.argsort(-normal.mean[slot[newest]], kind="mergesort")]
    order = by_mean[best_first(value[by_mean], np.arange(n))]
    size = min(k, n)
    if level > 0.0:
        size = 0
        while size < n and value[order[size]] >= level - ROUNDING:
            size += 1
    return order[:size], value[order[:size]]
