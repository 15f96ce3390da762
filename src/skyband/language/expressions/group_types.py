"""Types of aggregates and of what is made of them, as far as a stream's columns are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from skyband.errors import SkybandError, Span
from skyband.language.expressions.aggregates import OverAggregates, over_aggregates
from skyband.language.expressions.bind import find_column
from skyband.language.expressions.compiled import check_filter, check_score, compile_number, compile_score
from skyband.language.expressions.expression import read
from skyband.language.expressions.group_conditions import of_groups
from skyband.language.expressions.nodes import Name
from skyband.language.expressions.order_key import DIGITS_OF_INTEGER
from skyband.language.expressions.shown import check_shown
from skyband.model.grouping import Aggregate

MORE_DIGITS = 10
"""Of a sum of decimals than of its terms, as in Spark."""
Types = Mapping[str, pa.DataType]
"""Of arguments, by their texts."""


def argument_name(text: str, schema: pa.Schema) -> str | None:
    """The column that an argument is, if it is nothing more."""
    node = read(text)
    return find_column(node.name, schema.names) if isinstance(node, Name) else None


def argument_type(text: str, schema: pa.Schema, stream: str) -> pa.DataType:
    if (name := argument_name(text, schema)) is not None:
        return plain_type(schema.field(name).type)
    return compile_score(text, schema, stream=stream).arrow


def plain_type(kind: pa.DataType) -> pa.DataType:
    """In which values are summed up: an integer is a BIGINT, a DECIMAL of up to 18 digits is itself, and any other
    number is a DOUBLE, as in scores."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if is_exact_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return pa.int64()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or kind == pa.uint64():
        return pa.float64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return kind


def is_exact_decimal(kind: pa.DataType) -> bool:
    """Whether 64 bits hold its values."""
    return bool(pa.types.is_decimal(kind)) and 0 <= kind.scale <= kind.precision <= DIGITS_OF_INTEGER


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind)) or is_exact_decimal(kind)


def is_ordered(kind: pa.DataType) -> bool:
    """Whether values of that type have an order key."""
    return is_number(kind) or bool(pa.types.is_temporal(kind) or pa.types.is_boolean(kind))


def result_type(aggregate: Aggregate, types: Types) -> pa.DataType:
    if aggregate.function == "COUNT":
        return pa.int64()
    kind = types[aggregate.argument]
    if aggregate.function == "SUM" and is_exact_decimal(kind):
        return pa.decimal128(min(kind.precision + MORE_DIGITS, DIGITS_OF_INTEGER), kind.scale)
    return pa.float64() if aggregate.function == "AVG" else kind


def check_aggregate(aggregate: Aggregate, types: Types, ranks: bool = False) -> None:
    """Refuse one that cannot be made of its argument, or, where it `ranks`, a LAST that cannot be compared."""
    if aggregate.function == "COUNT":
        return
    kind, text = types[aggregate.argument], aggregate.argument
    if aggregate.function in ("SUM", "AVG") and not is_number(kind):
        raise SkybandError(
            f"SUM or AVG of {text}, which is of type {kind}",
            expected="a number",
            hint=f"unix_micros({text}) makes a number of a time" if pa.types.is_temporal(kind) else None,
        )
    if is_ordered(kind):
        return
    if aggregate.function in ("MIN", "MAX"):
        raise SkybandError(
            f"{aggregate} of a column of type {kind}",
            expected="a number, a time or a BOOLEAN",
            hint=f"LAST({text}) takes columns of any type",
        )
    if ranks:
        raise SkybandError(
            f"{aggregate} in HAVING or ORDER BY, which is of type {kind}",
            expected="a number, a time or a BOOLEAN",
            hint="LAST of any other type can be selected",
        )


@dataclass(frozen=True)
class GroupTypes:
    """What is known of a query over groups whose stream declares its columns."""

    schema: pa.Schema
    stream: str
    groups: tuple[str, ...]

    def check(self, text: str, clause: str, span: Span) -> None:
        """What stands there at `span`."""
        taken = over_aggregates(text, span.source, span.start)
        self._check_aggregates(taken, clause, span)
        if clause == "SELECT" and taken.skeleton.strip() in taken.aggregates:
            return
        check = {"SELECT": check_shown, "ORDER BY": check_score, "HAVING": check_filter}[clause]
        check(taken.skeleton, self._schema(taken), self.stream, span.source, span.start)
        if clause == "HAVING":
            self._check_beside(text, taken, span)

    def check_number(self, ranked: str, span: Span) -> None:
        """What a threshold is compared with."""
        taken = over_aggregates(ranked)
        try:
            compile_number(taken.skeleton, self._schema(taken))
        except SkybandError as error:
            error.span = span
            raise

    def _check_beside(self, having: str, taken: OverAggregates, span: Span) -> None:
        """Columns of the group that are compared with aggregates can be kept with them."""
        mine = taken.aggregates.values()
        for aggregate in of_groups(having).aggregates.values():
            kinds = self._types(aggregate)
            if aggregate not in mine and not all(map(is_ordered, kinds.values())):
                raise SkybandError(
                    f"`{aggregate.argument}` beside aggregates in HAVING, which is of type {kinds[aggregate.argument]}",
                    expected="a number, a time or a BOOLEAN, or a condition on it alone",
                    span=span,
                )

    def _check_aggregates(self, taken: OverAggregates, clause: str, span: Span) -> None:
        for name, aggregate in taken.aggregates.items():
            start = span.start + taken.skeleton.index(name)
            place = Span(span.source, start, start + len(name))
            try:
                check_aggregate(aggregate, self._types(aggregate), ranks=clause != "SELECT")
            except SkybandError as error:
                error.span = place
                raise

    def _types(self, aggregate: Aggregate) -> Types:
        text = aggregate.argument
        return {} if text == "*" else {text: argument_type(text, self.schema, self.stream)}

    def _schema(self, taken: OverAggregates) -> pa.Schema:
        """Of its aggregates, by the names that they have meanwhile, and of the group's columns."""
        made = [(name, result_type(each, self._types(each))) for name, each in taken.aggregates.items()]
        return pa.schema([*made, *((name, self.schema.field(name).type) for name in self.groups)])
