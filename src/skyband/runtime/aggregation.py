"""Partial aggregates as columns of encoded rows: made of records, put together, and shown.

Columns are named by the argument they are about, which are numbered in the order of their texts: `#null0` counts the
NULLs of argument 0, `#s0.0` and `#s0.1` are digits of a sum of integers, `#s0:9:2.0` of DECIMAL(9, 2) in units of its
last digit, `#d0.-1` of doubles (`runtime/exact_sum.py`), `#d0.nan` counts what is no finite number, `#min0` and `#max0`
are values, `#last0` is the newest one, with how much older it is than the newest record and what decides among equals,
`#x0` is the hash of a value that is counted once. `#u.0` and `#u.1`, digits as well, are there where groups were left
out (`runtime/heaviest.py`). Of what is added up, a column that would be all zeros is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.groups.numbers import Places, added_up
from skyband.language import DIGITS_OF_DOUBLE, DIGITS_OF_INTEGER, unscaled
from skyband.language.expressions.group_types import Types, is_exact_decimal, is_ordered, result_type
from skyband.model import Flags, Floats, Ints
from skyband.model.grouping import Aggregate
from skyband.model.partials import COUNT, UNSEEN, Totals
from skyband.runtime.exact_sum import as_floats, as_ints, as_quotients, digits_of_floats, digits_of_ints, eased
from skyband.runtime.group_values import (
    TOP,
    argument_column,
    keyed,
    order_keys,
    value_hashes,
)
from skyband.runtime.hashing import hash_rows
from skyband.runtime.score_columns import typed

N = "#n"
SUMMED = ("SUM", "AVG")
NOT_FINITE = ("nan", "inf", "-inf")
Named = dict[str, Ints]


@dataclass(frozen=True)
class Layout:
    """Which columns a family's aggregates take."""

    aggregates: tuple[Aggregate, ...]

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        return tuple(sorted({each.argument for each in self.aggregates if each.argument != "*"}))

    def wants(self, argument: str, *functions: str, distinct: bool = False) -> bool:
        return any(
            each.argument == argument and each.function in functions and each.distinct == distinct
            for each in self.aggregates
        )


# ----------------------------------------------------------------------------------------------------- of the records


def record_columns(layout: Layout, table: pa.Table, schema: pa.Schema, stream: str) -> dict[str, pa.Array | Ints]:
    """Columns of partial aggregates, one for each record. Those of `last` are about the record itself."""
    found: dict[str, pa.Array | Ints] = {N: np.ones(len(table), np.int64)}
    for number, text in enumerate(layout.arguments):
        column = argument_column(text, table, schema, stream)
        some = _valid(column)
        if column.null_count:
            found[f"#null{number}"] = (~some).astype(np.int64)
        if layout.wants(text, *SUMMED):
            found |= _summed(number, column, some)
        for function in ("MIN", "MAX"):
            if layout.wants(text, function):
                found[f"#{function.lower()}{number}"] = column
        if layout.wants(text, "LAST"):
            tie = order_keys(column) if is_ordered(column.type) else hash_rows(pa.table({"x": column}))
            found |= {f"#last{number}": column, f"#last{number}.ago": np.zeros(len(table), np.int64)}
            found[f"#last{number}.tie"] = tie
        if layout.wants(text, "COUNT", distinct=True):
            found[f"#x{number}"] = pa.array(value_hashes(text, table, schema, column), mask=~some)
    return found


def _valid(column: pa.Array) -> Flags:
    """Where there are values; Arrow's own look at bits is slow where nothing is missing."""
    return np.asarray(column.is_valid()) if column.null_count else np.ones(len(column), bool)


def _summed(number: int, column: pa.Array, some: Flags) -> Named:
    if pa.types.is_integer(column.type) or is_exact_decimal(column.type):
        digits = digits_of_ints(_whole(column))
        return {f"#{sum_prefix(number, column.type)}{place}": digit for place, digit in digits.items()}
    values = np.asarray(pc.fill_null(column, 0.0) if column.null_count else column)
    finite = np.isfinite(values)
    found = {
        f"#d{number}.{place}": digit
        for place, digit in digits_of_floats(values if finite.all() else np.where(finite, values, 0.0)).items()
    }
    if not finite.all():
        for name, is_one in zip(NOT_FINITE, (np.isnan(values), values == np.inf, values == -np.inf), strict=True):
            found[f"#d{number}.{name}"] = is_one.astype(np.int64)
    return found


def _whole(column: pa.Array) -> Ints:
    """Integers as they are, decimals in units of their last digit; 0 for NULL."""
    if is_exact_decimal(column.type):
        return unscaled(column)[0]
    filled = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(filled).astype(np.int64, copy=False)


