"""Every golden workload is executed, not only explained: each report of each query is what an oracle says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.engines.oracle import uncertain as oracle
from skyband.model import Ints
from tests import support
from tests.drawn import examples
from tests.engines.conformance.uncertain import Uncertain, WorldCase, expected_ranks

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.sql"))
SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000
Lists = dict[tuple[str, int, str], list[int]]
"""The records of each report, best first, by query, end and group."""


def halves(table: pa.Table) -> list[pa.Table]:
    """Pushes of unlike size."""
    cuts = [0, len(table) // 5, len(table) // 2, len(table)]
    return [table.slice(low, high - low) for low, high in pairwise(cuts)]


def run(workload: sb.Workload, pushes: Sequence[pa.Table]) -> list[dict[str, Any]]:
    """Every row, with times as whole numbers."""
    monitor, parts = sb.Monitor(workload), []
    for table in pushes:
        parts.append(monitor.push(table))
        support.check_structures(monitor)
    rows = pa.concat_tables([*parts, monitor.close()])
    for name in ("window_start", "window_end"):
        rows = rows.set_column(rows.column_names.index(name), name, rows.column(name).cast(pa.int64()))
    found: list[dict[str, Any]] = rows.to_pylist()
    return found


# ----------------------------------------------------------------------------------------------------- complete data


def sensors(n: int, every: int) -> pa.Table:
    """A record each `every` microseconds; ties, gaps, disorder of some seconds, now and then no score."""
    draw = np.random.default_rng(n)
    at = np.arange(n) * every + draw.integers(-9, 10, n) * SECOND * (every > 15 * SECOND)
    score = [None if draw.random() < 0.05 else float(each) for each in draw.integers(0, 12, n)]
    bonus, color = draw.integers(-1, 3, n).tolist(), draw.choice(["red", "blue", "green"], n).tolist()
    return support.table_of(list(zip(at.tolist(), range(n), score, bonus, color, strict=True)))


def runs_as_sorting_says(workload: sb.Workload, table: pa.Table) -> None:
    pushes = halves(table)
    plain = sb.Workload([replace(query, changes=False) for query in workload.queries], streams=workload.streams)
    wanted: Lists = {}
    for row in support.expected_rows(plain, pushes):
        wanted.setdefault((row.query, row.end, row.group), []).append(row.id)
    assert folded(workload, run(workload, pushes), wanted) == wanted
    assert {query for query, _, _ in wanted} == {query.name for query in workload.queries}


def folded(workload: sb.Workload, rows: list[dict[str, Any]], wanted: Lists) -> Lists:
    """The lists that rows stand for; of a query that sends changes the log is folded as the docs say."""
    logs = {query.name for query in workload.queries if query.changes}
    found: Lists = {}
    lists: dict[tuple[str, str], dict[int, int]] = {}
    for row in rows:
        end = row["window_end"] if row["row_end"] is None else row["row_end"]
        if row["query"] not in logs:
            found.setdefault((row["query"], end, row["group_key"]), []).append(row["id"])
            continue
        lists.setdefault((row["query"], row["group_key"]), {})
    for (query, group), members in lists.items():
        log = [row for row in rows if row["query"] == query and row["group_key"] == group]
        ends = {end for name, end, own in wanted if (name, own) == (query, group)}
        for end in sorted(ends | {row["window_end"] for row in log}):
            for row in log:
                if row["window_end"] == end and row["change"] == "leave":
                    del members[row["id"]]
                elif row["window_end"] == end:
                    members[row["id"]] = row["rank"]
            if members:
                found[query, end, group] = sorted(members, key=lambda id: members[id])
    return found


# ---------------------------------------------------------------------------------------------------- uncertain data


def readings() -> pa.Table:
    """A doubtful reading each two minutes, three of a group excluding each other."""
    n, draw = 100, np.random.default_rng(3)
    columns = {
        "ts": pa.array(np.arange(n) * 2 * MINUTE + 7 * SECOND).cast(support.MICRO),
        "id": pa.array(np.arange(n)),
        "speed": pa.array(draw.permutation(n).astype(float)),
        "prob": pa.array(draw.choice([0.2, 0.3, 0.5, 0.7, 1.0], n)),
        "reading_group": pa.array([None if draw.random() < 0.4 else f"g{number // 3}" for number in range(n)]),
    }
    return pa.table(columns)


def quakes() -> pa.Table:
    """A magnitude with its error each day and a half, for ten weeks."""
    n, draw = 48, np.random.default_rng(4)
    columns = {
        "ts": pa.array(np.arange(n) * 36 * HOUR + 5 * MINUTE).cast(support.MICRO),
        "id": pa.array(np.arange(n)),
        "mag": pa.array(np.round(draw.normal(4, 1, n), 2)),
        "mag_err": pa.array(draw.choice([0.25, 0.4, 0.6], n)),
    }
    return pa.table(columns)


def runs_as_worlds_say(workload: sb.Workload, table: pa.Table) -> None:
    """At the moments that the plan chose, which no query may have to wait for."""
    (planned,) = workload.plan().families
    meta, queries = planned.meta, planned.family.queries
    assert meta.query.tolist() == list(range(len(queries)))
    assert all(period <= query.window.slide for period, query in zip(meta.period.tolist(), queries, strict=True))
    case = WorldCase(meta, table["ts"].cast(pa.int64()).to_numpy(), (), np.zeros(len(table), np.int64), *columns(table))
    said: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for row in run(workload, halves(table)):
        value = row["probability"] if row["probability"] is not None else row["expected_rank"]
        said.setdefault((row["query"], row["window_end"]), []).append((row["id"], value))
        assert row["rank"] == len(said[row["query"], row["window_end"]])
    model, windows = Uncertain(), 0
    for number, start, end in case.windows(int(case.at[0]), int(case.at[-1]) + meta.longest):
        inside = np.flatnonzero((case.at >= start) & (case.at < end))
        if len(inside):
            found = said.pop((queries[number].name, end), [])
            model.agree(case, number, found, model.truth(case, number, inside))
            windows += 1
    assert not said
    assert windows > 50


def columns(table: pa.Table) -> tuple[Any, Any, Any, Ints]:
    """Score, error, probability and rule of each record."""
    n = len(table)
    if "mag" in table.column_names:
        return table["mag"].to_numpy(), table["mag_err"].to_numpy(), np.ones(n), np.full(n, -1)
    names = table["reading_group"].to_pylist()
    rule = np.array([-1 if name is None else int(name[1:]) for name in names], np.int64)
    return table["speed"].to_numpy(), np.zeros(n), table["prob"].to_numpy(), rule


RUNS: dict[str, tuple[Callable[[sb.Workload, pa.Table], None], Callable[[], pa.Table]]] = {
    "example-4.1": (runs_as_sorting_says, lambda: sensors(40, SECOND)),
    "example-4.2": (runs_as_sorting_says, lambda: sensors(40, SECOND)),
    "every-clause": (runs_as_sorting_says, lambda: sensors(420, 20 * SECOND)),
    "uncertain": (runs_as_worlds_say, readings),
    "uncertain_errors": (runs_as_worlds_say, quakes),
}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_workload_runs_as_the_oracle_says(path: Path) -> None:
    rate, records = RUNS[path.stem]
    rate(sb.Workload.from_sql(path.read_text()), records())


@given(p=st.lists(st.sampled_from([0.1, 0.2, 0.25, 0.3]), max_size=7), data=st.data())
@examples(60)
def test_expected_ranks_need_no_worlds(p: list[float], data: st.DataObject) -> None:
    """The formula that long windows are judged by, where worlds can still be counted out."""
    ranked = [oracle.Tuple(each, data.draw(st.sampled_from([None, 0, 1]))) for each in p]
    ranked = [record for record, fits in zip(ranked, oracle.fitting(ranked), strict=True) if fits]
    assert expected_ranks(ranked) == pytest.approx(oracle.expected_ranks(ranked), abs=1e-12)
