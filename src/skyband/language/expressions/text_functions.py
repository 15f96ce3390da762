"""Functions of strings. Those that make new ones work on Arrow's arrays: see `TextForm`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.language.expressions import moves
from skyband.language.expressions.signature import Overload, Parameters, TextForm, exactly, some
from skyband.language.expressions.tree import Bound, Function, Value
from skyband.language.expressions.types import Type
from skyband.language.expressions.vector import Vector

_TEXT, _INT = Type.STRING, Type.BIGINT
_LARGEST = 2**31 - 1
Check = Callable[[tuple[Bound, ...]], str | None]


def _makes(
    name: str,
    makes: Callable[..., pa.Array],
    *ways: tuple[Parameters, str | Callable[[Sequence[str]], str]],
    check: Check | None = None,
) -> Function:
    overloads = tuple(Overload(parameters, _TEXT, TextForm(makes), sql, "always") for parameters, sql in ways)
    return Function(name, overloads, moves.unknown, check=check)


def _tells(name: str, matches: Callable[..., pa.Array]) -> Function:
    """Of a string and a constant one."""

    def form(a: Vector, pattern: Vector) -> Vector:
        assert pattern.words is not None
        found = np.asarray(matches(a.words, pattern.words[int(pattern.values[0])].as_py()))
        return Vector(found[np.where(a.null, 0, a.values)], a.null | pattern.null)

    overload = Overload(exactly(_TEXT, _TEXT), Type.BOOLEAN, form, name + "({0}, {1})", "always")
    return Function(name, (overload,), moves.unknown, check=_constant_text)


def _constant_text(args: tuple[Bound, ...]) -> str | None:
    constant = all(isinstance(arg, Value) and isinstance(arg.value, str) for arg in args[1:])
    return None if constant else "what is looked for must be a string, written out"


def _constant_numbers(args: tuple[Bound, ...]) -> str | None:
    for arg in args[1:]:
        if not isinstance(arg, Value) or not isinstance(arg.value, int) or abs(arg.value) > _LARGEST:
            return "places and lengths must be whole numbers of at most 32 bits, written out"
    return None


def _each(text: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """By Python, every different string once."""
    coded = text.dictionary_encode()
    changed = pa.array([change(each) for each in coded.dictionary.to_pylist()], pa.string())
    return changed.take(coded.indices)


def _cased(plain: str, change: Callable[[str], str]) -> Callable[[pa.Array], pa.Array]:
    """Arrow knows no letter that becomes two, as `ß` does."""

    def cased(text: pa.Array) -> pa.Array:
        if pc.all(pc.string_is_ascii(text)).as_py() is not False:
            return pc.call_function(plain, [text])
        return _each(text, change)

    return cased


def _part(text: pa.Array, first: int, length: int = _LARGEST) -> pa.Array:
    """As Spark: the first is 1, and 0 as well; below zero from the end on, and what is before the beginning counts."""
    if length <= 0:
        return _each(text, lambda each: "")
    if first >= 0:
        begin = max(first - 1, 0)
        return pc.utf8_slice_codeunits(text, begin, begin + length)

    def part(each: str) -> str:
        begin = len(each) + first
        return each[max(begin, 0) : max(begin + length, 0)]

    return _each(text, part)


def _last(text: pa.Array, length: int) -> pa.Array:
    return _part(text, -length, length if length > 0 else 0)


def _joined(*texts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


def _replaced(text: pa.Array, old: Any, new: Any) -> pa.Array:
    was, now = old.as_py(), new.as_py()
    return pc.replace_substring(text, was, now) if was else text


_PART_SQL = "substring({0}, CAST({1} AS INT))"
_PART_OF_SQL = "substring({0}, CAST({1} AS INT), CAST({2} AS INT))"
TEXT_FUNCTIONS = (
    _makes("upper", _cased("ascii_upper", str.upper), (exactly(_TEXT), "upper({0})")),
    _makes("lower", _cased("ascii_lower", str.lower), (exactly(_TEXT), "lower({0})")),
    _makes("trim", lambda text: pc.utf8_trim(text, " "), (exactly(_TEXT), "trim({0})")),
    _makes("ltrim", lambda text: pc.utf8_ltrim(text, " "), (exactly(_TEXT), "ltrim({0})")),
    _makes("rtrim", lambda text: pc.utf8_rtrim(text, " "), (exactly(_TEXT), "rtrim({0})")),
    _makes(
        "substr",
        _part,
        (exactly(_TEXT, _INT), _PART_SQL),
        (exactly(_TEXT, _INT, _INT), _PART_OF_SQL),
        check=_constant_numbers,
    ),
    _makes(
        "left",
        lambda text, length: _part(text, 1, length),
        (exactly(_TEXT, _INT), "substring({0}, 1, CAST({1} AS INT))"),
        check=_constant_numbers,
    ),
    _makes("right", _last, (exactly(_TEXT, _INT), "right({0}, CAST({1} AS INT))"), check=_constant_numbers),
    _makes("concat", _joined, (some(_TEXT, 1), lambda args: f"concat({', '.join(args)})")),
    _makes("replace", _replaced, (exactly(_TEXT, _TEXT, _TEXT), "replace({0}, {1}, {2})"), check=_constant_text),
    _tells("startswith", pc.starts_with),
    _tells("endswith", pc.ends_with),
    _tells("contains", pc.match_substring),
)
READING = tuple(each.name for each in TEXT_FUNCTIONS if each.overloads[0].result is Type.BOOLEAN)
"""These look inside the strings that are there."""
