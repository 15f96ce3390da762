"""From text to nodes: sqlglot's tree is translated where we know the meaning and refused by name everywhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from sqlglot import exp

from skyband.errors import SkybandError, Span
from skyband.language.expressions.dialect import RESERVED, is_number, syntax
from skyband.language.expressions.foreign import AGGREGATES, SIGNS, foreign_form, many_records
from skyband.language.expressions.nodes import Call, Literal, Name, Node, Place, measured
from skyband.language.expressions.quick import closed, quick, whole_number
from skyband.language.expressions.types import Type

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.And: "and",
    exp.Or: "or",
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.Like: "like",
}
_UNARY: dict[type[exp.Expr], str] = {exp.Neg: "negative", exp.Not: "not"}
_CASTS = {exp.DType.DOUBLE: "double", exp.DType.BIGINT: "bigint"}
_TIME_LITERALS = {
    exp.DType.TIMESTAMP: Type.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: Type.TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: Type.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: Type.TIMESTAMP,
    exp.DType.DATE: Type.DATE,
}
_LOOKED_UP = "a condition on other records cannot be; JOIN ... USING looks up a row of a table"
_BITS = "a bitwise operator"
_REFUSED: dict[type[exp.Expr], tuple[str, str | None]] = {
    exp.Subquery: ("a subquery", _LOOKED_UP),
    exp.Select: ("a subquery", _LOOKED_UP),
    exp.Window: ("a window function (OVER)", "TOP k PER column is a list for each value of the column"),
    exp.WithinGroup: ("WITHIN GROUP", None),
    exp.Interval: ("an INTERVAL", "unix_seconds(a) - unix_seconds(b) > 3600 compares two times; the window looks back"),
    exp.DPipe: ("`||`", "concat(a, b)"),
    exp.BitwiseAnd: (_BITS, None),
    exp.BitwiseOr: (_BITS, None),
    exp.BitwiseXor: (_BITS, "a power is power(a, b)"),
    exp.BitwiseNot: (_BITS, None),
    exp.Bracket: ("an array or map element", "lists, maps and structs can be shown, and not computed with"),
    exp.JSONExtract: ("a field of JSON", "what is ranked by has to be a column of its own"),
    exp.Star: ("`*`", None),
    exp.Distinct: ("DISTINCT", None),
    exp.Escape: ("LIKE with ESCAPE", "in a pattern `\\` takes the next character as it is"),
    exp.RegexpLike: ("RLIKE", SIGNS["regexp"]),
    exp.Tuple: ("a list of expressions", None),
    exp.Placeholder: ("a parameter", None),
    exp.Parameter: ("a parameter", None),
    exp.Dot: ("a field of a struct", "what is ranked by has to be a column of its own"),
}
_CAST = re.compile(r"\w+\s*\(\s*$")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_DEEP = 200
"""Levels of an expression: functions that walk through it call each other a few times for each."""
MOST_PARTS = 10_000
"""Of an expression in which every part stands where it is needed."""
REMEMBERED = 65_536
"""Expressions of which is known what they say: queries by the thousand repeat few, and each is asked for often."""


def read(text: str, source: str | None = None, offset: int = 0) -> Node:
    """The nodes of an expression. `source` and `offset` say where it stands in a longer text, for errors."""
    if source is None:
        return _known(text)
    try:
        return _known(text)
    except SkybandError:
        return read_any(text, source, offset)


@lru_cache(REMEMBERED)
def _known(text: str) -> Node:
    """Places are counted from the expression's own beginning, so they are the same wherever it stands."""
    node = quick(text, RESERVED)
    return read_any(text, text, 0) if node is None else _bounded(node, Span(text, 0, len(text)))


def _bounded(node: Node, span: Span) -> Node:
    """Refused where whoever walks through it would run out of stack, time or memory."""
    measure = measured(node)
    if measure.depth > MOST_DEEP:
        raise SkybandError(
            f"the expression is nested {measure.depth:,} deep",
            expected=f"at most {MOST_DEEP} levels; a + b + c has two",
            hint="columns that are computed before the stream are the way for more",
            span=span,
        )
    if measure.written_out > max(MOST_PARTS, 4 * measure.parts):
        raise SkybandError(
            f"the expression has {measure.written_out:,} parts when it is written out",
            expected=f"at most {MOST_PARTS:,}",
            hint="BETWEEN, CASE x WHEN, floor, ceil and DIV say their operand two or three times: nested they multiply",
            span=span,
        )
    return node


