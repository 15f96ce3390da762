"""A place in a list of tokens, moving forward; and the errors that point at it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import TokenType

from skyband.errors import SkybandError, Span
from skyband.language.expressions.bind import did_you_mean
from skyband.language.expressions.dialect import is_number
from skyband.language.expressions.scan import Token

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)
_VALUE_WORDS = ("END", "NULL", "TRUE", "FALSE")
OPERATOR_WORDS = (
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
    "BETWEEN",
    "IS",
    "DIV",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    *_VALUE_WORDS,
)


class Cursor:
    """Reads one statement: tokens `[at, end)` of the workload text `source`."""

    def __init__(self, source: str, tokens: Sequence[Token]) -> None:
        self.source, self.tokens, self.at = source, tokens, 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    def peek(self, ahead: int = 0) -> Token | None:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else None

    def is_word(self, *words: str, ahead: int = 0) -> bool:
        """Whether the next tokens are these words, in any letter case and not quoted."""
        for i, word in enumerate(words):
            token = self.peek(ahead + i)
            if token is None or token.token_type is not TokenType.VAR or token.text.upper() != word:
                return False
        return True

    def is_sign(self, sign: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token is not None and token.token_type not in _QUOTED and token.text == sign

    def is_name(self, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token is not None and token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)

    def accept(self, *words: str) -> bool:
        found = self.is_word(*words) if words[0].isalpha() else self.is_sign(words[0])
        self.at += len(words) if found else 0
        return found

    def expect(self, *words: str, where: str) -> None:
        if not self.accept(*words):
            token = self.peek()
            close = did_you_mean(token.text, words[:1]) if token and words[0].isalpha() else None
            raise self.error(f"found {self.found()} {where}", expected=f"`{' '.join(words)}`", hint=close)

    def name(self, what: str) -> str:
        """A name, quoted or not; any word will do."""
        token = self.peek()
        if token is None or not self.is_name():
            raise self.error(f"found {self.found()} in place of {what}", expected=f"{what}")
        self.at += 1
        return token.text

    def number(self, what: str) -> str:
        token = self.peek()
        if token is None or token.token_type is not TokenType.NUMBER or not is_number(token.text):
            raise self.error(f"found {self.found()} in place of {what}", expected=f"{what}, a number")
        self.at += 1
        return token.text

    def skip_to(self, stops: Sequence[tuple[str, ...]]) -> Sequence[Token]:
        """The tokens before the first of `stops` (words or one sign) that stands outside all brackets."""
        start, depth, firsts = self.at, 0, {stop[0] for stop in stops}
        while not self.done:
            token = self.tokens[self.at]
            if depth == 0 and token.text.upper() in firsts and any(self._stops(stop, start) for stop in stops):
                break
            depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
            self.at += 1
        return self.tokens[start : self.at]

    def _stops(self, stop: tuple[str, ...], start: int) -> bool:
        """A single word is a clause only where an operand has ended: elsewhere it is a column of that name."""
        if not stop[0].isalpha():
            return self.is_sign(stop[0])
        complete = len(stop) > 1 or (self.at > start and ends_operand(self.tokens[self.at - 1]))
        return complete and self.is_word(*stop)

    def found(self) -> str:
        token = self.peek()
        return "the end of the statement" if token is None else f"`{self.source[token.start : token.end + 1]}`"

    def here(self) -> Span:
        """The next token, or the place right after the last one."""
        token = self.peek()
        if token is not None:
            return Span(self.source, token.start, token.end + 1)
        end = self.tokens[-1].end + 1 if self.tokens else len(self.source)
        return Span(self.source, end, end)

    def since(self, start: int) -> Span:
        """From token number `start` up to the cursor."""
        return self.span(self.tokens[start : max(self.at, start + 1)])

    def span(self, tokens: Sequence[Token]) -> Span:
        return Span(self.source, tokens[0].start, tokens[-1].end + 1) if tokens else self.here()

    def error(self, message: str, *, expected: str | None = None, hint: str | None = None) -> SkybandError:
        return SkybandError(message, expected=expected, hint=hint, span=self.here())


def ends_operand(token: Token) -> bool:
    """Whether an expression could end with this token."""
    if token.token_type in (TokenType.NUMBER, *_QUOTED, TokenType.R_PAREN):
        return True
    word = token.text.upper()
    return token.token_type is TokenType.VAR and (word not in OPERATOR_WORDS or word in _VALUE_WORDS)


def statements(source: str, tokens: Iterable[Token]) -> list[Cursor]:
    """The workload cut at its semicolons."""
    listed = list(tokens)
    cuts = [-1, *(i for i, t in enumerate(listed) if t.token_type is TokenType.SEMICOLON), len(listed)]
    return [Cursor(source, listed[a + 1 : b]) for a, b in pairwise(cuts) if b > a + 1]


def located(error: SkybandError, span: Span) -> SkybandError:
    """The same error, with a place if it had none."""
    error.span = error.span or span
    return error
