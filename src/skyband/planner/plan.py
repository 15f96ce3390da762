"""The plan: families, each with its meta query and engine. `explain` prints it; Monitor and Spark run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from skyband.engines.base import AnyEngine, registered, registration
from skyband.engines.lift import lifted
from skyband.model import DOUBLE, MetaQuery, Query, Stream
from skyband.model.collector import collector_paused
from skyband.planner.choice import Choice
from skyband.planner.families import KINDS, Family, families
from skyband.planner.families.family import ScoreTypeOf
from skyband.planner.families.multi_score import ShapeOf, multi_score
from skyband.planner.families.placement import NOWHERE, Placement


@dataclass(frozen=True)
class PlannedFamily:
    family: Family
    choice: Choice
    parts: int | None = None
    """Into how many its state is split on Spark, where it can be; None: as many as it is where nobody says."""

    @cached_property
    def meta(self) -> MetaQuery:
        return KINDS[self.family.data_model].meta(self.family)

    def build(self) -> AnyEngine:
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
    parts: int | None = None

    def in_parts(self, parts: int | None) -> Plan:
        """The same with so many parts of state for each family."""
        return replace(self, families=tuple(replace(each, parts=parts) for each in self.families), parts=parts)


@collector_paused()
def plan(
    streams: Sequence[Stream],
    queries: Sequence[Query],
    canonical: Callable[[str], str],
    engine: str | None = None,
    shape: ShapeOf | None = None,
    score_type: ScoreTypeOf = lambda stream, by: DOUBLE,
    placement: Placement = NOWHERE,
) -> Plan:
    """`shape` takes scores apart; `score_type` knows their types, as far as columns are known; `placement` says of
    queries that run already where they are."""
    found = families(streams, queries, canonical, score_type)
    # An index of many scores is over the columns of a stream.
    alone = [family for family in found if family.join is None]
    merged = multi_score(alone, shape, engine, placement) if shape is not None else []
    taken = {place for family, _ in merged for place in family.places}
    planned = [PlannedFamily(family, choice) for family, choice in merged]
    planned += [PlannedFamily(family, _choose_alone(family, engine)) for family in _without(found, taken)]
    planned.sort(key=lambda each: each.family.places[0])
    return Plan(tuple(streams), tuple(queries), tuple(planned))


def choose(family: Family, forced: str | None = None) -> Choice:
    """Which engine serves a family, and why; `forced` was asked for."""
    return KINDS[family.data_model].choose(family, forced)


def _choose_alone(family: Family, engine: str | None) -> Choice:
    """Of a family that is in no multi-score family: an engine for those, which was asked for, cannot serve it."""
    if engine not in registered("multi_score"):
        return choose(family, engine)
    usual = choose(family)
    why = f"{engine}, which was asked for, takes records with one sure score, without PER"
    return Choice(usual.engine, f"{usual.reason} ({why})")


def _without(found: Sequence[Family], taken: set[int]) -> list[Family]:
    """Families of the queries that are in no multi-score family."""
    left = ((family, [i for i, place in enumerate(family.places) if place not in taken]) for family in found)
    return [family.of(these) if len(these) < len(family.queries) else family for family, these in left if these]
