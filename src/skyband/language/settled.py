"""Queries made ready to plan: what their texts say beyond one record, worked out once."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

from skyband.errors import SkybandError
from skyband.language.clauses.grouping import settled_groups
from skyband.language.expressions.aliases import written_out
from skyband.language.expressions.attributes import attribute_score
from skyband.model import Query
from skyband.model.frozen import set_fields
from skyband.model.query import said_of


def settled(query: Query) -> Query:
    """A query over groups in its normal form, one over objects that an expression ranks with that compiled, and of any
    other the names of SELECT that it ranks by written out."""
    if query.grouping is not None:
        return settled_groups(query)
    if query.across is None:
        return _without_aliases(query)
    if not query.across.named or query.combination is not None:
        return query
    same = copy(query)
    try:
        set_fields(same, combination=attribute_score(query))
    except SkybandError as wrong:
        wrong.message = f"query {query.name}: {wrong.message}"
        raise
    return same


def _without_aliases(query: Query) -> Query:
    if query.stream is None or not query.items:
        return query
    same, then = copy(query), query.then
    with said_of(query.name):
        set_fields(same, by=written_out(query.by, query.items, query.stream))
        if then is not None:
            set_fields(same, then=replace(then, by=written_out(then.by, query.items, query.stream)))
    return same
