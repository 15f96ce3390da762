"""The slow, obvious answer for objects whose attributes arrive apart: a window read from scratch.

Written from the semantics alone. Sums are exact and rounded once (`fsum`), so an answer does not depend on the order in
which equal windows were put together; a mean is such a sum, divided. An object whose score is no number (infinity times
zero) is not ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import fsum, isfinite, isnan, nan, prod
from typing import Any, NamedTuple

import numpy as np

from skyband.model.apart import Assembly


class Sighting(NamedTuple):
    """A value of an object in a stream. `row` says which record it is."""

    at: int
    object: Any
    stream: int
    value: float
    row: Any = None


class Ranked(NamedTuple):
    """An object of a report; `newest` is its last value inside the window by feed order."""

    object: Any
    score: float
    newest: Sighting


def total(parts: Sequence[float]) -> float:
    """Exact, rounded once; `fsum` does not take infinities of both signs."""
    return fsum(parts) if all(map(isfinite, parts)) else sum(parts)


def attribute(assembly: Assembly, values: Sequence[float]) -> float:
    """An object's values in one stream, in feed order, as one number; there is at least one."""
    if assembly.collect == "SUM":
        return total(values)
    if assembly.collect == "AVG":
        return total(values) / len(values)
    return max(values) if assembly.collect == "MAX" else values[-1]


def score(assembly: Assembly, values: dict[int, list[float]]) -> float:
    """The score of an object with these values by stream. Where the streams are not declared, one without values adds
    nothing to a sum and is passed over by a maximum."""
    if len(assembly):
        parts = [
            float(assembly.weight[x]) * (attribute(assembly, values[x]) if x in values else float(assembly.low[x]))
            for x in range(len(assembly))
        ]
    else:
        parts = [attribute(assembly, values[x]) for x in sorted(values)]
    if any(map(isnan, parts)):
        return nan
    if assembly.score is not None:
        return float(assembly.score(np.array(parts)[:, None])[0])
    made: dict[str, Callable[[list[float]], float]] = {"SUM": total, "MAX": max, "MIN": min, "PRODUCT": prod}
    return float(made[assembly.combine](parts))


def ranking(assembly: Assembly, window: Iterable[Sighting], ascending: bool = False) -> list[Ranked]:
    """Every object of a window, best first. `window` is in feed order: by time, and of equal times the larger object
    first; so of equal scores the object whose newest value was fed later is first."""
    values: dict[Hashable, dict[int, list[float]]] = {}
    newest: dict[Hashable, tuple[int, Sighting]] = {}
    for place, sighting in enumerate(window):
        values.setdefault(sighting.object, {}).setdefault(sighting.stream, []).append(sighting.value)
        newest[sighting.object] = place, sighting
    found = []
    for name, own in values.items():
        own_score = score(assembly, own) + 0.0
        if not isnan(own_score):
            ranked = Ranked(name, own_score, newest[name][1])
            found.append((own_score if ascending else -own_score, -newest[name][0], ranked))
    return [ranked for _, _, ranked in sorted(found, key=lambda each: each[:2])]


def above(ranked: Iterable[Ranked], threshold: float) -> list[Ranked]:
    """Of ranked objects those with a score above this, in their order."""
    return [each for each in ranked if each.score > threshold]


def report(
    assembly: Assembly, fed: Iterable[Sighting], start: int, end: int, k: int, ascending: bool = False
) -> list[Ranked]:
    """The k best objects of [start, end), from everything ever fed, in feed order."""
    return ranking(assembly, (sighting for sighting in fed if start <= sighting.at < end), ascending)[:k]
