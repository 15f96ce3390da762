"""A family takes in records when a report is due: nobody sees a difference but the clock on the wall."""

from __future__ import annotations

import cProfile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.runtime import arrivals
from tests import support
from tests.drawn import examples

UNCERTAIN = """
CREATE STREAM s (ts TIMESTAMP, id BIGINT, g STRING, x DOUBLE, p DOUBLE)
  WITH (TIME = ts, KEY = id, PROBABILITY = p, LATENESS = 3 MICROSECONDS);
CREATE QUERY a AS SELECT TOP 2 * FROM s [RANGE 20 MICROSECONDS SLIDE 5 MICROSECONDS] ORDER BY x DESC USING PT_K(0.3);
CREATE QUERY b AS SELECT TOP 1 PER g * FROM s [ROWS 6 SLIDE 4] ORDER BY x DESC USING PT_K(0.3);
"""
DELETES = """
CREATE STREAM s (ts TIMESTAMP, id BIGINT, op STRING, x DOUBLE)
  WITH (TIME = ts, KEY = id, OP = op, LATENESS = 3 MICROSECONDS);
CREATE QUERY a AS SELECT TOP 2 * FROM s [RANGE 20 MICROSECONDS SLIDE 7 MICROSECONDS] ORDER BY x DESC;
CREATE QUERY b AS SELECT TOP 2 * FROM s [ROWS 9 SLIDE 5] ORDER BY x DESC EMIT CHANGES;
CREATE QUERY c AS SELECT ABOVE 3 * FROM s [RANGE 30 MICROSECONDS SLIDE 11 MICROSECONDS] WHERE id > 4 ORDER BY x DESC;
"""
OBJECTS = """
CREATE STREAM s (ts TIMESTAMP, id BIGINT, g STRING, x DOUBLE) WITH (TIME = ts, LATENESS = 3 MICROSECONDS);
CREATE QUERY a AS SELECT TOP 2 FROM s [RANGE 20 MICROSECONDS SLIDE 7 MICROSECONDS]
  OBJECT id ACROSS g (LAST) ORDER BY SUM(x) DESC;
CREATE QUERY b AS SELECT TOP 3 FROM s [ROWS 9 SLIDE 5] OBJECT id ACROSS g (SUM) ORDER BY SUM(x) DESC;
"""
LOSSES = ("records", "late", "dropped", "unranked", "bad", "queries")


def losses(monitor: sb.Monitor) -> dict[str, Any]:
    return {name: monitor.counters[name] for name in LOSSES}


def check(workload: sb.Workload, tables: list[pa.Table]) -> None:
    """One that takes in every push at once, and one that waits, tell the same of every push."""
    waits, eager = sb.Monitor(workload), sb.Monitor(workload)
    for table in tables:
        assert waits.push(table) == eager.push(table)
        assert waits.reports == eager.reports
        eager._streams["s"].catch_up()
    assert waits.close() == eager.close()
    assert losses(waits) == losses(eager)


@examples(150)
@given(workload=support.workloads(), tables=support.tables(), most=st.sampled_from([5, 100]))
def test_rows_of_every_push_are_the_same(workload: sb.Workload, tables: list[pa.Table], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrivals, "MOST_RECORDS", most)
        check(workload, [part for table in tables for part in (table.slice(0, 3), table.slice(3))])


@pytest.mark.parametrize("text", [UNCERTAIN, DELETES, OBJECTS], ids=["uncertain", "deletes", "objects"])
@pytest.mark.parametrize("seed", range(8))
def test_other_data_models(text: str, seed: int) -> None:
    draw, n = np.random.default_rng(seed), 90
    at = np.arange(n) + draw.integers(-6, 7, n)
    columns = {
        "ts": pa.array(at, pa.timestamp("us")),
        "id": draw.integers(0, 9, n) if text is OBJECTS else np.arange(n) if text is UNCERTAIN else np.arange(n) // 2,
        "g": draw.choice(["a", "b"], n),
        "op": ["insert", "delete"] * (n // 2),
        "x": draw.integers(0, 9, n).astype(float),
        "p": draw.integers(1, 10, n) / 10,
    }
    workload = sb.Workload.from_sql(text)
    table = pa.table({name: columns[name] for name, _ in workload.streams[0].columns})
    cuts = np.sort(draw.integers(0, n, 40))
    check(workload, [table.slice(low, high - low) for low, high in zip([0, *cuts], [*cuts, n], strict=True)])


def test_what_was_pushed_may_be_overwritten() -> None:
    """A table of NumPy's arrays is not a copy of them, and some fill one array again and again."""
    monitor = sb.Monitor(sb.Workload([sb.TopK("q", 1, "x", "10 s")], stream=sb.Stream("s", time="ts")))
    times, scores = np.zeros(2, np.int64), np.zeros(2)
    found = []
    for second in range(0, 30, 2):
        times[:], scores[:] = [second, second + 1], [-abs(second % 10 - 4), -99.0]
        found.append(monitor.push(pa.table({"ts": pa.array(times).view(pa.timestamp("s")), "x": scores})))
    rows = pa.concat_tables(found)
    assert rows.column("score").to_pylist() == [0.0, 0.0]


def test_what_one_family_took_at_once_may_be_overwritten_before_another_takes_it() -> None:
    queries = [sb.TopK("short", 1, "x", "10 s"), sb.TopK("long", 1, "0 - x", "20 s")]
    monitor = sb.Monitor(sb.Workload(queries, stream=sb.Stream("s", time="ts")))
    times, scores, found = np.zeros(1, np.int64), np.zeros(1), []
    for second, score in ((0, 5.0), (10, 1.0), (21, 7.0)):
        times[:], scores[:] = second, score
        found.append(monitor.push(pa.table({"ts": pa.array(times).view(pa.timestamp("s")), "x": scores})))
        scores[:] = 9.0
        assert monitor.counters["records"] > 0  # Now the other one takes it.
    rows = pa.concat_tables(found)
    assert rows.filter(pc.equal(rows.column("query"), "long")).column("score").to_pylist() == [-1.0]


def test_a_push_that_nothing_is_due_for_costs_few_calls() -> None:
    """And one in ten costs what ten thousand records do."""
    top = sb.TopK("q", k=100, by="score", window="1 s", slide="10 ms")
    monitor = sb.Monitor(sb.Workload([top], stream=sb.Stream("s", time="ts", key="id")))
    at, score = np.arange(100_000), np.random.default_rng(1).random(100_000)
    table = pa.table({"ts": pa.array(at).view(pa.timestamp("us")), "id": at, "score": score})
    calls = []
    for first in range(0, len(table), 1_000):
        profile = cProfile.Profile()
        profile.runcall(monitor.push, table.slice(first, 1_000))
        profile.create_stats()
        calls.append(sum(count for count, *_ in profile.stats.values()))
    # Medians: some push loads kernels, and another one room.
    assert np.median(calls) < 100
    assert np.median(np.reshape(calls, (-1, 10)).sum(axis=1)) < 2_000
