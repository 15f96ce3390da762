"""ORDER BY: the expressions that a query ranks by, and their directions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import TokenType

from skyband.errors import SkybandError
from skyband.language.clauses.cursor import ends_operand
from skyband.language.clauses.stream import Declared
from skyband.language.clauses.words import Said
from skyband.language.expressions.aliases import written_out
from skyband.language.expressions.compiled import check_number, check_score
from skyband.language.expressions.ranking import check_varies
from skyband.language.expressions.scan import Token
from skyband.model.select import Item


def between_commas(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Cut at the commas that stand outside all brackets."""
    parts, depth, start = list[Sequence[Token]](), 0, 0
    for place, token in enumerate(tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0 and token.token_type is TokenType.COMMA:
            parts.append(tokens[start:place])
            start = place + 1
    return [*parts, tokens[start:]]


def directed(tokens: Sequence[Token]) -> tuple[Sequence[Token], str | None]:
    """The tokens of an expression, and a direction at its end."""
    direction = tokens[-1].text.upper() if len(tokens) > 1 and tokens[-1].token_type is TokenType.VAR else ""
    # `price * desc` ends in a column of that name, `price desc` in a direction.
    if direction in ("ASC", "DESC") and ends_operand(tokens[-2]):
        return tokens[:-1], direction
    return tokens, None


def check_key(said: Said, items: Sequence[Item], declared: Declared, a_number: bool = False) -> None:
    """What ranks records is a number (or a time) and not the same for all. What SELECT gives a name is known by it, and
    what is wrong with that is said of the name."""
    text, span = said
    whole = written_out(text, items, declared.stream.name, span.source, span.start)
    check = check_number if a_number else check_score
    place = (whole, 0) if whole != text else (span.source, span.start)
    try:
        check(whole, declared.schema, declared.stream.name, *place)
        check_varies(whole, declared.stream.time, *place)
    except SkybandError as error:
        error.span = span if whole != text else error.span
        raise
