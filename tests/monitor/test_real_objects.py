"""Objects in real streams: what the Monitor says of some windows is what NumPy says of their records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.model import Floats, Ints, TopK

DATA = Path(__file__).parents[3] / "shared" / "data"
HOUR = 3_600_000_000
pytestmark = pytest.mark.slow


class Values(NamedTuple):
    """Values by time, with objects and streams coded in the order of their names."""

    at: Ints
    object: Ints
    stream: Ints
    value: Floats


def loaded(name: str, count: int, columns: list[str]) -> pa.Table:
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return pq.read_table(path, columns=columns).slice(0, count)


def coded(column: pa.ChunkedArray) -> Ints:
    return np.asarray(pc.rank(column, tiebreaker="dense")).astype(np.int64) - 1


def best(values: Values, start: int, end: int, k: int, largest: bool = False) -> list[tuple[int, float]]:
    """The k objects with the highest sums over the streams, of sums (or largest values) in each."""
    inside = np.flatnonzero((values.at >= start) & (values.at < end))
    streams = int(values.stream.max()) + 1
    cell, place = np.unique(values.object[inside] * streams + values.stream[inside], return_inverse=True)
    attribute = np.zeros(len(cell))
    (np.maximum if largest else np.add).at(attribute, place, values.value[inside])
    total, newest = np.zeros(int(values.object.max()) + 1), np.full(int(values.object.max()) + 1, -(2**62))
    np.add.at(total, cell // streams, attribute)
    np.maximum.at(newest, values.object[inside], values.at[inside])
    there = np.unique(values.object[inside])
    order = there[np.lexsort((there, -newest[there], -np.round(total[there], 9)))][:k]
    return [(int(each), float(total[each])) for each in order]


def check(
    workload: sb.Workload, pushes: list[pa.Table], code: Callable[[pa.Table], Ints], values: Values, largest: bool
) -> sb.Monitor:
    """A dozen windows, also the first and the last."""
    monitor = sb.Monitor(workload)
    rows = pa.concat_tables([*map(monitor.push, pushes), monitor.close()])
    (query,) = workload.queries
    assert isinstance(query, TopK)
    end = rows["window_end"].cast(pa.int64()).to_numpy()
    ends = np.unique(end)
    for each in ends[np.linspace(0, len(ends) - 1, 12).astype(int)].tolist():
        report = rows.filter(pa.array(end == each))
        truth = best(values, each - query.window.width, each, query.k, largest)
        assert code(report).tolist() == [object for object, _ in truth]
        assert report["score"].to_pylist() == pytest.approx([score for _, score in truth], abs=1e-9)
    return monitor


def test_hosts_that_a_source_has_knocked_at() -> None:
    """In arrival order, which is not time order: half the rows are late, by up to 22 minutes."""
    table = loaded("honeypot", 40_000, ["ts", "arrival_seq", "host", "source"])
    hosts = sorted(set(table["host"].to_pylist()))
    across = sb.Across("source", "host", "MAX", hosts, between=(0, 1))
    query = sb.TopK("hosts", k=20, by="SUM(1)", window="24 hours", slide="1 hour", across=across, select="source")
    stream = sb.Stream("s", time="ts", key="arrival_seq", lateness="25 minutes")
    names = sorted(set(table["source"].to_pylist()))
    values = Values(
        table["ts"].cast(pa.int64()).to_numpy(), coded(table["source"]), coded(table["host"]), np.ones(len(table))
    )
    arrived = table.sort_by("arrival_seq")
    pushes = [arrived.slice(low, 4_000) for low in range(0, len(arrived), 4_000)]
    code = pa.array(names)

    def number(rows: pa.Table) -> Ints:
        return np.asarray(pc.index_in(rows["source"], value_set=code)).astype(np.int64)

    monitor = check(sb.Workload([query], stream=stream), pushes, number, values, largest=True)
    assert monitor.counters["late"] == 0
    assert monitor.counters["candidates_peak"] < len(table) // 10


def test_the_foulest_hours() -> None:
    """The measurements of an hour come one pollutant after the other, half an hour apart; some never."""
    scale = {"pm25": 1000.0, "pm10": 1000.0, "so2": 500.0, "no2": 300.0, "co": 10_000.0, "o3": 1_100.0}
    wide = loaded("air_quality", 12 * 24 * 20, ["ts", "station", *scale])
    parts = []
    for number, (name, most) in enumerate(scale.items()):
        at = pc.cast(pc.add(wide["ts"].cast(pa.int64()), number * HOUR // 2), pa.timestamp("us"))
        value = pc.divide(wide[name].cast(pa.float64()), most)
        columns = [at, wide["station"], wide["ts"], pa.array([name] * len(wide)), value]
        parts.append(pa.table(columns, ["ts", "station", "hour", "pollutant", "value"]))
    long = pa.concat_tables(parts).filter(pc.is_valid(pa.concat_tables(parts)["value"])).sort_by("ts")
    across = sb.Across(["station", "hour"], "pollutant", "SUM", list(scale), between=(0, 1), ever=True)
    frame = {"window": "7 days", "slide": "1 hour", "select": ["station", "hour"]}
    query = sb.TopK("foul", k=10, by="SUM(value)", across=across, **frame)  # type: ignore[arg-type]
    stations = pa.array(sorted(set(long["station"].to_pylist())))

    def number_of(rows: pa.Table) -> Ints:
        station = np.asarray(pc.index_in(rows["station"], value_set=stations)).astype(np.int64)
        hour = rows["hour"].cast(pa.int64()).to_numpy() // HOUR
        number: Ints = station * 1_000 + hour - 378_000
        return number

    at, value = long["ts"].cast(pa.int64()).to_numpy(), long["value"].to_numpy()
    values = Values(at, number_of(long), coded(long["pollutant"]), value)
    monitor = check(sb.Workload([query], stream=sb.Stream("s", time="ts")), [long], number_of, values, largest=False)
    assert monitor.counters["beyond_declared"] == 0


def test_where_delays_end() -> None:
    """Any number of streams, as they come."""
    table = loaded("flights", 40_000, ["ts", "origin", "destination", "delay_min"])
    across = sb.Across("destination", "origin")
    frame = {"window": "24 hours", "slide": "1 hour", "select": "destination"}
    by = "SUM(greatest(delay_min, 0))"
    query = sb.TopK("delayed", k=10, by=by, across=across, **frame)  # type: ignore[arg-type]
    names = pa.array(sorted(set(table["destination"].to_pylist())))

    def number(rows: pa.Table) -> Ints:
        return np.asarray(pc.index_in(rows["destination"], value_set=names)).astype(np.int64)

    delay = np.maximum(table["delay_min"].to_numpy(), 0).astype(np.float64)
    values = Values(table["ts"].cast(pa.int64()).to_numpy(), number(table), coded(table["origin"]), delay)
    pushes = [table.slice(low, 10_000) for low in range(0, len(table), 10_000)]
    check(sb.Workload([query], stream=sb.Stream("s", time="ts")), pushes, number, values, largest=False)
