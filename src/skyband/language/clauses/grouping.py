"""Top groups: what stands in SELECT beside GROUP BY, and the clauses GROUP BY, HAVING and WITH REST."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot.tokenizer_core import TokenType

from skyband.errors import SkybandError, Span
from skyband.language.clauses.columns import Column, columns
from skyband.language.clauses.cursor import Cursor, located
from skyband.language.clauses.stream import Declared
from skyband.language.expressions.aggregates import check_columns, over_aggregates, resolved
from skyband.language.expressions.bind import find_column, unknown_column
from skyband.language.expressions.compiled import check_filter
from skyband.language.expressions.expression import REMEMBERED, read
from skyband.language.expressions.nodes import names
from skyband.language.expressions.scan import Token
from skyband.model import Query
from skyband.model.frozen import set_fields
from skyband.model.grouping import Grouping, usual_name
from skyband.model.select import Item

Said = tuple[str, Span]


@dataclass
class Grouped:
    """GROUP BY and what belongs to it, as it was read."""

    items: list[tuple[Item, Span]]
    columns: list[Column] = field(default_factory=list)
    having: Said | None = None
    rest: bool = False

    def asked(self, declared: Declared, by: Said) -> dict[str, object]:
        """Parameters of the query; what makes no sense is refused where it stands."""
        named = [column.of(declared) for column in self.columns]
        known = tuple(named)
        aliases = {item.name: item.by for item, _ in self.items}
        for item, span in self.items:
            _check(item.by, span, known, "SELECT", declared)
        for clause, said in (("ORDER BY", by), ("HAVING", self.having)):
            if said is not None:
                _check(*said, tuple(aliases), clause, declared)
        if self.having is not None:
            having = resolved(self.having[0], aliases)
            check_filter(over_aggregates(having).skeleton, None, declared.stream.name, *_place(self.having[1]))
        return {
            "select": {item.name: item.by for item, _ in self.items} or "*",
            "group_by": named,
            "having": self.having[0] if self.having else None,
            "rest": self.rest,
        }


def read_items(cursor: Cursor) -> list[tuple[Item, Span]]:
    """SELECT's list up to FROM: columns, and expressions with names."""
    found: list[tuple[Item, Span]] = []
    while True:
        tokens = cursor.skip_to([(",",), ("FROM",)])
        found.append(_item(cursor, tokens))
        if not cursor.accept(","):
            break
    taken: dict[str, Span] = {}
    for item, span in found:
        if item.name in taken:
            raise SkybandError(f"two columns are called `{item.name}`", expected="a name for each: AS", span=span)
        taken[item.name] = span
    return found


def _item(cursor: Cursor, tokens: Sequence[Token]) -> tuple[Item, Span]:
    if not tokens:
        raise cursor.error(f"found {cursor.found()} in SELECT", expected="a column or an aggregate")
    name = None
    if len(tokens) > 2 and tokens[-2].token_type is TokenType.VAR and tokens[-2].text.upper() == "AS":
        name, tokens = tokens[-1].text, tokens[:-2]
    span = cursor.span(tokens)
    text = span.source[span.start : span.end]
    if name is None and len(tokens) == 3 and tokens[1].text == ".":
        name = text = tokens[2].text
    if name is None and len(tokens) == 1 and tokens[0].token_type is TokenType.IDENTIFIER:
        name = tokens[0].text
    try:
        return Item(name or usual_name(text), text), span
    except SkybandError as error:
        raise located(error, span) from None


def read_group_by(cursor: Cursor, grouped: Grouped) -> None:
    """What follows GROUP BY."""
    start = cursor.at
    grouped.columns = columns(cursor, "a column to group by")
    if any(cursor.is_sign(sign) for sign in "(+-*/%"):
        span = cursor.since(start)
        raise SkybandError("groups are made by columns, not by expressions", expected="names of columns", span=span)


def _check(text: str, span: Span, known: tuple[str, ...], clause: str, declared: Declared) -> None:
    """Columns outside of aggregates are known; those inside are the stream's."""
    source, offset = _place(span)
    check_columns(text, known, clause, source, offset)
    if declared.schema is None:
        return
    for aggregate in over_aggregates(text, source, offset).aggregates.values():
        for name in names(read(aggregate.argument)) if aggregate.argument != "*" else ():
            if find_column(name.name, declared.schema.names) is None:
                raise unknown_column(name.name, declared.schema.names, span)


def _place(span: Span) -> tuple[str, int]:
    return span.source, span.start


@lru_cache(REMEMBERED)
def _resolved(by: str, grouping: Grouping) -> tuple[str, Grouping]:
    """In the normal form, names of the result written out; and all aggregates that it takes."""
    aliases = {item.name: item.by for item in grouping.items}
    score = resolved(by, aliases)
    having = resolved(grouping.having, aliases) if grouping.having else None
    items = tuple(Item(item.name, resolved(item.by, {})) for item in grouping.items)
    texts = [score, *([having] if having else []), *(item.by for item in items)]
    used = {each for text in texts for each in over_aggregates(text).aggregates.values()}
    return score, replace(grouping, items=items, having=having, aggregates=tuple(sorted(used)))


def settled_groups(query: Query) -> Query:
    """A query over groups in its normal form."""
    if query.grouping is None or query.aggregates is not None:
        return query
    try:
        for clause, text in (("ORDER BY", query.by), ("HAVING", query.grouping.having)):
            if text:
                check_columns(text, tuple(item.name for item in query.grouping.items), clause, text, 0)
        for item in query.grouping.items:
            check_columns(item.by, query.grouping.columns, "SELECT", item.by, 0)
        by, grouping = _resolved(query.by, query.grouping)
        _check_ranks(by)
    except SkybandError as wrong:
        wrong.message = f"query {query.name}: {wrong.message}"
        raise
    same = copy(query)
    shown = tuple(item.name if item.by == item.name else item for item in grouping.items)
    set_fields(same, by=by, having=grouping.having, select=shown, aggregates=grouping.aggregates)
    return same


def _check_ranks(by: str) -> None:
    """A column of the group is no score: it says nothing of the records."""
    taken = over_aggregates(by)
    if taken.columns or not taken.aggregates:
        raise SkybandError(
            f"groups are ranked by `{by}`, which no aggregate goes into"
            if not taken.aggregates
            else f"`{sorted(taken.columns)[0]}` stands outside of an aggregate in ORDER BY",
            expected="aggregates such as COUNT(*) or SUM(x)",
        )
