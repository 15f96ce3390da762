"""Plans that grew: queries that joined or left at run time, in the families they are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from skyband.model import Query, Stream
from skyband.model.many import Attribute
from skyband.planner.boards import ShapeOf
from skyband.planner.choose import Choice
from skyband.planner.families import Family, families
from skyband.planner.plan import Plan, PlannedFamily

T = TypeVar("T")


@dataclass(frozen=True)
class Group:
    """Which queries share a family, and who serves it: what a snapshot says of a plan."""

    engine: str
    reason: str
    queries: list[str]
    attributes: list[tuple[str, bool]]

    @staticmethod
    def read(group: dict[str, Any]) -> Group:
        """From what `asdict` and JSON made of it."""
        return Group(**group | {"attributes": [(text, condition) for text, condition in group["attributes"]]})

    @staticmethod
    def of(planned: PlannedFamily) -> Group:
        family = planned.family
        columns = [(each.text, each.condition) for each in family.attributes]
        return Group(planned.choice.engine, planned.choice.reason, [query.name for query in family.queries], columns)


def regrouped(
    streams: Sequence[Stream],
    queries: Sequence[Query],
    groups: Sequence[Group],
    canonical: Callable[[str], str],
    shape: ShapeOf,
) -> Plan:
    """The plan with exactly these families."""
    place = {query.name: number for number, query in enumerate(queries)}
    planned = []
    for group in groups:
        places = tuple(place[name] for name in group.queries)
        (family, *_) = families(streams, [queries[number] for number in places], canonical)
        members = tuple(queries[number] for number in places)
        if group.attributes:
            family = as_board(family, members, tuple(Attribute(*each) for each in group.attributes), shape)
        planned.append(
            PlannedFamily(replace(family, queries=members, places=places), Choice(group.engine, group.reason))
        )
    return Plan(tuple(streams), tuple(queries), tuple(planned))


def as_board(family: Family, queries: tuple[Query, ...], attributes: tuple[Attribute, ...], shape: ShapeOf) -> Family:
    shapes = tuple(shape(query.by, query.where) for query in queries)
    return replace(
        family,
        by="",
        ascending=False,
        where=None,
        thresholds=False,
        queries=queries,
        shapes=shapes,
        attributes=attributes,
    )


def without(family: Family, which: int) -> Family:
    """The family without its query number `which`; places stay."""
    return replace(
        family,
        queries=_left(family.queries, which),
        places=_left(family.places, which),
        shapes=_left(family.shapes, which),
    )


def _left(values: tuple[T, ...], which: int) -> tuple[T, ...]:
    return values[:which] + values[which + 1 :]


def renumbered(family: Family, place: dict[str, int]) -> Family:
    """The same queries at their places in another workload."""
    return replace(family, places=tuple(place[query.name] for query in family.queries))