def sum_prefix(number: int, kind: pa.DataType) -> str:
    """How the digits of sums of an argument of that type are called. Who has nothing but rows has to know the type."""
    if is_exact_decimal(kind):
        return f"s{number}:{kind.precision}:{kind.scale}."
    return f"{'s' if pa.types.is_integer(kind) else 'd'}{number}."


_OF_DECIMALS = re.compile(r"#s([0-9]+):([0-9]{1,2}):([0-9]{1,2})[.]0")

# --------------------------------------------------------------------------------------------------------- put together


def combined(
    columns: Mapping[str, pa.Array | Ints], at: Ints, places: Places, newest: Ints
) -> dict[str, pa.Array | Ints]:
    """Partial aggregates of partial aggregates: those with the same place. `at` says when the newest record of each
    came, and `newest`, by place, of all of them."""
    found: dict[str, pa.Array | Ints] = {}
    for name, column in columns.items():
        if is_added(name):
            found[name] = added_up(places, np.asarray(column))
    for name in columns:
        if name.startswith(("#min", "#max")):
            found[name] = _extreme(columns[name], places, largest=name.startswith("#max"))
        elif name.startswith("#last") and "." not in name:
            last = _last(columns, name, at, places)
            found[name], found[f"{name}.tie"] = columns[name].take(pa.array(last)), columns[f"{name}.tie"][last]
            found[f"{name}.ago"] = newest - (at - columns[f"{name}.ago"])[last]
    return found


def is_added(name: str) -> bool:
    return name == N or name.startswith(("#null", "#u.")) or (name[:2] in ("#s", "#d") and name[2:3].isdigit())


_DIGIT = re.compile(r"(#[sd][0-9]+(?::[0-9]+:[0-9]+)?[.])(-?[0-9]+|nan|inf|-inf)")
FARTHEST_DIGIT = 40
"""No double has one beyond, however many are added up."""


def is_left_out(name: str, layout: Layout, others: Sequence[str]) -> bool:
    """Whether the column is one that rows have only where it is not all zeros."""
    if (digit := _DIGIT.fullmatch(name)) is not None:
        near = digit[2] in NOT_FINITE or abs(int(digit[2])) <= FARTHEST_DIGIT
        return near and f"{digit[1]}0" in others
    return name[1:] in UNSEEN or name in (f"#null{number}" for number in range(len(layout.arguments)))


def _extreme(column: pa.Array, places: Places, largest: bool) -> pa.Array:
    keys, some = order_keys(column), _valid(column)
    best = np.full(len(places.last), -TOP - 1 if largest else TOP)
    (np.maximum if largest else np.minimum).at(best, places.of[some], keys[some])
    known = np.zeros(len(places.last), bool)
    known[places.of[some]] = True
    return keyed(best, column.type, known)


def _last(columns: Mapping[str, pa.Array | Ints], name: str, at: Ints, places: Places) -> Ints:
    """Of each place the row with the newest value; any where there is none."""
    some = _valid(columns[name])
    order = np.lexsort((columns[f"{name}.tie"], at - columns[f"{name}.ago"], some))
    last = np.zeros(len(places.last), np.int64)
    last[places.of[order]] = order
    return last


# ---------------------------------------------------------------------------------------------------------------- shown


def types_of(layout: Layout, rows: pa.Schema) -> dict[str, pa.DataType]:
    """The types of arguments, as far as encoded rows tell them: what is only counted has none."""
    found: dict[str, pa.DataType] = {}
    decimals = {
        int(sums[1]): pa.decimal128(int(sums[2]), int(sums[3]))
        for sums in map(_OF_DECIMALS.fullmatch, rows.names)
        if sums is not None and int(sums[3]) <= int(sums[2]) <= DIGITS_OF_INTEGER
    }
    for number, text in enumerate(layout.arguments):
        names = [name for name in (f"#min{number}", f"#max{number}", f"#last{number}") if name in rows.names]
        if names:
            found[text] = rows.field(names[0]).type
        elif any(name.startswith(f"#d{number}.") for name in rows.names):
            found[text] = pa.float64()
        else:
            found[text] = decimals.get(number, pa.int64())
    return found


def whole_numbers(layout: Layout, totals: Totals, types: Types, each: Aggregate) -> tuple[Ints, Flags] | None:
    """Of an aggregate that is ranked as a 64-bit integer, and made of counts and digits: its values, and where there is
    one."""
    if each.function == "COUNT":
        return _count(layout, totals, each), np.ones(len(totals), bool)
    if each.function != "SUM":
        return None
    kind = result_type(each, types)
    if not pa.types.is_integer(kind) and not (is_exact_decimal(kind) and kind.precision > DIGITS_OF_DOUBLE):
        return None
    number = layout.arguments.index(each.argument)
    values, fits = _whole_sum(totals, sum_prefix(number, types[each.argument]), kind)
    return values, (totals.counted(number) > 0) & fits


