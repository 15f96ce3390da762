"""Top groups: what stands in SELECT beside GROUP BY, and the clauses GROUP BY, HAVING and WITH REST."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot.tokenizer_core import TokenType

from skyband.errors import SkybandError, Span
from skyband.language.clauses.columns import Column, check_groupable, columns
from skyband.language.clauses.cursor import Cursor, located
from skyband.language.clauses.stream import Declared
from skyband.language.clauses.words import Said
from skyband.language.expressions.aggregates import check_columns, over_aggregates, resolved
from skyband.language.expressions.bind import find_column, unknown_column
from skyband.language.expressions.compiled import check_words
from skyband.language.expressions.expression import REMEMBERED, read
from skyband.language.expressions.group_conditions import of_groups
from skyband.language.expressions.group_types import GroupTypes
from skyband.language.expressions.nodes import names
from skyband.language.expressions.scan import Token
from skyband.model import Query
from skyband.model.frozen import set_fields
from skyband.model.grouping import Grouping, usual_name
from skyband.model.select import Item

_WINDOWS = frozenset(
    ("tumble", "tumbling", "hop", "hopping", "window", "session", "cumulate", "date_trunc", "date_bin")
)
_BY_TIME = (
    "the window does that, behind the stream: FROM s [RANGE 1 HOUR] has a list for each hour, "
    "and [RANGE 1 HOUR SLIDE 1 MINUTE] one of the last hour for each minute"
)


@dataclass
class Grouped:
    """GROUP BY and what belongs to it, as it was read."""

    items: list[tuple[Item, Span]]
    columns: list[Column] = field(default_factory=list)
    having: Said | None = None
    rest: bool = False

    def asked(self, declared: Declared, by: Said, a_number: bool) -> dict[str, object]:
        """Parameters of the query; what makes no sense is refused where it stands. A threshold is for `a_number`."""
        named = [column.of(declared) for column in self.columns]
        known, aliases = tuple(named), {item.name: item.by for item, _ in self.items}
        texts = [(item.by, span, "SELECT") for item, span in self.items]
        texts += [(*by, "ORDER BY"), *([(*self.having, "HAVING")] if self.having is not None else [])]
        for text, span, clause in texts:
            check_columns(text, clause, known, tuple(aliases), *_place(span))
            _check_inside(text, span, declared)
        try:
            _check_ranks(resolved(by[0], aliases))
        except SkybandError as error:
            raise located(error, by[1]) from None
        if declared.schema is not None:
            check_groupable(self.columns, declared, "GROUP BY")
        for text, span, clause in texts:
            _check_meaning(text, span, clause, _known_in(clause, aliases, known), known, declared)
        if a_number and declared.schema is not None:
            ranked = resolved(by[0], aliases)
            GroupTypes(declared.schema, declared.stream.name, known).check_number(ranked, by[1])
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
        word = cursor.tokens[cursor.at - 1].text.lower()
        raise SkybandError(
            "groups are made by columns, not by expressions",
            expected="names of columns",
            hint=_BY_TIME if word in _WINDOWS else "a column may be computed before the stream, or be one of a JOIN",
            span=span,
        )


def two_keys_of_groups(span: Span) -> SkybandError:
    return SkybandError(
        "groups are ranked by one expression, and here are two",
        expected="ORDER BY one expression over aggregates",
        hint="the total of a group is kept in order by one number; of equal groups the one with the newest record is "
        "first, and within known bounds one expression may say both: 1000000 * SUM(a) + SUM(b)",
        span=span,
    )


def _check_inside(text: str, span: Span, declared: Declared) -> None:
    """Columns inside of aggregates are the stream's."""
    if declared.schema is None:
        return
    for aggregate in over_aggregates(text, *_place(span)).aggregates.values():
        for name in names(read(aggregate.argument)) if aggregate.argument != "*" else ():
            if find_column(name.name, declared.schema.names) is None:
                raise unknown_column(name.name, declared.schema.names, span)


def _check_meaning(
    text: str, span: Span, clause: str, aliases: dict[str, str], groups: tuple[str, ...], declared: Declared
) -> None:
    """Functions and types. What is wrong with a name of SELECT is said of the whole expression that uses it."""
    whole, place = text, span
    if any(find_column(name, aliases) for name in over_aggregates(text, *_place(span)).columns):
        whole = resolved(text, aliases)
        place = Span(whole, 0, len(whole))
    try:
        if declared.schema is None:
            check_words(read(over_aggregates(whole).skeleton), declared.stream.name, *_place(place))
        else:
            GroupTypes(declared.schema, declared.stream.name, groups).check(whole, clause, place)
    except SkybandError as error:
        error.span = error.span if whole == text else span
        raise


def _known_in(clause: str, aliases: dict[str, str], groups: tuple[str, ...]) -> dict[str, str]:
    """The names of SELECT that a clause knows. In HAVING a column of the group goes before, and its name stays."""
    if clause == "SELECT":
        return {}
    return {name: by for name, by in aliases.items() if clause == "ORDER BY" or find_column(name, groups) is None}


def _place(span: Span) -> tuple[str, int]:
    return span.source, span.start


@lru_cache(REMEMBERED)
def _resolved(by: str, grouping: Grouping) -> tuple[str, Grouping]:
    """In the normal form, names of the result written out; and all aggregates that it takes."""
    aliases = {item.name: item.by for item in grouping.items}
    score = resolved(by, aliases)
    having = resolved(grouping.having, _known_in("HAVING", aliases, grouping.columns)) if grouping.having else None
    items = tuple(Item(item.name, resolved(item.by, {})) for item in grouping.items)
    taken = [over_aggregates(text) for text in (score, *(item.by for item in items))]
    taken += [of_groups(having)] if having else []
    used = {each for over in taken for each in over.aggregates.values()}
    return score, replace(grouping, items=items, having=having, aggregates=tuple(sorted(used)))


def settled_groups(query: Query) -> Query:
    """A query over groups in its normal form."""
    if query.grouping is None or query.aggregates is not None:
        return query
    try:
        groups, aliases = query.grouping.columns, tuple(item.name for item in query.grouping.items)
        texts = [("ORDER BY", query.by), *([("HAVING", query.grouping.having)] if query.grouping.having else [])]
        for clause, text in (*texts, *(("SELECT", item.by) for item in query.grouping.items)):
            check_columns(text, clause, groups, aliases, text, 0)
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
        column = min(taken.columns, default=None)
        raise SkybandError(
            f"groups are ranked by `{by}`, which no aggregate goes into"
            if not taken.aggregates
            else f"`{column}` stands outside of an aggregate in ORDER BY",
            expected="aggregates such as COUNT(*) or SUM(x)",
            hint=column and f"MAX({column}) is the value of a group's column",
        )
