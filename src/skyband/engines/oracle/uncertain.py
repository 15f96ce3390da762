"""The slow, obvious answers for uncertain data: every possible world of a window, and the paper's two recurrences.

Written from the semantics alone. Probabilities may be floats or Fractions: with Fractions everything here is exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

TOLERANCE = 1e-9
"""How far a rule's total may exceed 1 before a record of it is left out."""
EQUAL = 1e-12
"""Figures this close are equal: the better score first."""


class Tuple(NamedTuple):
    """A record of a window. `rule` is None where nothing excludes it; `row` says which one it is."""

    p: Any
    rule: Hashable = None
    row: Any = None


World = tuple[int, ...]
"""Ranks (from 0) of the records that exist in it, best first."""


def fitting(in_time_order: Iterable[Tuple]) -> list[bool]:
    """Which records of a report count: one that would push its rule's total above 1 is left out."""
    total: dict[Hashable, Any] = {}
    fits = []
    for record in in_time_order:
        grown = record.p if record.rule is None else total.get(record.rule, 0) + record.p
        fits.append(grown <= 1 + TOLERANCE)
        if record.rule is not None and fits[-1]:
            total[record.rule] = grown
    return fits


def worlds(ranked: Sequence[Tuple]) -> Iterator[tuple[Any, World]]:
    """Every possible world of records given best first, with its probability."""
    members: dict[Hashable, list[int]] = {}
    for rank, record in enumerate(ranked):
        members.setdefault(("free", rank) if record.rule is None else ("rule", record.rule), []).append(rank)
    choices = []
    for ranks in members.values():
        absent = 1 - sum(ranked[rank].p for rank in ranks)
        choices.append([(max(absent, 0), ()), *((ranked[rank].p, (rank,)) for rank in ranks)])
    for chosen in product(*choices):
        probability: Any = 1
        for part, _ in chosen:
            probability *= part
        yield probability, tuple(sorted(rank for _, some in chosen for rank in some))


def top_k_probabilities(ranked: Sequence[Tuple], k: int) -> list[Any]:
    """By enumeration: the total probability of the worlds in which each record is among the k first."""
    found: list[Any] = [0] * len(ranked)
    for probability, world in worlds(ranked):
        for rank in world[:k]:
            found[rank] += probability
    return found


def answer_lists(ranked: Sequence[Tuple], k: int) -> dict[World, Any]:
    """The probability of every answer list; a world with fewer than k records answers with all it has."""
    found: dict[World, Any] = {}
    for probability, world in worlds(ranked):
        found[world[:k]] = found.get(world[:k], 0) + probability
    return found


def rank_probabilities(ranked: Sequence[Tuple], k: int) -> list[list[Any]]:
    """`[j][i]`: the probability that record i holds rank j (from 0)."""
    found: list[list[Any]] = [[0] * len(ranked) for _ in range(k)]
    for probability, world in worlds(ranked):
        for place, rank in enumerate(world[:k]):
            found[place][rank] += probability
    return found


def expected_ranks(ranked: Sequence[Tuple]) -> list[Any]:
    """Ranks from 0; an absent record ranks behind the whole world."""
    found: list[Any] = [0] * len(ranked)
    for probability, world in worlds(ranked):
        place = {rank: number for number, rank in enumerate(world)}
        for rank in range(len(ranked)):
            found[rank] += probability * place.get(rank, len(world))
    return found


def highest(values: Sequence[Any], k: int) -> list[int]:
    """The k records with the highest values; those that equal the best of the rest are taken by rank order."""
    left = sorted(range(len(values)), key=lambda rank: (-values[rank], rank))
    found: list[int] = []
    while left:
        equal = [rank for rank in left if values[left[0]] - values[rank] <= EQUAL]
        found += sorted(equal)
        left = left[len(equal) :]
    return found[:k]


def recurrence(ranked: Sequence[Tuple], k: int) -> list[Any]:
    """Theorem 3.1, O(n·k): records without rules. `above[j]` is the probability that j higher ones exist."""
    above: list[Any] = [1] + [0] * (k - 1)
    found = []
    for record in ranked:
        found.append(record.p * sum(above))
        _put_in(above, record.p)
    return found


def recurrence_with_rules(ranked: Sequence[Tuple], k: int) -> list[Any]:
    """Theorem 3.2, O(n²·k): for each record the higher ones of every other rule are merged into one."""
    found = []
    for rank, record in enumerate(ranked):
        mass: dict[Hashable, Any] = {}
        for place, higher in enumerate(ranked[:rank]):
            if higher.rule is None or higher.rule != record.rule:
                name = ("free", place) if higher.rule is None else ("rule", higher.rule)
                mass[name] = mass.get(name, 0) + higher.p
        above: list[Any] = [1] + [0] * (k - 1)
        for merged in mass.values():
            _put_in(above, min(merged, 1))
        found.append(record.p * sum(above))
    return found


def _put_in(above: list[Any], p: Any) -> None:
    for j in range(len(above) - 1, 0, -1):
        above[j] = above[j] * (1 - p) + above[j - 1] * p
    above[0] *= 1 - p
