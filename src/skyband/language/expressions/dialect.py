"""How sqlglot reads our text: once in plain words for the clauses, once as Spark SQL for expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token as SqlglotToken, TokenType

from skyband.errors import SkybandError, Span
from skyband.language.expressions.foreign import SIGNS, foreign_form
from skyband.language.expressions.scan import Token, scan

_QUOTES: list[str | tuple[str, str]] = ["'"]
_NAME_QUOTES: list[str | tuple[str, str]] = ['"', "`"]
_ESCAPES = ["'", "\\"]
_NO_SUFFIXES: dict[str, str] = {}
_SIGNS = {key: kind for key, kind in Spark.Tokenizer.KEYWORDS.items() if not key[0].isalpha()}
# The words expressions are made of; every other word of SQL is a column like any other.
_EXPRESSION_WORDS = (
    "AND OR NOT IN LIKE BETWEEN IS NULL TRUE FALSE DIV CASE WHEN THEN ELSE END AS DISTINCT FROM ESCAPE RLIKE "
    "SELECT WITH INTERVAL OVER BIGINT LONG INT INTEGER SMALLINT TINYINT FLOAT DOUBLE DECIMAL STRING BOOLEAN BINARY "
    "DATE TIMESTAMP TIMESTAMP_NTZ TIMESTAMP_LTZ"
)
RESERVED = frozenset((*_EXPRESSION_WORDS.split(), "IF", "CAST", "TRY_CAST"))
"""Words that may be more than the name of a column or function, in capital letters."""
_KEPT = {*_EXPRESSION_WORDS.split(), "ORDER BY", "PARTITION BY"}
_KEYWORDS = _SIGNS | {word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if word in _KEPT}
_NO_FUNCTIONS: dict[Any, Any] = {}
_CASTS = {name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")}
_CHOICES = {name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")}
MOST_WORDS = 25_000
"""Of one expression: what takes longer to read than anybody waits is not read."""
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

_WHOLE = r"""'(?:[^'\\]|\\.|\'\')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/"""
_PIECES = re.compile(rf"""{_WHOLE}|(?P<open>['"`]|/\*)|.""", re.DOTALL)
_ROUGHLY = re.compile(rf"{_WHOLE}|[\w.]+|[<>=!|&]+|[^\w\s]", re.DOTALL)


def is_number(text: str) -> bool:
    """sqlglot's tokens are more generous: `0E` and `²` are numbers there."""
    return len(text) < 1000 and _NUMBER.fullmatch(text) is not None


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
        KEYWORDS = _KEYWORDS

    class Parser(SparkParser):
        FUNCTIONS = _NO_FUNCTIONS
        NO_PAREN_FUNCTIONS = _NO_FUNCTIONS
        FUNCTION_PARSERS = _CASTS
        NO_PAREN_FUNCTION_PARSERS = _CHOICES


_WORDS = _Words()
_EXPRESSIONS = _Expressions()


def words(text: str) -> list[Token]:
    """The tokens of a workload text."""
    plain = scan(text)
    return words_of_any(text) if plain is None else plain


def words_of_any(text: str) -> list[Token]:
    """With sqlglot, which knows all escapes, comments and spellings of numbers."""
    try:
        return [Token(each.token_type, each.text, each.start, each.end) for each in _WORDS.tokenize(text)]
    except TokenError as error:
        raise _unreadable(text, text, 0) from error


def syntax(text: str, source: str, offset: int) -> exp.Expr:
    """The syntax tree of one expression, which stands at `offset` in `source`."""
    # Counted roughly first, for sqlglot's own look at each takes its time.
    if any(True for _ in islice(_ROUGHLY.finditer(text), 2 * MOST_WORDS, None)):
        raise _too_long(f"more than {2 * MOST_WORDS:,}", text, source, offset)
    try:
        tokens = _EXPRESSIONS.tokenize(text)
    except TokenError as error:
        raise _unreadable(text, source, offset) from error
    if len(tokens) > MOST_WORDS:
        raise _too_long(f"{len(tokens):,}", text, source, offset)
    if not tokens:
        raise SkybandError("an expression is missing", span=Span(source, offset, offset + len(text)))
    try:
        trees = _EXPRESSIONS.parser().parse_into(exp.Condition, tokens, text)
    except ParseError as error:
        raise _not_an_expression(error, tokens, source, offset) from error
    if len(trees) != 1 or trees[0] is None:
        stop = next((token for token in tokens if token.token_type is TokenType.SEMICOLON), tokens[0])
        raise _senseless(stop, source, offset)
    return trees[0]


