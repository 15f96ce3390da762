"""The function table: for each function its argument and result types, NumPy form, Spark SQL form and monotonicity.

Spark runs in ANSI mode, where plain operators throw; the SQL here never does. Where the two sides could disagree, the
SQL text is chosen so that they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from skyband.language.expressions import moves, vector as v
from skyband.language.expressions.signature import Overload, Parameters, branches, exactly, some
from skyband.language.expressions.text_functions import TEXT_FUNCTIONS
from skyband.language.expressions.time_functions import TIME_FUNCTIONS, midnight, midnight_sql
from skyband.language.expressions.tree import Bound, Function, Value
from skyband.language.expressions.types import Type
from skyband.language.expressions.vector import Form, partial, strict

_INT, _NUM, _BOOL, _TEXT, _SAME = Type.BIGINT, Type.DOUBLE, Type.BOOLEAN, Type.STRING, Type.SAME
_ONE, _TWO, _ONE_INT, _INTS = exactly(_NUM), exactly(_NUM, _NUM), exactly(_INT), exactly(_INT, _INT)
_PAIR = exactly(_SAME, _SAME)


def _same(*args: v.Vector) -> v.Vector:
    return args[0]


def _call(name: str) -> Callable[[Sequence[str]], str]:
    return lambda args: f"{name}({', '.join(args)})"


def _rising(name: str, form: Form, *, solid: bool = False) -> Function:
    overload = Overload(_ONE, _NUM, form, name + "({0})", "always" if solid else "never")
    return Function(name, (overload,), moves.rising)


def _unknown(name: str, parameters: Parameters, form: Form) -> Function:
    return Function(name, (Overload(parameters, _NUM, form, _call(name)),), moves.unknown)


def _comparison(sign: str, form: Form) -> Function:
    return Function(sign, (Overload(_PAIR, _BOOL, form, f"({{0}} {sign} {{1}})"),), moves.unknown)


def _test(name: str, parameter: Type, form: Form) -> Function:
    return Function(name, (Overload(exactly(parameter), _BOOL, form, name + "({0})"),), moves.unknown)


def _cases(args: Sequence[str]) -> str:
    whens = " ".join(f"WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
    return f"(CASE {whens} ELSE {args[-1]} END)"


def _in(args: Sequence[str]) -> str:
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _digits(args: tuple[Bound, ...]) -> str | None:
    places = args[1] if len(args) > 1 else Value(0, _INT)
    fine = isinstance(places, Value) and isinstance(places.value, int) and 0 <= places.value <= 15
    return None if fine else "the number of decimals must be a whole number from 0 to 15, written out"


def _pattern(args: tuple[Bound, ...]) -> str | None:
    pattern = args[1]
    if not isinstance(pattern, Value) or not isinstance(pattern.value, str):
        return "the pattern of LIKE must be a string, written out"
    rest = pattern.value.replace("\\\\", "").replace("\\%", "").replace("\\_", "")
    return "in a pattern `\\` must be followed by `%`, `_` or `\\`" if "\\" in rest else None


_TABLE = (
    # Arithmetic. BIGINT overflow and division by zero are NULL.
    Function(
        "+",
        (
            Overload(_INTS, _INT, partial(v.add), "try_add({0}, {1})"),
            Overload(_TWO, _NUM, strict(np.add), "({0} + {1})", "beside a constant"),
        ),
        moves.rising,
    ),
    Function(
        "-",
        (
            Overload(_INTS, _INT, partial(v.subtract), "try_subtract({0}, {1})"),
            Overload(_TWO, _NUM, strict(np.subtract), "({0} - {1})", "beside a constant"),
        ),
        moves.difference,
    ),
    Function(
        "*",
        (
            Overload(_INTS, _INT, partial(v.multiply), "try_multiply({0}, {1})"),
            Overload(_TWO, _NUM, strict(np.multiply), "({0} * {1})", "beside a constant"),
        ),
        moves.product,
    ),
    Function("/", (Overload(_TWO, _NUM, partial(v.divide), "try_divide({0}, {1})"),), moves.quotient),
    Function(
        "%",
        (
            Overload(_INTS, _INT, partial(v.remainder), "try_mod({0}, {1})"),
            Overload(_TWO, _NUM, partial(v.modulo), "try_mod({0}, {1})"),
        ),
        moves.unknown,
    ),
    Function(
        "div",
        (
            Overload(
                _INTS,
                _INT,
                partial(v.quotient),
                "(CASE WHEN {1} = -1L THEN try_subtract(0L, {0}) ELSE {0} DIV nullif({1}, 0L) END)",
            ),
        ),
        moves.whole_quotient,
    ),
    Function(
        "negative",
        (
            Overload(_ONE_INT, _INT, partial(v.negate), "try_subtract(0L, {0})"),
            Overload(_ONE, _NUM, strict(np.negative), "(- {0})", "always"),
        ),
        moves.falling,
    ),
    # Comparison and logic.
    _comparison("=", strict(v.equal)),
    _comparison("!=", strict(v.unequal)),
    _comparison("<", strict(v.less)),
    _comparison("<=", strict(v.at_most)),
    _comparison(">", strict(v.greater)),
    _comparison(">=", strict(v.at_least)),
    _comparison("<=>", v.null_safe_equal),
    Function("in", (Overload(some(_SAME, 2), _BOOL, v.among, _in),), moves.unknown),
    Function(
        "like",
        (Overload(exactly(_TEXT, _TEXT), _BOOL, v.like, "({0} LIKE {1})"),),
        moves.unknown,
        check=_pattern,
    ),
    Function("and", (Overload(exactly(_BOOL, _BOOL), _BOOL, v.conjunction, "({0} AND {1})"),), moves.unknown),
    Function("or", (Overload(exactly(_BOOL, _BOOL), _BOOL, v.disjunction, "({0} OR {1})"),), moves.unknown),
    Function("not", (Overload(exactly(_BOOL), _BOOL, v.negation, "(NOT {0})"),), moves.unknown),
    _test("isnull", _SAME, v.is_null),
    _test("isnotnull", _SAME, v.is_not_null),
    _test("isnan", _NUM, v.is_nan),
    # Choice.
    Function("case", (Overload(branches, _SAME, v.case, _cases, "always"),), moves.branches),
    Function(
        "coalesce",
        (Overload(some(_SAME, 1), _SAME, v.coalesce, _call("coalesce"), "always"),),
        moves.rising,
        skips_missing=True,
    ),
    Function("nullif", (Overload(_PAIR, _SAME, v.null_if, "nullif({0}, {1})"),), moves.first_only),
    Function(
        "least",
        (Overload(some(_SAME, 2), _SAME, v.least, _call("least"), "always"),),
        moves.rising,
        skips_missing=True,
    ),
    Function(
        "greatest",
        (Overload(some(_SAME, 2), _SAME, v.greatest, _call("greatest"), "always"),),
        moves.rising,
        skips_missing=True,
    ),
    # Numbers.
    Function(
        "abs",
        (
            Overload(_ONE_INT, _INT, partial(v.absolute), "if({0} < 0L, try_subtract(0L, {0}), {0})"),
            Overload(_ONE, _NUM, strict(np.abs), "abs({0})", "always"),
        ),
        moves.unknown,
    ),
    _rising("sign", strict(np.sign), solid=True),
    _rising("sqrt", strict(np.sqrt)),
    _rising("cbrt", strict(np.cbrt), solid=True),
    _rising("exp", strict(np.exp), solid=True),
    _rising("expm1", strict(np.expm1), solid=True),
    _rising("ln", partial(v.above(0.0, np.log))),
    _rising("log10", partial(v.above(0.0, np.log10))),
    _rising("log2", partial(v.above(0.0, np.log2))),
    _rising("log1p", partial(v.above(-1.0, np.log1p))),
    _rising("tanh", strict(np.tanh), solid=True),
    _rising("degrees", strict(np.degrees), solid=True),
    _rising("radians", strict(np.radians), solid=True),
    _unknown("sin", _ONE, strict(np.sin)),
    _unknown("cos", _ONE, strict(np.cos)),
    _unknown("tan", _ONE, strict(np.tan)),
    _unknown("atan2", _TWO, strict(v.arctan2)),
    _unknown("hypot", _TWO, strict(np.hypot)),
    Function("power", (Overload(_TWO, _NUM, strict(v.power), "power({0}, {1})"),), moves.power),
    # Spark's floor and ceil of a DOUBLE are BIGINT and saturate; rint stays a DOUBLE.
    Function(
        "floor",
        (
            Overload(_ONE_INT, _INT, _same, "{0}", "always"),
            Overload(_ONE, _NUM, strict(np.floor), "(rint({0}) - CAST(rint({0}) > {0} AS DOUBLE))", "always"),
        ),
        moves.rising,
    ),
    Function(
        "ceil",
        (
            Overload(_ONE_INT, _INT, _same, "{0}", "always"),
            Overload(_ONE, _NUM, strict(np.ceil), "(rint({0}) + CAST(rint({0}) < {0} AS DOUBLE))", "always"),
        ),
        moves.rising,
    ),
    Function(
        "round",
        (
            Overload(_ONE_INT, _INT, _same, "{0}", "always"),
            Overload(_INTS, _INT, _same, "{0}", "always"),
            Overload(_ONE, _NUM, v.round_whole, "round({0})", "always"),
            Overload(exactly(_NUM, _INT), _NUM, v.round_places, "round({0}, CAST({1} AS INT))", "always"),
        ),
        moves.first_only,
        check=_digits,
    ),
    # Conversion.
    Function(
        "double",
        (
            Overload(_ONE, _NUM, _same, "{0}", "always"),
            Overload(exactly(_BOOL), _NUM, strict(v.real), "CAST({0} AS DOUBLE)", "always"),
        ),
        moves.rising,
    ),
    Function(
        "bigint",
        (
            Overload(_ONE_INT, _INT, _same, "{0}", "always"),
            Overload(_ONE, _INT, partial(v.whole), "try_cast({0} AS BIGINT)"),
            Overload(exactly(_BOOL), _INT, partial(v.whole), "CAST({0} AS BIGINT)", "always"),
        ),
        moves.rising,
    ),
    Function(
        "unix_micros", (Overload(exactly(Type.TIMESTAMP), _INT, _same, "unix_micros({0})", "always"),), moves.rising
    ),
    Function(
        "length",
        (Overload(exactly(_TEXT), _INT, v.length, "CAST(length({0}) AS BIGINT)", "always"),),
        moves.unknown,
    ),
    *TIME_FUNCTIONS,
    *TEXT_FUNCTIONS,
)

FUNCTIONS = {function.name: function for function in _TABLE}

# Implicit conversions, where a value fits a wider type.
_SECONDS = "CAST(CAST({0} - TIMESTAMP_NTZ'1970-01-01' AS INTERVAL SECOND) AS DECIMAL(20, 6))"
_ZONE = f"timestamp_micros(CAST({_SECONDS} * 1000000 AS BIGINT))"
CONVERSIONS = {
    (_INT, _NUM): Function(
        "double", (Overload(_ONE_INT, _NUM, strict(v.real), "CAST({0} AS DOUBLE)", "always"),), moves.rising
    ),
    (Type.DATE, Type.TIMESTAMP): Function(
        "timestamp",
        (
            Overload(
                exactly(Type.DATE),
                Type.TIMESTAMP,
                partial(midnight),
                midnight_sql(zoned=True),
            ),
        ),
        moves.rising,
    ),
    (Type.DATE, Type.TIMESTAMP_NTZ): Function(
        "timestamp_ntz",
        (Overload(exactly(Type.DATE), Type.TIMESTAMP_NTZ, partial(midnight), midnight_sql(zoned=False)),),
        moves.rising,
    ),
    (Type.TIMESTAMP_NTZ, Type.TIMESTAMP): Function(
        "timestamp", (Overload(exactly(Type.TIMESTAMP_NTZ), Type.TIMESTAMP, _same, _ZONE, "always"),), moves.rising
    ),
}
