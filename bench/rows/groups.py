"""Top groups: a Monitor and a batch on Spark against DuckDB's best form and Spark's own `groupBy(window, key)`."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import skyband as sb
from bench.harness import Ratio, Result, Run, row
from bench.rows.spark import session
from skyband.runtime.operator import FamilyOperator

START = 1_700_000_000_000_000
SECOND = 1_000_000
STREAM = sb.Stream("s", time="ts")
TOTAL = {"client": "client", "total": "SUM(bytes)", "n": "COUNT(*)"}


@dataclass(frozen=True)
class Settings:
    records: int = 10_000_000
    few: int = 1_000_000
    groups: int = 1_000_000
    window: int = 600
    slide: int = 10
    k: int = 100
    push: int = 500_000
    queries: int = 100
    rounds: int = 2
    seed: int = 1


TINY = Settings(records=30_000, few=6_000, groups=500, window=6, slide=1, k=5, push=5_000, queries=5, rounds=1)


@row("groups", "top groups: a Monitor and Spark against DuckDB and Spark's own groupBy(window, key) with a rank")
def measure(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "figure": "best of the rounds, wall seconds; a record a millisecond"})
    for shape in ("uniform", "zipf 1.1"):
        table = _records(s, shape)
        contestants: dict[str, Callable[[], Any]] = {
            "Monitor": partial(_pushed, s, table, [_query(s)]),
            "DuckDB": partial(_duckdb, s, table),
        }
        run.say("compiling")
        _pushed(s, table.slice(0, 2 * s.push), [_query(s)])
        _agree(_pushed(s, table.slice(0, s.few), [_query(s)]), _duckdb(s, table.slice(0, s.few)))
        best = {f"{name}, {shape}": seconds for name, seconds in _best(contestants, s.rounds, run, shape).items()}
        for name, seconds in best.items():
            result.lines.append({"contestant": name, "M records/s": s.records / seconds / 1e6, "seconds": seconds})
        ours = best[f"Monitor, {shape}"]
        result.ratios.append(
            Ratio(f"Monitor over DuckDB, {shape}, speed", best[f"DuckDB, {shape}"] / ours, at_least=run.asked(3))
        )
        result.ratios.append(Ratio(f"Monitor, {shape}, M records/s", s.records / ours / 1e6, at_least=run.asked(5)))
        _shared(s, shape, table, run, result)
        _spark(s, shape, table, run, result)
    result.notes.append("DuckDB: sums by 10 s and client once, then a query for each window; rows are compared first")
    result.notes.append("Spark's own form is timed once, on fewer records, and compared by records a second")
    return result


def _shared(s: Settings, shape: str, table: pa.Table, run: Run, result: Result) -> None:
    """Many queries against one, in turns; what it takes to make rows of the answers is left out, and told."""
    best: dict[str, tuple[float, float]] = {}
    for number in range(s.rounds):
        for name, queries in (("one query", [_query(s)]), (f"{s.queries} queries", _many(s))):
            run.say(f"{shape}, round {number + 1} of {s.rounds}: {name}")
            with _timed(FamilyOperator, "_answers") as rows, _timed(sb.Monitor, "_rows") as table_of_rows:
                began = time.perf_counter()
                _pushed(s, table, queries, False)
                whole = time.perf_counter() - began
            output = sum(rows) + sum(table_of_rows)
            best[name] = min(best.get(name, (float("inf"), 0.0)), (whole - output, output))
    for name, (seconds, output) in best.items():
        label = f"Monitor, {name}, answers only, {shape}"
        result.lines.append({"contestant": label, "M records/s": s.records / seconds / 1e6, "seconds": seconds})
        result.notes.append(f"{name}, {shape}: making rows of the answers takes {output:.2f} s more")
    one, many = best.values()
    ratio = Ratio(f"{s.queries} queries with other windows and k over one, {shape}, time, output apart",
                  many[0] / one[0], at_most=run.asked(3))  # fmt: skip
    result.ratios.append(ratio)


@contextmanager
def _timed(owner: type, name: str) -> Iterator[list[float]]:
    """How long each call of a method takes."""
    method, taken = getattr(owner, name), list[float]()

    def timed(*given: Any, **named: Any) -> Any:
        began = time.perf_counter()
        try:
            return method(*given, **named)
        finally:
            taken.append(time.perf_counter() - began)

    setattr(owner, name, timed)
    try:
        yield taken
    finally:
        setattr(owner, name, method)


def _records(s: Settings, shape: str) -> pa.Table:
    draw = np.random.default_rng(s.seed)
    if shape == "uniform":
        client = draw.integers(0, s.groups, s.records)
    else:
        weight = 1 / np.arange(1, s.groups + 1) ** 1.1
        client = np.searchsorted(np.cumsum(weight / weight.sum()), draw.random(s.records)).clip(0, s.groups - 1)
    at = START + 1_000 * np.arange(s.records)
    return pa.table(
        {"ts": pa.array(at).cast(pa.timestamp("us")), "client": client, "bytes": draw.integers(40, 1_500, s.records)}
    )


def _query(s: Settings, name: str = "q", width: int | None = None, k: int | None = None) -> sb.TopK:
    window, slide = f"{width or s.window} seconds", f"{s.slide} seconds"
    return sb.TopK(name, k or s.k, "SUM(bytes)", window, slide, group_by="client", select=TOTAL)


def _many(s: Settings) -> list[sb.TopK]:
    """Windows from a slide to the longest, k from 1 on."""
    widths = [max(round(s.window * (n + 1) / s.queries / s.slide), 1) * s.slide for n in range(s.queries)]
    return [_query(s, f"q{n}", width, 1 + n % s.k) for n, width in enumerate(widths)]


def _pushed(s: Settings, table: pa.Table, queries: list[sb.TopK], rows: bool = True) -> pa.Table | None:
    monitor, parts = sb.Monitor(sb.Workload(queries, stream=STREAM)), []
    for first in range(0, len(table), s.push):
        found = monitor.push(table.slice(first, s.push))
        parts += [found] if rows else []
    return pa.concat_tables([*parts, monitor.results.nothing]) if rows else None


def _duckdb(s: Settings, table: pa.Table) -> list[Any]:
    """The best of the forms that were tried: partial sums by pane once, sorted by pane, then one query a window."""
    import duckdb

    base = duckdb.connect()
    base.execute("SET threads = 2")
    base.register("records", table)
    base.execute(
        f"CREATE TABLE panes AS SELECT epoch_us(ts) // {s.slide * SECOND} AS pane, client, sum(bytes)::BIGINT AS "
        "total, count(*) AS n, max(ts) AS newest FROM records GROUP BY ALL ORDER BY pane"
    )
    first, last = base.execute("SELECT min(pane), max(pane) FROM panes").fetchone() or (0, 0)
    panes, found = s.window // s.slide, []
    for end in range(first + 1, last + 1):
        found += [
            (end * s.slide * SECOND, *each)
            for each in base.execute(
                "SELECT client, sum(total)::BIGINT AS total, sum(n)::BIGINT, max(newest) AS newest FROM panes "
                f"WHERE pane >= {end - panes} AND pane < {end} GROUP BY client "
                f"ORDER BY total DESC, newest DESC, client LIMIT {s.k}"
            ).fetchall()
        ]
    return found


def _agree(ours: pa.Table | None, theirs: list[Any]) -> None:
    assert ours is not None
    end = ours["window_end"].cast(pa.int64()).to_pylist()
    mine = list(zip(end, ours["client"].to_pylist(), ours["total"].to_pylist(), ours["n"].to_pylist(), strict=True))
    assert mine == [each[:4] for each in theirs], "the answers differ"


def _best(contestants: dict[str, Callable[[], Any]], rounds: int, run: Run, shape: str) -> dict[str, float]:
    best = dict.fromkeys(contestants, float("inf"))
    for i in range(rounds):
        for name, work in contestants.items():
            run.say(f"{shape}, round {i + 1} of {rounds}: {name}")
            began = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def _spark(s: Settings, shape: str, table: pa.Table, run: Run, result: Result) -> None:
    from pyspark.sql import Window, functions as f

    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        whole, few = Path(folder) / "whole", Path(folder) / "few"
        for path, records in ((whole, table), (few, table.slice(0, s.few))):
            path.mkdir()
            each = -(-len(records) // 4)
            for number in range(4):
                pq.write_table(records.slice(number * each, each), path / f"{number}.parquet")

        def own() -> None:
            frame = f.window("ts", f"{s.window} seconds", f"{s.slide} seconds")
            sums = spark.read.parquet(str(few)).groupBy(frame, "client").agg(
                f.sum("bytes").alias("total"), f.count("*").alias("n"), f.max("ts").alias("newest")
            )  # fmt: skip
            order = Window.partitionBy("window").orderBy(f.desc("total"), f.desc("newest"), "client")
            ranked = sums.withColumn("rank", f.row_number().over(order)).where(f"rank <= {s.k}")
            ranked.write.format("noop").mode("overwrite").save()

        def ours() -> None:
            work = sb.Workload([_query(s)], stream=STREAM)
            work.over(sb.scan(str(whole))).write.format("noop").mode("overwrite").save()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PySpark's own, about pandas 3
            seconds = _best({"skyband on Spark": ours}, s.rounds, run, shape)
            seconds |= _best({"Spark's own": own}, 1, run, shape)
    rate = {"skyband on Spark": s.records / seconds["skyband on Spark"], "Spark's own": s.few / seconds["Spark's own"]}
    for name, speed in rate.items():
        result.lines.append({"contestant": f"{name}, {shape}", "M records/s": speed / 1e6, "seconds": seconds[name]})
    speed = rate["skyband on Spark"] / rate["Spark's own"]
    result.ratios.append(Ratio(f"skyband on Spark over Spark's own, {shape}, speed", speed, at_least=run.asked(10)))
