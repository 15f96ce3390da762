"""The slow, obvious answer for groups of records: every window grouped and summed up from scratch.

Written from the semantics alone. Sums are made of fractions, so that they are exact, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isinf, isnan, nan
from typing import Any, NamedTuple

from skyband.engines.oracle.complete import windows
from skyband.model import Above, Query, TopK

Values = Mapping[str, Any]
Tie = Callable[[Any], Any]


class Record(NamedTuple):
    """A record that passed WHERE: its group, what is computed of it, its PER group, and the watermark it met."""

    at: int
    group: tuple[Any, ...]
    values: Values
    part: str = ""
    reported: int = -(2**62)


@dataclass(frozen=True)
class Row:
    """Of a report. The rest has no rank and no group."""

    rank: int | None
    group: tuple[Any, ...]
    score: Any
    aggregates: Values


@dataclass(frozen=True)
class Report:
    start: Any
    end: int
    part: str
    rows: tuple[Row, ...]


def total(values: Sequence[Any]) -> Any:
    """Of integers exact, None if it leaves 64 bits; of doubles rounded once."""
    if all(isinstance(value, int) for value in values):
        found = sum(values)
        return found if -(2**63) <= found < 2**63 else None
    if any(isnan(value) for value in values) or {inf, -inf} <= set(values):
        return nan
    endless = [value for value in values if isinf(value)]
    if endless:
        return endless[0]
    try:
        return float(sum(map(Fraction, values))) + 0.0
    except OverflowError:
        return inf if sum(map(Fraction, values)) > 0 else -inf


def _above_nan(value: Any) -> Any:
    return (True, 0) if isinstance(value, float) and isnan(value) else (False, value)


def aggregate(function: str, argument: str, distinct: bool, records: Sequence[Record], tie: Tie) -> Any:
    """Over the records of a group; NULL is passed over. Of the newest values the one with the larger `tie` is the
    last."""
    if argument == "*":
        return len(records)
    given = [record for record in records if record.values[argument] is not None]
    values = [record.values[argument] for record in given]
    if function == "COUNT":
        return len({_above_nan(value) for value in values}) if distinct else len(values)
    if not values:
        return None
    if function == "SUM":
        return total(values)
    if function == "AVG":
        exact = all(isinstance(value, int) for value in values)
        return (float(Fraction(sum(values))) if exact else total(values)) / len(values)
    if function == "LAST":
        return max(given, key=lambda record: (record.at, tie(record.values[argument]))).values[argument]
    return (min if function == "MIN" else max)(values, key=_above_nan) + 0


Asked = Sequence[tuple[str, str, str, bool]]
"""Aggregates: what each is called, its function and argument, and whether DISTINCT was said."""


def summed_up(asked: Asked, records: Sequence[Record], tie: Tie) -> dict[str, Any]:
    return {name: aggregate(function, argument, once, records, tie) for name, function, argument, once in asked}


def _no_score(score: Any) -> bool:
    return score is None or isnan(score)


def answer(
    query: Query,
    records: Iterable[Record],
    asked: Asked,
    score: Callable[[Values], Any],
    having: Callable[[Values], bool | None],
    tie: Tie = _above_nan,
    newest: int = -(2**62),
) -> list[Report]:
    """Every report that has a row, by end, then PER group. `newest` is the time of the stream's newest record."""
    inside: dict[tuple[int, Any, str], dict[tuple[Any, ...], list[Record]]] = {}
    for record in records:
        for start, end in windows(query, record.at, newest):
            if end > record.reported:
                groups = inside.setdefault((end, start, record.part), {})
                groups.setdefault(record.group, []).append(record)
    reports = []
    for (end, start, part), groups in sorted(inside.items(), key=lambda each: each[0]):
        rows = _listed(query, groups, asked, score, having, tie)
        if query.grouping is not None and query.grouping.rest:
            listed = {row.group for row in rows}
            rest = [record for group, members in groups.items() if group not in listed for record in members]
            if rest:
                told = summed_up(asked, rest, tie)
                rows.append(Row(None, (None,) * len(next(iter(groups))), score(told), told))
        if rows:
            reports.append(Report(start, end, part, tuple(rows)))
    return reports


def _listed(
    query: Query,
    groups: Mapping[tuple[Any, ...], list[Record]],
    asked: Asked,
    score: Callable[[Values], Any],
    having: Callable[[Values], bool | None],
    tie: Tie,
) -> list[Row]:
    found = []
    for group, members in groups.items():
        told = summed_up(asked, members, tie)
        own = score(told)
        if _no_score(own) or not having(told):
            continue
        newest = max(record.at for record in members)
        smaller = tuple((value is None, value if value is not None else 0) for value in group)
        found.append((own if query.ascending else -own, -newest, smaller, group, own, told))
    found.sort(key=lambda each: each[:3])
    if isinstance(query, TopK):
        found = found[: query.k]
    elif isinstance(query, Above):
        found = [each for each in found if each[4] > query.threshold]
    return [Row(rank, group, own, told) for rank, (_, _, _, group, own, told) in enumerate(found, 1)]
