"""Expressions over aggregates, as in `SUM(bytes) / COUNT(*)`: the aggregates, and what is made of them.

In the text each aggregate is replaced by a name of the same length, so that every place stays what it was; what is left
is an expression over columns like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa
from sqlglot.tokenizer_core import TokenType

from skyband.errors import SkybandError, Span
from skyband.language.expressions.bind import CALLED, find_column
from skyband.language.expressions.compiled import Filter, Score, compile_filter, compile_score
from skyband.language.expressions.dialect import words
from skyband.language.expressions.expression import REMEMBERED, read
from skyband.language.expressions.foreign import unknown_aggregate
from skyband.language.expressions.functions import FUNCTIONS as BY_NAME
from skyband.language.expressions.nodes import ALIASES, Call, Name, Node, Place, calls, names
from skyband.language.expressions.printing import canonical_text
from skyband.language.expressions.scan import Token
from skyband.model.grouping import FUNCTIONS, Aggregate

STANDS_IN = re.compile(r"\b_a(\d+)_*\b")
"""The names that aggregates have meanwhile."""


@dataclass(frozen=True)
class OverAggregates:
    """`skeleton` is the text with names in place of the aggregates, by which they are known in `aggregates`."""

    text: str
    skeleton: str
    aggregates: Mapping[str, Aggregate]

    def __hash__(self) -> int:
        return hash(self.text)

    def score(self, schema: pa.Schema) -> Score:
        """Compiled for columns that are the names of its aggregates, and those of the group."""
        return compile_score(self.skeleton, schema)

    def filter(self, schema: pa.Schema) -> Filter:
        return compile_filter(self.skeleton, schema)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that stand outside of its aggregates."""
        return frozenset(name.name for name in names(read(self.skeleton)) if name.name not in self.aggregates)


@lru_cache(REMEMBERED)
def over_aggregates(text: str, source: str | None = None, offset: int = 0) -> OverAggregates:
    """Taken apart; `source` and `offset` say where the text stands in a longer one, for errors."""
    whole = text if source is None else source
    tokens, skeleton, found = words(text), text, dict[str, Aggregate]()
    place = 0
    while place < len(tokens):
        last = _closing(tokens, place)
        if last is None:
            place += 1
            continue
        start, end = tokens[place].start, tokens[last].end + 1
        name = f"_a{len(found)}".ljust(end - start, "_")
        found[name] = _aggregate(text, tokens[place : last + 1], whole, offset)
        skeleton = skeleton[:start] + name + skeleton[end:]
        place = last + 1
    if "\n" in text:
        skeleton = skeleton.replace("\n", " ")
    return OverAggregates(text, skeleton, found)


def resolved(text: str, aliases: Mapping[str, str], source: str | None = None, offset: int = 0) -> str:
    """The normal form, with what stands for a name of the result written out."""
    taken = over_aggregates(text, source, offset)
    node = read(taken.skeleton, source, offset)
    known: list[Aggregate] = []
    node = _written_out(node, taken.aggregates, aliases, known)
    return STANDS_IN.sub(lambda name: str(known[int(name[1])]), canonical_text(node))


def _written_out(node: Node, mine: Mapping[str, Aggregate], aliases: Mapping[str, str], known: list[Aggregate]) -> Node:
    """Names of aggregates anew, counted through all of them."""
    if isinstance(node, Call):
        return replace(node, args=tuple(_written_out(arg, mine, aliases, known) for arg in node.args))
    if not isinstance(node, Name):
        return node
    if node.name in mine:
        known.append(mine[node.name])
        return replace(node, name=f"_a{len(known) - 1}_")
    alias = find_column(node.name, aliases)
    if alias is None or node.qualifier is not None or aliases[alias] == alias:
        return node
    inner = over_aggregates(aliases[alias])
    return _written_out(read(inner.skeleton), inner.aggregates, {}, known)


def check_columns(
    text: str, clause: str, groups: tuple[str, ...], aliases: tuple[str, ...], source: str, offset: int
) -> None:
    """Refuse columns outside of aggregates that have no one value in a group, and names that are not known there."""
    taken = over_aggregates(text, source, offset)
    _check_functions(taken, source, offset)
    known = {"SELECT": groups, "HAVING": (*groups, *aliases), "ORDER BY": aliases}[clause]
    for name in names(read(taken.skeleton, source, offset)):
        if name.name not in taken.aggregates and find_column(name.name, known) is None:
            span = Span(source, offset + name.place.start, offset + name.place.end)
            raise _outside(name.name, clause, groups, span)


