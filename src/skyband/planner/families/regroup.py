"""Plans that grew: queries that joined or left at run time, in the families they are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skyband.engines.codec import ANEW
from skyband.errors import SkybandError
from skyband.model import DOUBLE, Query, Stream
from skyband.model.many import Attribute
from skyband.planner.choice import Choice
from skyband.planner.families import families
from skyband.planner.families.family import ScoreTypeOf
from skyband.planner.families.multi_score import ShapeOf, regrouped as as_multi_score
from skyband.planner.plan import Plan, PlannedFamily, choose


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
    def alike(some: Sequence[Group], others: Sequence[Group]) -> bool:
        """The same queries share families, whoever serves them."""
        one, other = (sorted((each.queries, each.attributes) for each in groups) for groups in (some, others))
        return one == other

    @staticmethod
    def of(planned: PlannedFamily) -> Group:
        family = planned.family
        columns = [(each.text, each.condition) for each in family.attributes]
        return Group(planned.choice.engine, planned.choice.reason, [query.name for query in family.queries], columns)


def _no_family(group: Group) -> SkybandError:
    return SkybandError(
        f"a snapshot has queries {', '.join(group.queries)} in one family, served by {group.engine}",
        expected="a family that the planner makes",
        hint=ANEW,
    )


def regrouped(
    streams: Sequence[Stream],
    queries: Sequence[Query],
    groups: Sequence[Group],
    canonical: Callable[[str], str],
    shape: ShapeOf,
    score_type: ScoreTypeOf = lambda stream, by: DOUBLE,
) -> Plan:
    """The plan with exactly these families."""
    place = {query.name: number for number, query in enumerate(queries)}
    planned = []
    for group in groups:
        places = tuple(place[name] for name in group.queries)
        members = tuple(queries[number] for number in places)
        (family, *others) = families(streams, members, canonical, score_type)
        if others and not group.attributes:
            raise _no_family(group)
        family = replace(family, queries=members, places=places)
        if group.attributes:
            family = as_multi_score(family, tuple(Attribute(*each) for each in group.attributes), shape)
        if group.engine not in (choose(family).engine, choose(family, group.engine).engine):
            raise _no_family(group)
        planned.append(PlannedFamily(family, Choice(group.engine, group.reason)))
    if sorted(number for each in planned for number in each.family.places) != list(range(len(queries))):
        raise SkybandError("the families of a snapshot do not have each of its queries once", hint=ANEW)
    return Plan(tuple(streams), tuple(queries), tuple(planned))
