"""The plan: families, each with its meta query and engine. `explain` prints it; Monitor and Spark run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from skyband.engines.base import Engine, registered_many, registration
from skyband.engines.lift import lifted
from skyband.model import MetaQuery, Query, Stream
from skyband.planner.boards import ShapeOf, boards
from skyband.planner.choose import Choice, choose
from skyband.planner.families import Family, families


@dataclass(frozen=True)
class PlannedFamily:
    family: Family
    choice: Choice

    @cached_property
    def meta(self) -> MetaQuery:
        return self.family.meta()

    def build(self) -> Engine:
        """A new engine for (one PER group of) the family."""
        known = registration(self.choice.engine)
        if known.capabilities.several_queries or len(self.meta) == 1:
            return known.build(self.meta)
        return lifted(self.meta, known.build)


@dataclass(frozen=True)
class Plan:
    streams: tuple[Stream, ...]
    queries: tuple[Query, ...]
    families: tuple[PlannedFamily, ...]


def plan(
    streams: Sequence[Stream],
    queries: Sequence[Query],
    canonical: Callable[[str], str],
    engine: str | None = None,
    shape: ShapeOf | None = None,
) -> Plan:
    """`shape` takes scores apart."""
    found = families(streams, queries, canonical)
    on_boards = boards(found, shape, engine) if shape is not None else []
    taken = {place for family, _ in on_boards for place in family.places}
    planned = [PlannedFamily(family, choice) for family, choice in on_boards]
    alone = None if engine in registered_many() else engine
    planned += [PlannedFamily(family, choose(family, alone)) for family in _without(found, taken)]
    planned.sort(key=lambda each: each.family.places[0])
    return Plan(tuple(streams), tuple(queries), tuple(planned))


def _without(found: Sequence[Family], taken: set[int]) -> list[Family]:
    """Families of the queries that are on no board."""
    rest = []
    for family in found:
        left = [i for i, place in enumerate(family.places) if place not in taken]
        if left:
            queries, places = tuple(family.queries[i] for i in left), tuple(family.places[i] for i in left)
            rest.append(replace(family, queries=queries, places=places))
    return rest
