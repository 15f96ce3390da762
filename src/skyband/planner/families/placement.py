"""Queries that run already stay in the families they are in, whoever comes or goes: where state is kept by the name of
a family, a query in another one would begin anew.

A multi-score family is named by its windows and attributes, and which those are follows from all queries together. So a
checkpoint notes them, and a plan that goes on from it is made around what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from skyband.model.many import Attribute
from skyband.planner.families.family import Family

if TYPE_CHECKING:
    from skyband.planner.plan import Plan

Attributes = tuple[Attribute, ...]
Placement = Mapping[str, Attributes]
"""By query, as text: the attributes of the multi-score family that it is in; none if it is in another family."""
Noted = dict[str, list[list[str | bool]]]
"""The same as JSON has it, of the queries that are in multi-score families."""
NOWHERE: Placement = {}


def noted(plan: Plan) -> Noted:
    return {
        str(query): [[each.text, each.condition] for each in planned.family.attributes]
        for planned in plan.families
        if planned.family.attributes
        for query in planned.family.queries
    }


def read(noted: Noted, queries: Iterable[str]) -> Placement:
    """Of these queries, as texts."""
    return {
        text: tuple(Attribute(str(name), bool(condition)) for name, condition in noted.get(text, ()))
        for text in queries
    }


def placed(
    families: Sequence[Family], needs: Callable[[Family], Set[Attribute]], placement: Placement
) -> tuple[dict[Attributes, list[Family]], list[Family]]:
    """Of families over one window: those that are in a multi-score family, or find all that they need there, by its
    attributes; and those that are in none yet. Who runs apart is left out, with all who share its candidates."""
    known, new = dict[Attributes, list[Family]](), list[Family]()
    for family in families:
        parts = _parts(family, needs(family), placement)
        for attributes, part in parts.items():
            if attributes:
                known.setdefault(attributes, []).append(part)
            elif attributes is None and () not in parts:
                new.append(part)
    rest = list[Family]()
    for part in new:
        fitting = next((attributes for attributes in known if needs(part) <= set(attributes)), None)
        (rest if fitting is None else known[fitting]).append(part)
    return known, rest


def _parts(family: Family, needs: Set[Attribute], placement: Placement) -> dict[Attributes | None, Family]:
    """The family's queries by where they are; None: nowhere yet."""
    members: dict[Attributes | None, list[int]] = {}
    for number, query in enumerate(family.queries):
        there = placement.get(str(query))
        # An earlier release may have taken the score apart in another way.
        fits = not there or needs <= set(there)
        members.setdefault(there if fits else None, []).append(number)
    return {attributes: family.of(numbers) for attributes, numbers in members.items()}
