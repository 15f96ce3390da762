"""Functions of times, which are UTC wherever a session or a machine stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from skyband.language.expressions import moves
from skyband.language.expressions.signature import Overload, exactly
from skyband.language.expressions.tree import Bound, Function, Move, Value
from skyband.language.expressions.types import Type
from skyband.language.expressions.vector import Vector, strict
from skyband.model import Flags, Ints

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
LAST_DAY = 2**63 // DAY - 1
"""Since 1970, or before: days beyond have no midnight in microseconds."""


def _down(unit: int) -> str:
    """Whole units since 1970. What is subtracted first might leave BIGINT."""
    return f"(unix_micros({{0}}) DIV {unit}L - IF(unix_micros({{0}}) % {unit}L < 0, 1L, 0L))"


_DATE = f"date_from_unix_date(CAST({_down(DAY)} AS INT))"
_MIDNIGHT = f"CASE WHEN unix_date({{0}}) BETWEEN -{LAST_DAY} AND {LAST_DAY} THEN {{1}} END"


def midnight(days: Ints) -> tuple[Ints, Flags]:
    """The beginning of days, and for which there is none."""
    far = (days > LAST_DAY) | (days < -LAST_DAY)
    return np.where(far, 0, days) * np.int64(DAY), far


def midnight_sql(zoned: bool) -> str:
    instant, local = "timestamp_micros(unix_date({0}) * 86400000000L)", "CAST({0} AS TIMESTAMP_NTZ)"
    return _MIDNIGHT.format("{0}", instant if zoned else local)


def _part(name: str, form: Callable[[Ints], Ints], sql: str) -> Function:
    return Function(name, (Overload(_AT, Type.BIGINT, strict(form), sql, "always"),), moves.unknown)


def _of_date(name: str, form: Callable[[Ints], Ints]) -> Function:
    return _part(name, form, f"CAST({name}({_DATE}) AS BIGINT)")


def _of_day(name: str, whole: int, unit: int) -> Function:
    """How many units of a longer one have gone by."""
    return _part(name, lambda at: at % whole // unit, f"(pmod(unix_micros({{0}}), {whole}L) DIV {unit}L)")


def _count(name: str, unit: int) -> Function:
    overload = Overload(_AT, Type.BIGINT, strict(lambda at: at // unit), _down(unit), "always")
    return Function(name, (overload,), moves.rising)


def _months(at: Ints) -> Ints:
    """Whole months since 1970. NumPy takes the least number for no time; the next is in the same month."""
    found: Ints = np.maximum(at, -(2**63) + 1).astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
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
        first, far = midnight(_first_day(months - months % MONTHS[name]))
        return Vector(first, at.null | far)
    shift = _MONDAY if name == "week" else 0
    found = at.values - (at.values % UNITS[name] + shift) % UNITS[name]
    # Before the first microsecond there is none.
    return Vector(found, at.null | (found > at.values))


def _truncated_sql(args: Sequence[str]) -> str:
    name, micros = args[0].strip("'").lower(), f"unix_micros({args[1]})"
    if name in MONTHS:
        return midnight_sql(zoned=True).format(f"trunc({_DATE.format(args[1])}, '{name}')")
    gone = f"pmod({micros}, {UNITS[name]}L)"
    gone = f"pmod({gone} + {_MONDAY}L, {UNITS[name]}L)" if name == "week" else gone
    return f"timestamp_micros(try_subtract({micros}, {gone}))"


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
        (Overload(exactly(Type.STRING, Type.TIMESTAMP), Type.TIMESTAMP, _truncated, _truncated_sql),),
        _last_only,
        check=_unit,
    ),
)
