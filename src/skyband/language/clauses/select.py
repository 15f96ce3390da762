"""SELECT's list: columns, and expressions with names: `symbol, price * size AS value, upper(venue) AS venue`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skyband.errors import SkybandError, Span
from skyband.language.clauses.columns import Column, column
from skyband.language.clauses.cursor import OPERATOR_WORDS, Cursor
from skyband.language.clauses.of_records import refuse_aggregates
from skyband.language.clauses.stream import Declared
from skyband.language.expressions.scan import Token
from skyband.language.expressions.shown import check_shown
from skyband.model.select import Item

Selected = Column | tuple[Item, Span]
"""A column by its name, or an item and where its expression stands."""


def read_select(cursor: Cursor, at_from: Callable[[], bool]) -> list[Selected]:
    """Up to the FROM that opens the clause."""
    found = [_item(cursor, at_from)]
    while cursor.accept(","):
        found.append(_item(cursor, at_from))
    taken: set[str] = set()
    for each in found:
        name, span = (each.name, each.span) if isinstance(each, Column) else (each[0].name, each[1])
        if name in taken and not isinstance(each, Column):
            raise SkybandError(f"two columns are called `{name}`", expected="a name for each: AS", span=span)
        taken.add(name)
    return found


def _item(cursor: Cursor, at_from: Callable[[], bool]) -> Selected:
    start = cursor.at
    if cursor.is_name() and not cursor.is_sign("(", ahead=1) and not _opens_expression(cursor):
        plain = column(cursor, "a column")
        if cursor.done or cursor.is_sign(",") or at_from() or _is_stray(cursor):
            return plain
        cursor.at = start
    tokens = _expression(cursor, at_from)
    if not tokens:
        raise cursor.error(f"found {cursor.found()} in place of a column", expected="a column")
    span = cursor.span(tokens)
    refuse_aggregates((span.source[span.start : span.end], span), "SELECT")
    if not cursor.accept("AS"):
        raise SkybandError(
            "an expression without a name in SELECT",
            expected="AS and a name behind it",
            hint="the score itself is always reported, as the column `score`",
            span=span,
        )
    return Item(cursor.name("the name of the column"), span.source[span.start : span.end]), span


def _opens_expression(cursor: Cursor) -> bool:
    """CASE or NOT with an operand behind it; a column may be called so."""
    if not (cursor.is_word("CASE") or cursor.is_word("NOT")):
        return False
    ends = cursor.is_word("FROM", ahead=1) or cursor.is_word("AS", ahead=1)
    operand = cursor.peek(1)
    return operand is not None and not ends and operand.text not in (",", ".", ";")


def _is_stray(cursor: Cursor) -> bool:
    """A word behind a column that goes on with nothing: whoever expects FROM tells of it."""
    return cursor.is_name() and not any(cursor.is_word(word) for word in (*OPERATOR_WORDS, "AS"))


def _expression(cursor: Cursor, at_from: Callable[[], bool]) -> Sequence[Token]:
    """The tokens before the next comma, AS or FROM outside all brackets."""
    start, depth = cursor.at, 0
    while not cursor.done:
        if depth == 0 and (cursor.is_sign(",") or (cursor.at > start and (cursor.is_word("AS") or at_from()))):
            break
        depth += cursor.is_sign("(") - cursor.is_sign(")")
        cursor.at += 1
    return cursor.tokens[start : cursor.at]


def select_of(items: Sequence[Selected], declared: Declared) -> list[str] | dict[str, str]:
    """What a query takes as `select`; expressions are checked where they stand."""
    columns = [each.of(declared) for each in items if isinstance(each, Column)]
    if len(columns) == len(items):
        return columns
    named: dict[str, str] = {}
    for each in items:
        if isinstance(each, Column):
            name = each.of(declared)
            named[name] = name
        else:
            item, span = each
            check_shown(item.by, declared.schema, declared.stream.name, span.source, span.start)
            named[item.name] = item.by
    return named
