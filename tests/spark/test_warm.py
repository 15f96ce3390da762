"""Families that workers have at hand between micro-batches: never ahead of the state, never behind it.

`TwsTester` plays Spark, one set of warm families each worker; what only Spark itself does is at the end.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, strategies as st

import skyband as sb
from skyband.engines.codec import sealed
from skyband.spark.event_time import from_watermark
from skyband.spark.stages import maintain
from skyband.spark.stages.processor import Maintain
from skyband.spark.state import store
from skyband.spark.state.segments import MERGED, Segment, holding, merged_with
from skyband.spark.state.store import KIND, FamilyStateStore
from skyband.spark.state.warm import WarmFamilies
from tests import support
from tests.drawn import examples
from tests.spark import jobs
from tests.spark.test_parity import MILLI
from tests.spark.test_processor import Played, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

MANY = examples(30, suppress_health_check=list(HealthCheck))
STREAMS = {
    "deletes": "OP = op",
    "rules": "PROBABILITY = p, RULE = rule",
    "errors": "LATENESS = 2 MILLISECONDS",
    "objects": "LATENESS = 2 MILLISECONDS",
    "groups": "LATENESS = 2 MILLISECONDS",
}
QUERIES = {
    "deletes": "SELECT TOP 3 id FROM s [{window}] ORDER BY value",
    "rules": "SELECT TOP 3 id FROM s [{window}] ORDER BY value",
    "errors": "SELECT TOP 3 id FROM s [{window}] ORDER BY value WITH ERROR 9 * p",
    "objects": "SELECT TOP 3 who FROM s [{window}] OBJECT who ACROSS op (SUM) ORDER BY SUM(value)",
    "groups": "SELECT TOP 2 PER who id FROM s [{window}] ORDER BY value EMIT CHANGES",
}
NAMES = ["query", "window_end", "group_key", "rank", "change"]


def workload(model: str, window: str = "RANGE 60 MILLISECONDS SLIDE 20 MILLISECONDS") -> sb.Workload:
    query = QUERIES[model].format(window=window)
    stream = f"CREATE STREAM s WITH (TIME = ts, KEY = id, {STREAMS[model]})"
    return sb.Workload.from_sql(f"{stream}; CREATE QUERY q AS {query};")


def records(count: int, deletes: bool) -> pa.Table:
    """One a millisecond, not all in order; every ninth takes back an earlier one where there are deletes."""
    draw, id = np.random.default_rng(4), np.arange(count)
    op = np.where((id % 9 == 8) & deletes, "D", "I")
    return pa.table(
        {
            "ts": pa.array(1_000 * (id + draw.integers(-2, 3, count))).cast(pa.timestamp("us", "UTC")),
            "id": np.where(op == "D", id - 5, id),
            "who": [f"w{n}" for n in draw.integers(0, 25, count)],
            "value": np.round(draw.random(count) * 50),
            "p": draw.random(count) * 0.9 + 0.05,
            "rule": draw.integers(0, 30, count),
            "op": op,
        }
    )


def cut(table: pa.Table, size: int) -> list[pa.Table]:
    return [table.slice(low, size) for low in range(0, len(table), size)]


def sorted_rows(rows: pa.Table) -> Any:
    shown = [name for name in rows.column_names if name not in ("row_start", "row_end", "warming")]
    return rows.select(shown).sort_by([(name, "ascending") for name in [*NAMES, shown[-1]]]).to_pylist()


@contextmanager
def on(worker: WarmFamilies) -> Iterator[None]:
    """What is called in here is called in this worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintain, "WARM", worker)
        yield


@contextmanager
def counted_segments() -> Iterator[Counter[str]]:
    """How many rows are read from the state."""
    found: Counter[str] = Counter()
    read = FamilyStateStore._segment

    def counted(self: FamilyStateStore, number: int) -> pa.Table:
        table = read(self, number)
        found.update(segments=1, rows=len(table))
        return table

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FamilyStateStore, "_segment", counted)
        yield found


@MANY
@given(
    workload=support.workloads(most=5, unit=MILLI),
    tables=support.tables(unit=MILLI),
    workers=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    few=st.sampled_from([0, 4]),
)
def test_any_worker_may_go_on(workload: sb.Workload, tables: list[pa.Table], workers: list[int], few: int) -> None:
    """`few` 0: every micro-batch can be repeated by a worker that is behind."""
    pool, played = [WarmFamilies() for _ in range(3)], Played(workload)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "FEW", few)
        for number, table in enumerate(tables):
            with on(pool[workers[number % 5]]):
                played.push(table)
    assert played.rows() == expected(workload, tables, from_watermark(played.watermark))