def _whole_sum(totals: Totals, prefix: str, kind: pa.DataType) -> tuple[Ints, Flags]:
    """A sum in units of the last digit of the type that it has, and where it fits that."""
    values, beyond = as_ints(_digits(totals.added, prefix))
    if pa.types.is_decimal(kind):
        most = 10**kind.precision
        beyond = beyond | (values <= -most) | (values >= most)
    return values, ~beyond


def _count(layout: Layout, totals: Totals, each: Aggregate) -> Ints:
    if each.argument == "*":
        return totals.added[COUNT]
    number = layout.arguments.index(each.argument)
    return totals.added[f"x{number}"] if each.distinct else totals.counted(number)


LastColumn = Callable[[str, Ints, Flags], pa.Array]
"""Of texts: the values that the rows with these labels have in a column."""


def finished(
    layout: Layout, totals: Totals, types: Types, wanted: Sequence[Aggregate], texts: LastColumn | None = None
) -> list[pa.Array]:
    """Aggregates as values."""
    return [_finished(layout, totals, types, each, texts) for each in wanted]


def _finished(layout: Layout, totals: Totals, types: Types, aggregate: Aggregate, texts: LastColumn | None) -> pa.Array:
    if aggregate.function == "COUNT":
        return pa.array(_count(layout, totals, aggregate))
    number = layout.arguments.index(aggregate.argument)
    kind, count = types[aggregate.argument], totals.counted(number)
    some = count > 0
    if aggregate.function == "SUM":
        return _sum(totals, sum_prefix(number, kind), result_type(aggregate, types), some)
    if aggregate.function == "AVG":
        return pa.array(_sum_as_floats(totals, number, kind) / np.maximum(count, 1), mask=~some)
    if aggregate.function == "LAST":
        if not is_ordered(kind):
            assert texts is not None
            return texts(f"#last{number}", totals.last_id[str(number)], some)
        return keyed(totals.last[str(number)].key, kind, some)
    keys = totals.least if aggregate.function == "MIN" else totals.largest
    return keyed(keys[str(number)], kind, some)


def _sum(totals: Totals, prefix: str, kind: pa.DataType, some: Flags) -> pa.Array:
    if pa.types.is_floating(kind):
        return pa.array(_with_infinities(as_floats(_digits(totals.added, prefix)), totals, prefix), mask=~some)
    values, fits = _whole_sum(totals, prefix, kind)
    return typed(values, kind, ~(some & fits))


def _sum_as_floats(totals: Totals, number: int, kind: pa.DataType) -> Floats:
    """Rounded once, however large."""
    prefix = sum_prefix(number, kind)
    digits = _digits(totals.added, prefix)
    if is_exact_decimal(kind):
        return as_quotients(digits, 10**kind.scale)
    return _with_infinities(as_floats(digits), totals, prefix)


def _digits(added: Mapping[str, Ints], prefix: str) -> dict[int, Ints]:
    """Of a sum, by place; what is not finite is none."""
    mine = ((name.removeprefix(prefix), column) for name, column in added.items() if name.startswith(prefix))
    return {int(place): column for place, column in mine if place not in NOT_FINITE}


def with_carries(rows: pa.Table) -> pa.Table:
    """Rows that stand for many records: digits of their sums leave room for as many again."""
    sums = dict.fromkeys(name.partition(".")[0] + "." for name in rows.column_names if name.startswith(("#s", "#d")))
    for prefix in sums:
        names = [name for name in rows.column_names if name.startswith(prefix)]
        known = {name: np.array(pc.fill_null(rows.column(name), 0), np.int64) for name in names}
        for place, digit in eased(_digits(known, prefix)).items():
            name, column = f"{prefix}{place}", pa.array(digit)
            known_at = rows.column_names.index(name) if name in names else None
            rows = rows.append_column(name, column) if known_at is None else rows.set_column(known_at, name, column)
    return rows


def _with_infinities(found: Floats, totals: Totals, letter: str) -> Floats:
    none = np.zeros(len(found), np.int64)
    nan, up, down = (totals.added.get(letter + name, none) > 0 for name in NOT_FINITE)
    found = np.where(up, np.inf, np.where(down, -np.inf, found))
    return np.where(nan | (up & down), np.nan, found)
