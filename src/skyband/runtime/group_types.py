"""Types of what queries over groups show, as far as a stream's columns are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import pyarrow as pa

from skyband.errors import SkybandError
from skyband.language import OverAggregates, compile_shown, over_aggregates
from skyband.language.expressions.group_types import Types, argument_type, result_type
from skyband.model import Query
from skyband.model.grouping import Aggregate

SHOWN = "={}"
"""Of answers: what an expression of SELECT is."""


def aggregate_schema(taken: OverAggregates, types: Types, groups: Mapping[str, pa.DataType] | None = None) -> pa.Schema:
    named = {name: result_type(each, types) for name, each in taken.aggregates.items()}
    return pa.schema([*named.items(), *(groups or {}).items()])


def item_type(text: str, types: Types, groups: Mapping[str, pa.DataType]) -> pa.DataType:
    """Of an expression of SELECT."""
    if text in groups:
        return groups[text]
    taken = over_aggregates(text)
    if taken.skeleton.strip() in taken.aggregates:
        return result_type(next(iter(taken.aggregates.values())), types)
    return compile_shown(taken.skeleton, aggregate_schema(taken, types, groups)).arrow


def argument_types(aggregates: Sequence[Aggregate], schema: pa.Schema, stream: str) -> dict[str, pa.DataType]:
    texts = dict.fromkeys(each.argument for each in aggregates if each.argument != "*")
    return {text: argument_type(text, schema, stream) for text in texts}


@lru_cache(4096)
def group_types(query: Query, schema: pa.Schema, stream: str) -> list[pa.DataType]:
    """Of the score, and of what is shown. What is wrong is told where it is compiled."""
    assert query.grouping is not None
    groups = {name: schema.field(name).type for name in query.grouping.columns if name in schema.names}
    texts = [query.by, *(item.by for item in query.grouping.items)]
    try:
        types = argument_types(query.grouping.aggregates or (), schema, stream)
        return [item_type(text, types, groups) for text in texts]
    except SkybandError:
        return [pa.float64()] * len(texts)
