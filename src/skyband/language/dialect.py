"""How sqlglot reads our text: once in plain words for the clauses, once as Spark SQL for expressions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from skyband.errors import SkybandError, Span

# sqlglot logs a warning where it guesses; whatever it guesses, `expression.py` judges.
logging.getLogger("sqlglot").addFilter(lambda record: False)

_QUOTES: list[str | tuple[str, str]] = ["'"]
_NAME_QUOTES: list[str | tuple[str, str]] = ['"', "`"]
_ESCAPES = ["'", "\\"]
_NO_SUFFIXES: dict[str, str] = {}
_SIGNS = {key: kind for key, kind in Spark.Tokenizer.KEYWORDS.items() if not key[0].isalpha()}
_NO_FUNCTIONS: dict[Any, Any] = {}
_CASTS = {name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")}


class _Words(Spark):
    """Clauses: every word is just a word, so that any of them can also be a name."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = False

    class Tokenizer(Spark.Tokenizer):
        QUOTES = _QUOTES
        IDENTIFIERS = _NAME_QUOTES
        STRING_ESCAPES = _ESCAPES
        NUMERIC_LITERALS = _NO_SUFFIXES  # "10 s" and "10s" are ten seconds here, not a SMALLINT
        KEYWORDS = _SIGNS


class _Expressions(Spark):
    """Expressions: sqlglot's grammar with no function of its own, so that each call keeps its name and place."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = False

    class Tokenizer(Spark.Tokenizer):
        QUOTES = _QUOTES
        IDENTIFIERS = _NAME_QUOTES
        STRING_ESCAPES = _ESCAPES

    class Parser(SparkParser):
        FUNCTIONS = _NO_FUNCTIONS
        NO_PAREN_FUNCTIONS = _NO_FUNCTIONS
        FUNCTION_PARSERS = _CASTS


_WORDS = _Words()
_EXPRESSIONS = _Expressions()


def words(text: str) -> list[Token]:
    """The tokens of a workload text."""
    try:
        return _WORDS.tokenize(text)
    except TokenError as error:
        raise _unreadable(text, text, 0) from error


def syntax(text: str, source: str, offset: int) -> exp.Expr:
    """The syntax tree of one expression, which stands at `offset` in `source`."""
    try:
        tokens = _EXPRESSIONS.tokenize(text)
    except TokenError as error:
        raise _unreadable(text, source, offset) from error
    if not tokens:
        raise SkybandError("an expression is missing", span=Span(source, offset, offset + len(text)))
    try:
        tree = _EXPRESSIONS.parser().parse_into(exp.Condition, tokens, text)[0]
    except ParseError as error:
        raise _not_an_expression(error, tokens, source, offset) from error
    if tree is None:
        raise SkybandError("an expression is missing", span=Span(source, offset, offset + len(text)))
    return tree


def _unreadable(text: str, source: str, offset: int) -> SkybandError:
    """sqlglot does not say where it gave up; nearly always a quote or a comment was never closed."""
    start = offset + _unclosed(text)
    return SkybandError(
        "the text ends inside a quoted name, a string or a comment",
        expected="a closing mark for the one underlined",
        span=Span(source, start, start + 1),
    )


def _unclosed(text: str) -> int:
    """Where the mark that is never closed begins: cutting the text before it makes it readable."""
    marks = [at for at, sign in enumerate(text) if sign in "'\"`/"]
    for at in marks:
        try:
            _WORDS.tokenize(text[: at + 1] + " ")
        except TokenError:
            if not _closes(text, at):
                return at
    return marks[-1] if marks else 0


def _closes(text: str, at: int) -> bool:
    for end in range(at + 2, len(text) + 1):
        if text[end - 1] not in "'\"`/":
            continue
        try:
            _WORDS.tokenize(text[:end])
        except TokenError:
            continue
        return True
    return False


def _not_an_expression(error: ParseError, tokens: Sequence[Token], source: str, offset: int) -> SkybandError:
    found = error.errors[0] if error.errors else {}
    last = tokens[-1]
    token = next((t for t in tokens if (t.line, t.col) == (found.get("line"), found.get("col"))), last)
    span = Span(source, offset + token.start, offset + token.end + 1)
    if "Expecting )" in str(found.get("description")):
        return SkybandError("a closing parenthesis is missing", expected="`)` after the text underlined", span=span)
    if token is last and token.token_type is not TokenType.R_PAREN and "Required" in str(found.get("description")):
        return SkybandError(
            f"the expression ends after `{token.text}`", expected="a column, number or function call", span=span
        )
    return SkybandError(
        f"cannot make sense of `{source[span.start : span.end]}` here",
        expected="one expression over the stream's columns",
        hint="a column whose name is a word of SQL goes in double quotes",
        span=span,
    )
