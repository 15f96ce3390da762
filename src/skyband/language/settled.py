"""Queries made ready to plan: what their texts say beyond one record, worked out once."""

from __future__ import annotations

from copy import copy

from skyband.errors import SkybandError
from skyband.language.clauses.grouping import settled_groups
from skyband.language.expressions.attributes import attribute_score
from skyband.model import Query
from skyband.model.frozen import set_fields


def settled(query: Query) -> Query:
    """A query over groups in its normal form, one over objects that an expression ranks with that compiled; any other
    as it is."""
    if query.grouping is not None:
        return settled_groups(query)
    if query.across is None or not query.across.named or query.combination is not None:
        return query
    same = copy(query)
    try:
        set_fields(same, combination=attribute_score(query))
    except SkybandError as wrong:
        wrong.message = f"query {query.name}: {wrong.message}"
        raise
    return same
