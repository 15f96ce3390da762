"""Functions of times, which are UTC wherever a session or a machine stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from skyband.language.expressions import moves
from skyband.language.expressions.signature import Overload, exactly
from skyband.language.expressions.tree import Bound, Function, Move, Value
from skyband.language.expressions.types import Type
from skyband.language.expressions.vector import Vector, strict
from skyband.model import Ints

SECOND, DAY = 1_000_000, 86_400_000_000
UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": SECOND,
    "minute": 60 * SECOND,
    "hour": 3_600 * SECOND,
    "day": DAY,
    "week": 7 * DAY,
}
"""Microseconds of what is always as long."""
MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MONDAY = 3 * DAY
"""From the Monday before to 1970, a Thursday."""
_AT = exactly(Type.TIMESTAMP)
_DATE = "date_from_unix_date(CAST((unix_micros({0}) - pmod(unix_micros({0}), 86400000000L)) DIV 86400000000L AS INT))"


def _part(name: str, form: Callable[[Ints], Ints], sql: str) -> Function:
    return Function(name, (Overload(_AT, Type.BIGINT, strict(form), sql, "always"),), moves.unknown)


def _of_date(name: str, form: Callable[[Ints], Ints]) -> Function:
    return _part(name, form, f"CAST({name}({_DATE}) AS BIGINT)")


def _of_day(name: str, whole: int, unit: int) -> Function:
    """How many units of a longer one have gone by."""
    return _part(name, lambda at: at % whole // unit, f"(pmod(unix_micros({{0}}), {whole}L) DIV {unit}L)")


def _count(name: str, unit: int) -> Function:
    sql = f"((unix_micros({{0}}) - pmod(unix_micros({{0}}), {unit}L)) DIV {unit}L)"
    overload = Overload(_AT, Type.BIGINT, strict(lambda at: at // unit), sql, "always")
    return Function(name, (overload,), moves.rising)


def _months(at: Ints) -> Ints:
    """Whole months since 1970."""
    found: Ints = at.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    return found


def _first_day(months: Ints) -> Ints:
    """In days since 1970."""
    found: Ints = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return found


def _year_day(at: Ints) -> Ints:
    return at // DAY - _first_day(_months(at) // 12 * 12) + 1


def _truncated(unit: Vector, at: Vector) -> Vector:
    assert unit.words is not None
    name = unit.words[int(unit.values[0])].as_py().lower()
    if name in MONTHS:
        months = _months(at.values)
        return Vector(_first_day(months - months % MONTHS[name]) * DAY, at.null)
    shift = _MONDAY if name == "week" else 0
    return Vector(at.values - (at.values + shift) % UNITS[name], at.null)


def _truncated_sql(args: Sequence[str]) -> str:
    name, micros = args[0].strip("'").lower(), f"unix_micros({args[1]})"
    if name in MONTHS:
        return f"timestamp_micros(unix_date(trunc({_DATE.format(args[1])}, '{name}')) * 86400000000L)"
    shifted = f"{micros} + {_MONDAY}L" if name == "week" else micros
    return f"timestamp_micros({micros} - pmod({shifted}, {UNITS[name]}L))"


def _unit(args: tuple[Bound, ...]) -> str | None:
    unit = args[0]
    if isinstance(unit, Value) and isinstance(unit.value, str) and unit.value.lower() in UNITS | MONTHS:
        return None
    return "the unit of date_trunc must be written out, one of " + ", ".join(f"'{name}'" for name in UNITS | MONTHS)


def _last_only(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    return ("unknown", "rising")


TIME_FUNCTIONS = (
    _of_date("year", lambda at: _months(at) // 12 + 1970),
    _of_date("quarter", lambda at: _months(at) % 12 // 3 + 1),
    _of_date("month", lambda at: _months(at) % 12 + 1),
    _of_date("day", lambda at: at // DAY - _first_day(_months(at)) + 1),
    _of_date("dayofyear", _year_day),
    _of_date("dayofweek", lambda at: (at // DAY + 4) % 7 + 1),
    _of_date("weekday", lambda at: (at // DAY + 3) % 7),
    _of_day("hour", DAY, 3_600 * SECOND),
    _of_day("minute", 3_600 * SECOND, 60 * SECOND),
    _of_day("second", 60 * SECOND, SECOND),
    _count("unix_seconds", SECOND),
    _count("unix_millis", 1_000),
    Function("to_date", (Overload(_AT, Type.DATE, strict(lambda at: at // DAY), _DATE, "always"),), moves.rising),
    Function(
        "date_trunc",
        (Overload(exactly(Type.STRING, Type.TIMESTAMP), Type.TIMESTAMP, _truncated, _truncated_sql, "always"),),
        _last_only,
        check=_unit,
    ),
)
