"""The plan: families, each with its meta query and engine. `explain` prints it; Monitor and Spark run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from skyband.engines.base import Engine, registration
from skyband.engines.lift import lifted
from skyband.model import MetaQuery, Query, Stream
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
) -> Plan:
    found = families(streams, queries, canonical)
    return Plan(
        tuple(streams), tuple(queries), tuple(PlannedFamily(family, choose(family, engine)) for family in found)
    )