@pytest.mark.parametrize("model", QUERIES)
def test_any_worker_may_go_on_with_any_data_model(model: str) -> None:
    table = records(400, model == "deletes")
    tables, monitor = cut(table, 7), sb.Monitor(workload(model))
    played, pool, draw = (
        Played(workload(model), table.schema),
        [WarmFamilies(), WarmFamilies()],
        np.random.default_rng(1),
    )
    told = []
    for each in tables:
        with on(pool[draw.integers(0, 2)]):
            played.push(each)
        told.append(monitor.push(each))
    assert sorted_rows(played.table()) == sorted_rows(pa.concat_tables(told))


@pytest.mark.parametrize("model", QUERIES)
def test_what_is_read_of_the_state_does_not_grow_with_the_window(model: str) -> None:
    """A worker that is current reads nothing; of two that take turns each reads what came since it was there last."""
    table = records(1_500, model == "deletes")
    reads = []
    for workers in (1, 2):
        played = Played(workload(model, "RANGE 1000 MILLISECONDS SLIDE 250 MILLISECONDS"), table.schema)
        pool = [WarmFamilies() for _ in range(workers)]
        with counted_segments() as found:
            for number, each in enumerate(cut(table, 10)):
                with on(pool[number % workers]):
                    played.push(each)
        reads.append(found["rows"])
    assert reads[0] == 0
    if model != "groups":  # A log of changes is kept apart from the rows, and few of them are alive.
        assert reads[1] < 12 * len(table), "all of the window, each time, would be ninety times its rows"


def test_a_task_that_is_done_again_begins_where_the_state_is() -> None:
    """Whether the first attempt had saved the family or died before."""
    table = records(200, deletes=True)
    work, (first, *rest) = workload("deletes"), cut(table, 20)
    worker, played, monitor = WarmFamilies(), Played(work, table.schema), sb.Monitor(work)
    told = []
    with on(worker):
        played.push(first)
        told.append(monitor.push(first))
        for number, each in enumerate(rest):
            committed = played.again(work)
            with pytest.MonkeyPatch.context() as patch, suppress(OSError):
                if number % 2:
                    patch.setattr(FamilyStateStore, "save", _gone)
                played.push(each)
            played = committed
            played.push(each)
            told.append(monitor.push(each))
    assert sorted_rows(played.table()) == sorted_rows(pa.concat_tables(told))


def _gone(self: FamilyStateStore) -> None:
    raise OSError("gone")


def test_two_jobs_share_a_worker() -> None:
    """The same workload twice, on other records."""
    one, other = records(200, deletes=False), records(200, deletes=False)
    other = other.set_column(3, "value", pa.array(50 - other["value"].to_numpy()))
    work = workload("objects")
    played, told = [Played(work, one.schema) for _ in range(2)], list[list[pa.Table]]([[], []])
    monitors = [sb.Monitor(work) for _ in range(2)]
    with on(WarmFamilies()), counted_segments() as found:
        for pair in zip(cut(one, 20), cut(other, 20), strict=True):
            for which, each in enumerate(pair):
                played[which].push(each)
                told[which].append(monitors[which].push(each))
    assert not found, "each finds its own"
    for each, tables in zip(played, told, strict=True):
        assert sorted_rows(each.table()) == sorted_rows(pa.concat_tables(tables))


def test_a_worker_keeps_no_more_than_it_may() -> None:
    table = records(300, deletes=False)
    played, worker = Played(workload("objects"), table.schema), WarmFamilies(most=4_000)
    with on(worker):
        for each in cut(table, 30):
            played.push(each)
            assert worker._bytes <= 4_000
            assert worker._bytes == sum(size for _, size in worker._kept.values())
    assert len(worker._kept) < len(played.known)


def test_segments_are_merged_with_those_of_their_size() -> None:
    segments, first, written = list[Segment](), 0, 0
    for number in range(1_000):
        gone = merged_with(segments, 10)
        segments = segments[: len(segments) - len(gone)]
        begin = gone[0].first if gone else first
        first += 10
        segments.append(Segment(number, begin, first - begin))
        written += first - begin
    assert [each.first for each in segments[1:]] == [each.first + each.rows for each in segments[:-1]]
    assert len(segments) <= 4 * MERGED
    assert written <= 5 * first, "a row is written a few times"
    assert sum(each.rows for each in holding(segments, first - 15)) <= 20 * MERGED