def read_any(text: str, whole: str, offset: int) -> Node:
    """With sqlglot, which knows all of Spark's expressions."""
    span = Span(whole, offset, offset + len(text))
    try:
        return _bounded(_Reader(text, whole, offset).node(syntax(text, whole, offset)), span)
    except RecursionError:
        raise SkybandError("the expression is nested too deeply", expected="a simpler expression", span=span) from None


class _Reader:
    """Knows the text, so that every node gets its place in it."""

    def __init__(self, text: str, source: str, offset: int) -> None:
        self.text, self.source, self.offset = text, source, offset
        self._reaches: dict[int, tuple[int, int]] = {}

    def node(self, tree: exp.Expr) -> Node:
        if isinstance(tree, exp.Paren):
            return self.node(tree.this)
        kind = type(tree)
        if kind in _BINARY:
            return self.binary(tree, _BINARY[kind])
        if kind in _UNARY:
            return self.unary(tree, _UNARY[kind])
        reader = _READERS.get(kind)
        if reader is None:
            raise self.refused(tree)
        return reader(self, tree)

    def binary(self, tree: exp.Expr, function: str) -> Node:
        node = self.call(tree, function, tree.this, tree.expression)
        return Call("not", (node,), node.place) if tree.args.get("negate") else node

    def unary(self, tree: exp.Expr, function: str) -> Node:
        place = self.place(tree)
        operand = tree.this.unnest()
        if function == "negative" and isinstance(operand, exp.Literal) and not operand.is_string:
            return self.number("-" + operand.name, place)
        return Call(function, (self.node(tree.this),), place)

    def call(self, tree: exp.Expr, function: str, *args: exp.Expr) -> Call:
        return Call(function, tuple(self.node(arg) for arg in args), self.place(tree))

    def column(self, tree: exp.Expr) -> Node:
        if tree.args.get("db") or not isinstance(tree.this, exp.Identifier):
            raise self.refused(tree, "a field of a struct" if tree.args.get("db") else "`*`")
        return Name(tree.name, tree.text("table") or None, self.place(tree))

    def literal(self, tree: exp.Expr) -> Node:
        if tree.args["is_string"]:
            return Literal(tree.this, Type.STRING, self.place(tree))
        return self.number(tree.this, self.place(tree))

    def number(self, text: str, place: Place) -> Literal:
        if not is_number(text):
            raise SkybandError(
                f"{text} is not a number", expected="digits, as in 12, 0.5 or 1e6", span=self.span(place)
            )
        whole = whole_number(text)
        if whole is not None:
            return Literal(whole, Type.BIGINT, place)
        value = float(text)
        if abs(value) == float("inf"):
            raise SkybandError(f"the number {text} is too large", expected="at most 1.79e308", span=self.span(place))
        return Literal(value, Type.DOUBLE, place)

    def boolean(self, tree: exp.Expr) -> Node:
        return Literal(bool(tree.this), Type.BOOLEAN, self.place(tree))

    def null(self, tree: exp.Expr) -> Node:
        return Literal(None, Type.VOID, self.place(tree))

    def function(self, tree: exp.Expr) -> Node:
        name = str(tree.this).lower()
        if name in AGGREGATES and any(isinstance(arg, exp.Star | exp.Distinct) for arg in tree.expressions):
            raise many_records(name, self.span(self.place(tree)))
        try:
            return self.call(tree, name, *tree.expressions)
        except SkybandError:
            if (wrong := foreign_form(name, (), self.span(self.place(tree)))) is not None:
                raise wrong from None
            raise

    def between(self, tree: exp.Expr) -> Node:
        if tree.args.get("symmetric"):
            raise self.refused(tree, "BETWEEN SYMMETRIC")
        place, operand = self.place(tree), self.node(tree.this)
        low = Call(">=", (operand, self.node(tree.args["low"])), place)
        high = Call("<=", (operand, self.node(tree.args["high"])), place)
        return Call("and", (low, high), place)

    def among(self, tree: exp.Expr) -> Node:
        if not tree.expressions and tree.args.get("query"):
            raise self.refused(tree, "a subquery", _LOOKED_UP)
        if not tree.expressions:
            raise self.refused(
                tree,
                "IN without a list",
                "a list stands in parentheses: IN ('a', 'b'); JOIN ... USING looks up a table",
            )
        return self.call(tree, "in", tree.this, *tree.expressions)

    def is_(self, tree: exp.Expr) -> Node:
        if isinstance(tree.expression, exp.Null):
            return self.call(tree, "isnull", tree.this)
        if isinstance(tree.expression, exp.Boolean):
            return self.call(tree, "<=>", tree.this, tree.expression)
        raise self.refused(tree, f"IS {tree.expression.sql()}")

    def if_(self, tree: exp.Expr) -> Node:
        parts = [tree.this, tree.args["true"], tree.args.get("false") or exp.Null()]
        return self.call(tree, "case", *parts)

    def case(self, tree: exp.Expr) -> Node:
        args: list[Node] = []
        operand = self.node(tree.this) if tree.this else None
        for branch in tree.args["ifs"]:
            condition = self.node(branch.this)
            if operand is not None:
                condition = Call("=", (operand, condition), self.place(branch))
            args += [condition, self.node(branch.args["true"])]
        return Call("case", (*args, self.node(tree.args.get("default") or exp.Null())), self.place(tree))

    def cast(self, tree: exp.Expr) -> Node:
        to = tree.args["to"].this
        literal = tree.this
        if to in _TIME_LITERALS and isinstance(literal, exp.Literal) and literal.is_string:
            return self.time(literal.this, _TIME_LITERALS[to], self.place(tree))
        if to not in _CASTS:
            hint = "integers are BIGINT and other numbers DOUBLE in expressions; times: TIMESTAMP '2026-01-31 12:00:00'"
            raise self.refused(tree, f"CAST AS {tree.args['to'].sql('spark')}", hint)
        return self.call(tree, _CASTS[to], literal)

    def time(self, text: str, kind: Type, place: Place) -> Literal:
        try:
            if kind is Type.DATE:
                return Literal((date.fromisoformat(text.strip()) - EPOCH.date()).days, kind, place)
            instant = datetime.fromisoformat(text.strip())
        except ValueError:
            raise SkybandError(
                f"'{text}' is not a {kind}",
                expected=f"{kind} '2026-01-31'" + ("" if kind is Type.DATE else " or TIMESTAMP '2026-01-31 12:00:00'"),
                span=self.span(place),
            ) from None
        aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        return Literal((aware - EPOCH) // timedelta(microseconds=1), kind, place)

    def refused(self, tree: exp.Expr, what: str | None = None, hint: str | None = None) -> SkybandError:
        usual, known = _REFUSED.get(type(tree), (type(tree).__name__.upper(), None))
        return SkybandError(
            f"{what or usual} cannot stand in an expression",
            expected="columns, constants, operators and the functions of docs/language.md",
            hint=hint or (known if what in (None, usual) else None),
            span=self.span(self.place(tree)),
        )

    def span(self, place: Place) -> Span:
        return Span(self.source, self.offset + place.start, self.offset + place.end)

    def place(self, tree: exp.Expr) -> Place:
        """sqlglot knows the places of names and constants; a node reaches from its first to its last of them."""
        start, end = self._reach(tree)
        if end < 0:
            return Place(0, len(self.text))
        cast = _CAST.search(self.text[:start]) if isinstance(tree, exp.Cast) else None
        if cast and ")" in self.text[end:]:
            return Place(cast.start(), self.text.index(")", end) + 1)
        return closed(self.text, start, end)

    def _reach(self, tree: exp.Expr) -> tuple[int, int]:
        """From where to where it and its parts stand, as far as that is known: each is looked at once."""
        if id(tree) not in self._reaches:
            meta, inside = tree.meta, [self._reach(each) for each in tree.iter_expressions()]
            own = [(meta["start"], meta["end"] + 1)] if "start" in meta else []
            known = [*own, *(reach for reach in inside if reach[1] >= 0)]
            self._reaches[id(tree)] = min((a for a, _ in known), default=0), max((b for _, b in known), default=-1)
        return self._reaches[id(tree)]


_READERS: dict[type[exp.Expr], Callable[[_Reader, exp.Expr], Node]] = {
    exp.Column: _Reader.column,
    exp.Literal: _Reader.literal,
    exp.Boolean: _Reader.boolean,
    exp.Null: _Reader.null,
    exp.Anonymous: _Reader.function,
    exp.Between: _Reader.between,
    exp.In: _Reader.among,
    exp.Is: _Reader.is_,
    exp.If: _Reader.if_,
    exp.Case: _Reader.case,
    exp.Cast: _Reader.cast,
    exp.TryCast: _Reader.cast,
}
