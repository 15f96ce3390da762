"""The words that begin clauses, others that people write in their place, and the expressions between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import TokenType

from skyband.errors import SkybandError, Span
from skyband.language.clauses.cursor import OPERATOR_WORDS, Cursor, ends_operand
from skyband.language.expressions.bind import did_you_mean
from skyband.language.expressions.scan import Token

Said = tuple[str, Span]
"""A text, and where it stands."""
CLAUSES: tuple[tuple[str, ...], ...] = (
    ("JOIN",), ("WHERE",), ("OBJECT",), ("GROUP", "BY"), ("HAVING",), ("ORDER", "BY"), ("DECAY", "HALF", "LIFE"),
    ("WITH", "REST"), ("WITH", "ERROR"), ("FREQUENCY",), ("USING",), ("EXACT",), ("APPROXIMATE",), ("EMIT", "CHANGES"),
)  # fmt: skip
_WORDS = tuple(words[0] for words in CLAUSES)
_CLAUSE_LIST = ", ".join(f"`{' '.join(words)}`" for words in CLAUSES) + " or `;`"
CLAUSES += (("LIMIT",), ("FETCH", "FIRST"), ("FETCH", "NEXT"))
"""The last say what TOP says, where SQL says it."""
_FOREIGN = {
    "GROUP": "write GROUP BY and the columns",
    "INNER": "write JOIN",
    "LEFT": "a record without a row in the table does not qualify: write JOIN",
    "PER": "PER stands right after TOP k or ABOVE x",
    "NULLS": "a record without a score is never ranked",
    "EMIT": "write EMIT CHANGES",
    "WITH": "write WITH REST, or WITH ERROR and the score's standard error; WITH TIES stands right after TOP k",
    "SLIDE": "SLIDE stands inside the window's square brackets",
    "DECAY": "write DECAY HALF LIFE and a length of time: DECAY HALF LIFE 10 MINUTES",
    "QUALIFY": "TOP k PER column is a list for each value of the column",
    "WINDOW": "the window stands behind the stream: FROM s [RANGE 1 HOUR SLIDE 1 MINUTE]",
    "UNION": "several queries are several statements",
    "AT": "AT MOST n PER column stands right after TOP k",
}


def unknown_clause(cursor: Cursor) -> SkybandError:
    token = cursor.peek()
    word = token.text.upper() if token else ""
    return cursor.error(
        f"found {cursor.found()} where a clause should be",
        expected=_CLAUSE_LIST,
        hint=_FOREIGN.get(word) or did_you_mean(word, _WORDS),
    )


def expression(cursor: Cursor, tokens: Sequence[Token], clause: str) -> Said:
    if not tokens:
        raise cursor.error(f"found {cursor.found()} after {clause}", expected="an expression")
    _check_stray_words(cursor, tokens, clause)
    span = cursor.span(tokens)
    return span.source[span.start : span.end], span


def _check_stray_words(cursor: Cursor, tokens: Sequence[Token], clause: str) -> None:
    """A word right after an operand is no expression: most likely a misspelled or foreign clause."""
    depth = 0
    for before, token in pairwise(tokens):
        depth += (before.token_type is TokenType.L_PAREN) - (before.token_type is TokenType.R_PAREN)
        word = token.text.upper()
        known = word in OPERATOR_WORDS or word in ("ASC", "DESC")
        stray = token.token_type is TokenType.VAR and not known and ends_operand(before)
        if depth or not stray:
            continue
        hint = _FOREIGN.get(word) or did_you_mean(word, (*_WORDS, "DESC", "ASC"))
        if hint:
            raise _at(cursor, token, f"found `{token.text}` where a clause should be", _CLAUSE_LIST, hint)


def _at(cursor: Cursor, token: Token, message: str, expected: str, hint: str) -> SkybandError:
    return SkybandError(message, expected=expected, hint=hint, span=cursor.span([token]))
