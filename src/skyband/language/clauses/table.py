"""CREATE TABLE name FROM 'file' KEY column, ... ; and JOIN name USING (column, ...) of a query."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from skyband.language.clauses.cursor import Cursor
from skyband.model.table import Join, Table


def create_table(cursor: Cursor) -> Table:
    """Reads what follows the words CREATE TABLE."""
    name = cursor.name("the table's name")
    cursor.expect("FROM", where=f"after CREATE TABLE {name}")
    token = cursor.peek()
    if token is None or token.token_type is not TokenType.STRING:
        raise cursor.error(f"found {cursor.found()} in place of a file", expected="a file in quotes")
    cursor.at += 1
    cursor.expect("KEY", where="after the table's file")
    key = _names(cursor)
    if not cursor.done:
        raise cursor.error(f"found {cursor.found()} after the table", expected="`;`")
    return Table(name, token.text, key)


def read_join(cursor: Cursor) -> Join:
    """Reads what follows the word JOIN."""
    name = cursor.name("the table's name")
    cursor.expect("USING", where=f"after JOIN {name}")
    cursor.expect("(", where="after USING")
    using = _names(cursor)
    cursor.expect(")", where="after the columns of USING")
    return Join(name, using)


def _names(cursor: Cursor) -> list[str]:
    found = [cursor.name("a column")]
    while cursor.accept(","):
        found.append(cursor.name("a column"))
    return found
