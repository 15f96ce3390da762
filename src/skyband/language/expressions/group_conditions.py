"""HAVING on the columns of a group. Such a column has one value in all its records: what is computed of it can be
computed of each record and summed up as any other aggregate, so that nothing else is kept of a group."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from skyband.language.expressions.aggregates import STANDS_IN, OverAggregates, over_aggregates
from skyband.language.expressions.expression import REMEMBERED, read
from skyband.language.expressions.functions import FUNCTIONS
from skyband.language.expressions.nodes import ALIASES, Call, Literal, Name, Node, Place, names
from skyband.language.expressions.printing import canonical_text
from skyband.language.expressions.types import Type
from skyband.model.grouping import Aggregate

_NOWHERE = Place(0, 0)


@lru_cache(REMEMBERED)
def of_groups(condition: str) -> OverAggregates:
    """A condition over aggregates and columns of the group, as one over aggregates alone.

    >>> of_groups("client = 'a' AND COUNT(*) > 5").text
    "SUM(CASE WHEN client = 'a' THEN 1 WHEN NOT client = 'a' THEN 0 ELSE NULL END) > 0 AND COUNT(*) > 5"
    >>> of_groups("COUNT(*) > host + 1").text
    'COUNT(*) > MAX(host + 1)'
    """
    taken = over_aggregates(condition)
    if not taken.columns:
        return taken
    known = dict(taken.aggregates)
    node = _lifted(read(taken.skeleton), known, is_condition=True)
    return over_aggregates(STANDS_IN.sub(lambda name: str(known[name[0]]), canonical_text(node)))


def _lifted(node: Node, known: dict[str, Aggregate], is_condition: bool) -> Node:
    """With an aggregate in place of each part that no aggregate goes into, as large as it can be."""
    mentioned = {name.name for name in names(node)}
    if mentioned <= known.keys():
        return node
    if not mentioned & known.keys():
        return _aggregated(node, known, is_condition)
    assert isinstance(node, Call)
    args = (_lifted(arg, known, _wants_condition(node, place)) for place, arg in enumerate(node.args))
    return replace(node, args=tuple(args))


def _aggregated(node: Node, known: dict[str, Aggregate], is_condition: bool) -> Node:
    """Its value in every record of the group. A condition is NULL where it is so for them."""
    if not (is_condition or _is_condition(node)):
        return _named(Aggregate("MAX", canonical_text(node)), known)
    zero, one = Literal(0, Type.BIGINT, _NOWHERE), Literal(1, Type.BIGINT, _NOWHERE)
    turned = Call("not", (node,), _NOWHERE)
    holds = Call("case", (node, one, turned, zero, Literal(None, Type.VOID, _NOWHERE)), _NOWHERE)
    return Call(">", (_named(Aggregate("SUM", canonical_text(holds)), known), zero), _NOWHERE)


def _named(aggregate: Aggregate, known: dict[str, Aggregate]) -> Name:
    name = f"_a{len(known)}_"
    while name in known:
        name += "_"
    known[name] = aggregate
    return Name(name, None, _NOWHERE)


def _is_condition(node: Node) -> bool:
    function = FUNCTIONS.get(_name(node)) if isinstance(node, Call) else None
    return function is not None and function.overloads[0].result is Type.BOOLEAN


def _wants_condition(node: Call, place: int) -> bool:
    """Whether an operand is true or false by what it is for."""
    if _name(node) == "case":
        return place % 2 == 0 and place + 1 < len(node.args)
    return _name(node) in ("and", "or", "not")


def _name(node: Call) -> str:
    return ALIASES.get(node.function, node.function)