def _check_functions(taken: OverAggregates, source: str, offset: int) -> None:
    for call in calls(read(taken.skeleton, source, offset)):
        span = Span(source, offset + call.place.start, offset + call.place.start + len(call.function))
        _check_function(call, span)
    for name, aggregate in taken.aggregates.items():
        start = offset + taken.skeleton.index(name)
        for call in calls(read(aggregate.argument)) if aggregate.argument != "*" else ():
            _check_function(call, Span(source, start, start + len(name)))


def _check_function(call: Call, span: Span) -> None:
    if ALIASES.get(call.function, call.function) not in BY_NAME:
        raise unknown_aggregate(call.function, CALLED, FUNCTIONS, span)


def _outside(name: str, clause: str, groups: tuple[str, ...], span: Span) -> SkybandError:
    if clause == "SELECT":
        return SkybandError(
            f"`{name}` has many values in a group",
            expected=f"an aggregate of it, or a column of GROUP BY: {', '.join(groups)}",
            hint=f"MAX({name}), SUM({name}) or LAST({name})?",
            span=span,
        )
    of_group = f"columns of GROUP BY ({', '.join(groups)}), " if clause == "HAVING" else ""
    hint = "conditions on other columns go into WHERE" if clause == "HAVING" else None
    if clause == "ORDER BY" and find_column(name, groups) is not None:
        hint = f"MAX({name}) is the value of a group's column"
    return SkybandError(
        f"`{name}` stands outside of an aggregate in {clause}",
        expected=f"aggregates such as COUNT(*) or SUM(x), {of_group}and names that SELECT gives them",
        hint=hint,
        span=span,
    )


def first_aggregate(text: str) -> Place | None:
    """Where the first aggregate stands in an expression; max(a, b) of several columns is none."""
    tokens = words(text)
    for place in range(len(tokens)):
        last = _closing(tokens, place)
        if last is not None and not _has_comma(tokens[place + 2 : last]):
            return Place(tokens[place].start, tokens[last].end + 1)
    return None


def _has_comma(tokens: list[Token]) -> bool:
    """Outside of all parentheses."""
    depth = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0 and token.token_type is TokenType.COMMA:
            return True
    return False


def _opens(tokens: list[Token], place: int) -> bool:
    word = tokens[place]
    if word.token_type is not TokenType.VAR or word.text.upper() not in FUNCTIONS or place + 1 >= len(tokens):
        return False
    return tokens[place + 1].token_type is TokenType.L_PAREN


def _closing(tokens: list[Token], place: int) -> int | None:
    """Of an aggregate that begins here: the place of its closing parenthesis."""
    if not _opens(tokens, place):
        return None
    depth = 0
    for at in range(place + 1, len(tokens)):
        depth += (tokens[at].token_type is TokenType.L_PAREN) - (tokens[at].token_type is TokenType.R_PAREN)
        if depth == 0:
            return at
    return None


def _aggregate(text: str, tokens: list[Token], source: str, offset: int) -> Aggregate:
    function, inside = tokens[0].text.upper(), tokens[2:-1]
    span = Span(source, offset + tokens[0].start, offset + tokens[-1].end + 1)
    distinct = bool(inside) and inside[0].token_type is TokenType.VAR and inside[0].text.upper() == "DISTINCT"
    inside = inside[1:] if distinct else inside
    if not inside:
        raise SkybandError(f"{function} of nothing", expected=f"{function}(expression)", span=span)
    if len(inside) == 1 and inside[0].token_type is TokenType.STAR:
        if function != "COUNT" or distinct:
            raise SkybandError(f"{function} of `*`", expected="COUNT(*), or an expression", span=span)
        return Aggregate("COUNT")
    if _has_comma(inside):
        several = {"MAX": "greatest(a, b)", "MIN": "least(a, b)", "COUNT": "COUNT(DISTINCT concat(a, '|', b))"}
        raise SkybandError(
            f"{function} of several expressions",
            expected="one of them",
            hint=several.get(function, f"{function}(a + b), or {function}(a) + {function}(b)"),
            span=span,
        )
    if distinct and function not in ("COUNT", "MIN", "MAX"):
        raise SkybandError(
            f"{function}(DISTINCT ...)",
            expected="COUNT(DISTINCT ...), or the aggregate without DISTINCT",
            hint="of values that count once only their number is kept",
            span=span,
        )
    if any(_opens(inside, place) for place in range(len(inside))):
        raise SkybandError("an aggregate inside of an aggregate", expected="one of them", span=span)
    begin = inside[0].start
    argument = canonical_text(read(text[begin : inside[-1].end + 1], source, offset + begin))
    return Aggregate(function, argument, distinct and function == "COUNT")
