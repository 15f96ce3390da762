"""Groups with the largest counts or sums, of which few are kept: workloads, and what must hold of their rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import skyband as sb
from skyband.engines.oracle.complete import windows
from skyband.model import Query
from tests import groups
from tests.support import micros

RANKED = ["COUNT(*)", "COUNT(weight)", "SUM(bytes)"]
Window = tuple[int, int, str]
"""Start, end and PER group."""
Group = tuple[Any, ...]


@st.composite
def queries(draw: st.DrawFn, number: int, kept: tuple[int, int]) -> Query:
    """Any window, slide, k, filter and PER; that few groups are kept, or that many."""
    width = draw(st.integers(1, 12))
    slide = draw(st.integers(1, width))
    most = draw(st.integers(*kept))
    frame: dict[str, Any] = {"window": f"{width} rows", "slide": slide}
    if draw(st.booleans()):
        frame = {"window": f"{width} microseconds", "slide": micros(slide)}
        if width % slide == 0 and draw(st.booleans()):
            frame = {"window": frame["window"], "cumulate": frame["slide"]}
    columns = draw(st.sampled_from([("client", "host"), ("client",)]))
    by = draw(st.sampled_from(RANKED))
    options: dict[str, Any] = {
        "by": by,
        "group_by": columns,
        "select": {name: name for name in columns} | {"total": by},
        "where": draw(st.sampled_from(list(groups.WHERE))),
        "per": draw(st.sampled_from([(), (), "color"])),
        "approximate": sb.Approximate(groups=most),
    }
    if draw(st.integers(0, 3)) == 0:
        return sb.Above(f"q{number}", threshold=draw(st.integers(-1, 3)), **frame, **options)
    return sb.TopK(f"q{number}", k=draw(st.integers(1, most)), **frame, **options)


@st.composite
def workloads(draw: st.DrawFn, kept: tuple[int, int] = (1, 4), most: int = 3) -> sb.Workload:
    members = [draw(queries(number, kept)) for number in range(draw(st.integers(1, most)))]
    lateness = micros(draw(st.integers(0, 6)))
    return sb.Workload(members, stream=sb.Stream("s", time="ts", lateness=lateness))


@dataclass(frozen=True)
class Row:
    rank: int
    group: Group
    score: int | None
    low: int | None
    high: int | None


def check(workload: sb.Workload, tables: Sequence[pa.Table], rows: pa.Table, reached: int = 2**62) -> None:
    """Every true value is within its bounds, these are as narrow as is promised, and nobody is missing who has more
    than what was left out may have; in windows that end by what was `reached`."""
    for query in (each for each in workload.queries if each.by in RANKED):
        truth, told = true_values(query, workload, tables), reported(workload, query, rows)
        assert set(told) <= set(truth)
        for window, value in ((each, truth[each]) for each in truth if each[1] <= reached):
            check_window(query, value, told.get(window, []))


def check_window(query: Query, value: Mapping[Group, int], rows: list[Row]) -> None:
    assert query.approximate is not None
    assert query.approximate.groups is not None
    missed = Fraction(sum(value.values()), query.approximate.groups + 1)
    assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
    for row in rows:
        assert row.score is not None
        assert row.low == row.score
        assert row.low <= value[row.group]
        if row.high is None:
            assert row.low + missed >= 2**63
        else:
            assert value[row.group] <= row.high <= row.low + missed
    scores = [row.score or 0 for row in rows]
    assert scores == sorted(scores, reverse=True)
    seen = {row.group for row in rows}
    last = 0
    if isinstance(query, sb.TopK):
        assert len(rows) <= query.k
        last = scores[-1] if len(rows) == query.k else 0
    elif isinstance(query, sb.Above):
        assert all(score > query.threshold for score in scores)
        last = max(int(query.threshold), 0)
    for group, true in value.items():
        # A sum that leaves BIGINT has no score.
        assert group in seen or true <= last + missed or true >= 2**63


def true_values(query: Query, workload: sb.Workload, tables: Sequence[pa.Table]) -> dict[Window, dict[Group, int]]:
    found: dict[Window, dict[Group, int]] = defaultdict(lambda: defaultdict(int))
    for record in groups.records_of(query, workload.streams[0], tables):
        value = _worth(query, record.values)
        for start, end in windows(query, record.at):
            if value is not None and end > record.reported:
                found[start, end, record.part][record.group] += value
    return found


def _worth(query: Query, values: Mapping[str, Any]) -> int | None:
    """None of a record that is bad here."""
    if query.by == "SUM(bytes)":
        value: int = values["bytes"] or 0
        return value if value >= 0 else None
    return int(query.by == "COUNT(*)" or values["weight"] is not None)


def reported(workload: sb.Workload, query: Query, rows: pa.Table) -> dict[Window, list[Row]]:
    found: dict[Window, list[Row]] = defaultdict(list)
    for window, row in sorted(_rows(workload, query, rows), key=lambda each: (each[0], each[1].rank)):
        found[window].append(row)
    return found


def _rows(workload: sb.Workload, query: Query, rows: pa.Table) -> Iterator[tuple[Window, Row]]:
    assert query.grouping is not None
    for row in groups.workload_results(workload, rows, query.name).to_pylist():
        kind = "window" if row["row_end"] is None else "row"
        group = tuple(row[name] for name in query.grouping.columns)
        assert row["total"] == row["score"]
        told = Row(row["rank"], group, row["score"], row["score_low"], row["score_high"])
        yield (row[f"{kind}_start"], row[f"{kind}_end"], row["group_key"]), told