def _too_long(count: str, text: str, source: str, offset: int) -> SkybandError:
    return SkybandError(
        f"an expression of {count} words and signs",
        expected=f"at most {MOST_WORDS:,}",
        hint="a long list of values can be a table: JOIN ... USING",
        span=Span(source, offset, offset + len(text)),
    )


def _unreadable(text: str, source: str, offset: int) -> SkybandError:
    """sqlglot does not say where it gave up; nearly always a quote or a comment was never closed."""
    start = offset + _unclosed(text)
    return SkybandError(
        "the text ends inside a quoted name, a string or a comment",
        expected="a closing mark for the one underlined",
        span=Span(source, start, start + 1),
    )


def _unclosed(text: str) -> int:
    """Where the mark that is never closed begins: the first one that no closed piece of text swallows."""
    for piece in _PIECES.finditer(text):
        if piece.lastgroup == "open":
            return piece.start()
    return max(text.rfind("/*"), 0)


def _not_an_expression(error: ParseError, tokens: Sequence[SqlglotToken], source: str, offset: int) -> SkybandError:
    found = error.errors[0] if error.errors else {}
    last = tokens[-1]
    token = next((t for t in tokens if (t.line, t.col) == (found.get("line"), found.get("col"))), last)
    span = Span(source, offset + token.start, offset + token.end + 1)
    if (wrong := _foreign(tokens, token, source, offset)) is not None:
        return wrong
    if "Expecting )" in str(found.get("description")):
        return SkybandError("a closing parenthesis is missing", expected="`)` after the text underlined", span=span)
    if token is last and token.token_type is not TokenType.R_PAREN and "Required" in str(found.get("description")):
        return SkybandError(
            f"the expression ends after `{token.text}`", expected="a column, number or function call", span=span
        )
    return _senseless(token, source, offset)


def _foreign(tokens: Sequence[SqlglotToken], at: SqlglotToken, source: str, offset: int) -> SkybandError | None:
    """What another dialect has in that place: a function with words between its arguments, or an operator."""
    before = [token for token in tokens if token.start <= at.start]
    opened: list[SqlglotToken | None] = []
    for previous, token in pairwise(before):
        if token.token_type is TokenType.L_PAREN:
            opened.append(previous if previous.token_type is TokenType.VAR else None)
        elif token.token_type is TokenType.R_PAREN and opened:
            opened.pop()
    called = opened[-1] if opened else None
    if called is not None and at.token_type is not TokenType.R_PAREN:
        name = called.text
        wrong = foreign_form(name, (), Span(source, offset + called.start, offset + called.end + 1))
        if wrong is not None:
            return wrong
    sign = _foreign_sign(before)
    if sign is None:
        return None
    word, start, end = sign
    return SkybandError(
        f"there is no `{word}` between operands",
        hint=SIGNS[word.lower()],
        span=Span(source, offset + start, offset + end),
    )


def _foreign_sign(tokens: Sequence[SqlglotToken]) -> tuple[str, int, int] | None:
    """The word or sign before the last of these, or that, and where it stands."""
    for token in reversed(tokens[-2:]):
        if token.text.lower() in SIGNS:
            return token.text, token.start, token.end + 1
    for one, two in pairwise(tokens[-3:]):
        if one.text + two.text in SIGNS and one.end + 1 == two.start:
            return one.text + two.text, one.start, two.end + 1
    return None


def _senseless(token: SqlglotToken, source: str, offset: int) -> SkybandError:
    span = Span(source, offset + token.start, offset + token.end + 1)
    return SkybandError(
        f"cannot make sense of `{source[span.start : span.end]}` here",
        expected="one expression over the stream's columns",
        hint="a column whose name is a word of SQL goes in double quotes",
        span=span,
    )