def test_a_segment_that_is_written_anew_takes_the_place_of_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where most rows are dead with the next micro-batch: one write, and nothing to remove unless all of them are."""
    monkeypatch.setattr(store, "SLACK", -1_000)
    table = records(1_000, deletes=False)
    played = Played(workload("groups"), table.schema)
    with on(WarmFamilies()):
        for each in cut(table, 100):
            played.push(each)
    known = [played.clock(key) for key in set(played.known) & played.keys]
    assert known
    assert max(each["next segment"] for each in known) <= 2, "it was 18, a number for each write"
    assert {len(each["segments"]) for each in known} == {1}


@pytest.mark.parametrize("model", QUERIES)
def test_state_that_an_earlier_release_wrote_is_read(model: str) -> None:
    """It had no versions and no steps, and segments had numbers only."""
    table = records(300, model == "deletes")
    work, tables = workload(model), cut(table, 30)
    played, monitor = Played(work, table.schema), sb.Monitor(work)
    with on(WarmFamilies()):
        for number, each in enumerate(tables):
            if number == 5:
                for key in set(played.known) & played.keys:
                    earlier = played.clock(key)
                    earlier["segments"] = [segment[0] for segment in earlier["segments"]]
                    del earlier["steps"]
                    blob = sealed(KIND, {"state": json.dumps(earlier).encode()})
                    played.tester.updateValueState("clock", key, (blob,))
            played.push(each)
    told = [monitor.push(each) for each in tables]
    assert sorted_rows(played.table()) == sorted_rows(pa.concat_tables(told))


class Counting(Maintain):
    """Leaves a file for every task: what it asked the state for, by kind."""

    def __init__(self, folder: str, *made_of: Any) -> None:
        super().__init__(*made_of)
        self._folder, self._asked = folder, list[str]()

    def init(self, handle: StatefulProcessorHandle) -> None:
        from pyspark.sql.streaming.proto.StateMessage_pb2 import StateRequest

        client = handle._statefulProcessorApiClient
        send = client._send_proto_message

        def counted(message: bytes) -> None:
            request: Any = StateRequest.FromString(message)
            names = []
            while getattr(request, "DESCRIPTOR", None) and request.DESCRIPTOR.oneofs and request.WhichOneof("method"):
                names.append(request.WhichOneof("method"))
                request = getattr(request, names[-1])
            self._asked.append(".".join(names))
            send(message)

        client._send_proto_message = counted  # type: ignore[method-assign]
        super().init(handle)

    def close(self) -> None:
        super().close()
        Path(self._folder, f"{time.time_ns()}-{os.getpid()}").write_text("\n".join(self._asked))


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_stream_asks_the_state_for_little(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight keys in two partitions: nothing is asked twice, and of what was written only what a worker has missed."""
    from skyband.spark import pipeline
    from skyband.spark.io.sinks import Memory

    asked, work = tmp_path / "asked", workload("objects", "RANGE 900 MILLISECONDS SLIDE 300 MILLISECONDS")
    asked.mkdir()
    monkeypatch.setattr(pipeline, "Maintain", partial(Counting, str(asked)))
    tables, memory = cut(records(1_000, deletes=False), 125), Memory()
    jobs.write_files(tmp_path / "in", tables)
    df = spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema).option("maxFilesPerTrigger", 1)
    writer = work.over(df.parquet(str(tmp_path / "in"))).writeStream.foreachBatch(memory.write_batch)
    writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start().awaitTermination()
    monitor = sb.Monitor(work)
    assert sorted_rows(pa.concat_tables(list(memory.tables.values()))) == sorted_rows(
        pa.concat_tables([monitor.push(table) for table in tables])
    )
    tasks = [Counter(path.read_text().split()) for path in sorted(asked.iterdir())]
    total = sum(tasks, Counter[str]())
    keys = total["implicitGroupingKeyRequest.setImplicitKey"]
    assert total["utilsRequest.parseStringSchema"] == 0
    assert total["stateVariableRequest.valueStateCall.get"] == keys, "once for each key that has something to do"
    assert total["stateVariableRequest.valueStateCall.exists"] == 0
    missed = total["stateVariableRequest.mapStateCall.getValue"]
    assert missed < 2 * keys, "before, each read all segments: 3.5 in the mean"
    assert total.total() - missed <= 7 * keys + 10 * len(tasks)
