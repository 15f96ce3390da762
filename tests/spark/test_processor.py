"""The stateful stage without a cluster: PySpark's `TwsTester` plays Spark, the oracle judges.

What the tester does not do (types of the state, RocksDB, watermarks by themselves, input before timers) the tests in
`test_parity.py`, `test_drain.py` and `test_workload_change.py` do on Spark itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, strategies as st
from pyspark.sql import Row

import skyband as sb
from skyband.engines.codec import table_of, unsealed
from skyband.model import Query
from skyband.runtime import steps
from skyband.runtime.data_models import complete
from skyband.runtime.lateness import Lateness
from skyband.runtime.reader import StreamReader
from skyband.runtime.results import Results
from skyband.spark.event_time import SHIFT, from_watermark
from skyband.spark.stages import spill
from skyband.spark.stages.processor import Maintain
from skyband.spark.stages.prune import SLICE, Bound, Prune
from skyband.spark.stages.unpack import Unpack
from skyband.spark.state.joining import NOTHING_NOTED, Joining
from skyband.spark.state.keys import by_state_key
from skyband.spark.state.segments import MERGED
from skyband.spark.state.store import KIND
from skyband.spark.state.warm import WARM
from tests import support
from tests.drawn import examples
from tests.spark.test_parity import MILLI, full, in_stream_order, oracle, ordered

MANY = examples(30, suppress_health_check=list(HealthCheck))
STREAM = sb.Stream("s", time="ts", key="id", lateness="2 milliseconds")


class Played:
    """A stream of tables: prune, then the processor as the tester runs it, then unpack."""

    def __init__(
        self,
        workload: sb.Workload,
        schema: pa.Schema = support.SCHEMA,
        engine: str | None = None,
        joining: Joining = NOTHING_NOTED,
        state_parts: int | None = None,
    ) -> None:
        # Not in Spark 4.1, on which tests run that share something with these.
        from pyspark.sql.streaming.tws_tester import TwsTester

        self.plan, self.state_parts = workload.plan(engine).in_parts(state_parts), state_parts
        self.stream, self.schema, self.engine = workload.streams[0], schema, engine
        self.known = by_state_key(self.plan.families)
        reader = StreamReader(self.stream, schema)
        bound = [Bound.of(each, schema) for each in self.plan.families]
        self.prune = Prune(reader, bound, Lateness.of(list(self.plan.families)), now=2**60)
        self.unpack = Unpack(self.known, Results(self.plan, [reader]))
        # Encoded rows have no time of their own: none of them may be dropped for it.
        self.tester = TwsTester(
            Maintain(self.known, joining), timeMode="EventTime", eventTimeExtractor=lambda row: 2**62
        )
        self.keys: set[str] = set()
        self.latest, self.watermark = -(2**62), 0
        self.told: list[Row] = []

    def push(self, table: pa.Table, parts: int = 1) -> None:
        """A micro-batch, then the watermark that follows it; timers fire in between, as in an empty micro-batch."""
        packed = [batch for part in split(table, parts) for batch in self.prune(iter(part.to_batches()))]
        rows = [row for batch in packed for row in batch.to_pylist()]
        for key in sorted({row["state_key"] for row in rows}):
            self.keys.add(key)
            mine = [Row(**row) for row in rows if row["state_key"] == key]
            self.told += self.tester.test(key, mine)
            assert len(self.timers(key)) <= 1
        if len(table):
            self.latest = max(self.latest, pa.compute.max(table.column("ts")).cast(pa.int64()).as_py())
        self.advance((self.latest - self.stream.lateness + SHIFT) // MILLI)

    def advance(self, milliseconds: int) -> None:
        if milliseconds > self.watermark:
            self.watermark = milliseconds
            self.told += self.tester.setWatermark(milliseconds)

    def timers(self, key: str) -> list[int]:
        self.tester.handle.setGroupingKey(key)
        return list(self.tester.handle.listTimers())

    def segments(self, key: str) -> dict[Any, Any]:
        return self.tester.peekMapState("segments", key)

    def clock(self, key: str) -> dict[str, Any]:
        found = self.tester.peekValueState("clock", key)
        assert found is not None
        clock: dict[str, Any] = json.loads(unsealed(KIND, bytes(found[0]))["state"])
        return clock

    def rows(self) -> list[support.Expected]:
        return ordered(self.table())

    def table(self) -> pa.Table:
        answers = [row.asDict() for row in self.told if row.answers is not None or row.spilled is not None]
        names = {"state_key": pa.string(), "answers": pa.binary(), "spilled": pa.string()}
        batch = pa.RecordBatch.from_pylist(answers, pa.schema(names))
        tables = [pa.Table.from_batches([found]) for found in self.unpack(iter([batch]))]
        return pa.concat_tables(tables) if tables else self.unpack.results.schema.empty_table()

    def restarted(self, workload: sb.Workload, joining: Joining = NOTHING_NOTED) -> Played:
        """Another process on the same checkpoint: its state and its timers, nothing else."""
        WARM.clear()
        return self.again(workload, joining)

    def again(self, workload: sb.Workload, joining: Joining = NOTHING_NOTED) -> Played:
        """The same process once more on this state."""
        other = Played(workload, self.schema, self.engine, joining, self.state_parts)
        for key in self.keys:
            clock = self.tester.peekValueState("clock", key)
            if clock is not None:
                other.tester.updateValueState("clock", key, clock)
            other.tester.updateMapState("segments", key, dict(self.segments(key)))
            due = self.timers(key)
            other.tester.handle.setGroupingKey(key)
            for moment in due:
                other.tester.handle.registerTimer(moment)
        other.keys, other.latest, other.told = self.keys, self.latest, list(self.told)
        other.advance(self.watermark)
        return other


def split(table: pa.Table, parts: int) -> list[pa.Table]:
    """Stretches of the stream, numbered, as `repartitionByRange` makes them: equal times stay together."""
    whole = table.sort_by([("ts", "ascending")])
    at = whole.column("ts").cast(pa.int64()).to_numpy()
    places = np.searchsorted(at, at[[len(at) * part // parts for part in range(1, parts)]]) if len(at) else []
    cuts = [0, *sorted({int(place) for place in places} - {0}), len(at)]
    stretches = [whole.slice(low, high - low) for low, high in pairwise(cuts) if high > low]
    return [part.append_column(SLICE, pa.array([number] * len(part))) for number, part in enumerate(stretches)]


def expected(workload: sb.Workload, tables: Sequence[pa.Table], reached: int) -> list[support.Expected]:
    told = [in_stream_order(table, workload.streams[0].key) for table in tables]
    return [row for row in oracle(workload, told, reached) if full(workload, row, told)]


@MANY
@given(
    workload=support.workloads(most=8, unit=MILLI),
    tables=support.tables(unit=MILLI),
    parts=st.integers(1, 3),
    cold=st.sets(st.integers(0, 4)),
)
def test_rows_are_the_oracles_late_ones_included(
    workload: sb.Workload, tables: list[pa.Table], parts: int, cold: set[int]
) -> None:
    """Whichever micro-batches come to a worker that has nothing at hand."""
    played = Played(workload)
    for number, table in enumerate(tables):
        if number in cold:
            WARM.clear()
        played.push(table, parts)
    assert played.rows() == expected(workload, tables, from_watermark(played.watermark))
    monitor = sb.Monitor(workload)
    for table in tables:
        monitor.push(table)
    found = {name: sum(getattr(row, name) for row in played.told) for name in ("late", "dropped")}
    assert found == {name: monitor.counters[name] for name in found}


@MANY
@given(workload=support.workloads(most=8, unit=MILLI), tables=support.tables(unit=MILLI), ready=st.integers(0, 5))
def test_kernels_may_be_ready_at_any_micro_batch(workload: sb.Workload, tables: list[pa.Table], ready: int) -> None:
    """Until then tasks and state do without."""
    pushed = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(complete, "is_compiled", lambda unit: pushed >= ready)
        played = Played(workload)
        for table in tables:
            played.push(table, 2)
            pushed += 1
    assert played.rows() == expected(workload, tables, from_watermark(played.watermark))


@MANY
@given(workload=support.workloads(most=8, unit=MILLI), tables=support.tables(unit=MILLI), data=st.data())
def test_pieces_of_any_size_make_the_same_rows(
    workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "STEP_BYTES", data.draw(st.sampled_from([1, 300, 3_000])))
        patch.setattr(steps, "PIECE_BYTES", data.draw(st.sampled_from([1, 500])))
        patch.setattr(spill, "INLINE_BYTES", data.draw(st.sampled_from([0, 2_000])))
        played = Played(workload)
        for table in tables:
            played.push(table)
        assert played.rows() == expected(workload, tables, from_watermark(played.watermark))


def test_hours_leave_in_pieces() -> None:
    """Six minutes at once for 30 queries with a list of 100 each second: a million rows."""
    queries = [sb.TopK(f"q{k}", k, "score", "1 hour", "1 second") for k in range(100, 70, -1)]
    workload = sb.Workload(queries, stream=STREAM)
    played = Played(workload)
    records = [(500 * MILLI * id, id, float(id * 7919 % 1_000), 1, "red") for id in range(720)]
    played.push(support.table_of(records))
    inline = [len(row.answers) for row in played.told if row.answers is not None]
    assert sum(inline) <= 16_000_000, "what a call yields becomes one Arrow batch"
    files = [row.spilled for row in played.told if row.spilled is not None]
    assert files
    tables = [table for file in files for table in spill.received(None, file)]
    assert max(table.nbytes for table in tables) <= 64_000_000
    told = sum(map(len, tables)) + sum(len(table_of(row.answers) or []) for row in played.told if row.answers)
    assert told == sum(min(2 * second, query.k) for query in queries for second in range(1, 360))
    assert not any(Path(file).exists() for file in files), "a file is read once"


@MANY
@given(workload=support.workloads(most=5, unit=MILLI), tables=support.tables(unit=MILLI), at=st.integers(0, 4))
def test_another_process_goes_on_from_the_state(workload: sb.Workload, tables: list[pa.Table], at: int) -> None:
    played = Played(workload)
    for number, table in enumerate(tables):
        if number == at:
            played = played.restarted(workload)
        played.push(table)
    assert played.rows() == expected(workload, tables, from_watermark(played.watermark))


@MANY
@given(
    workload=support.workloads(most=4, unit=MILLI),
    tables=support.tables(unit=MILLI),
    cut=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    data=st.data(),
)
def test_a_query_that_was_away_is_complete_where_it_does_not_say_warming(
    workload: sb.Workload, tables: list[pa.Table], cut: tuple[int, int], data: st.DataObject
) -> None:
    """Some leave and come back: what is not warming is what the oracle says of the whole stream."""
    away = data.draw(st.sets(st.sampled_from([query.name for query in workload.queries]), min_size=1))
    rest = [query for query in workload.queries if query.name not in away and not (query.per and in_rows(query))]
    if not rest:
        return
    begun, back = min(cut), max(cut)
    smaller = sb.Workload(rest, stream=workload.streams[0])
    played, records, found = Played(workload), 0, list[support.Expected]()

    def warm() -> list[support.Expected]:
        """Numbers in answers mean queries of the workload that gave them."""
        rows = [row for row in played.table().to_pylist() if not row["warming"]]
        played.told = []
        return ordered(pa.Table.from_pylist(rows, played.unpack.results.schema))

    for number, table in enumerate(tables):
        if number == begun and begun < back:
            found += warm()
            played = played.restarted(smaller)
        if number == back and begun < back:
            found += warm()
            joined = {str(query): number + 1 if query.name in away else 0 for query in workload.queries}
            played = played.restarted(workload, Joining(joined, {"s": records}))
        played.push(table)
        records += len(table)
    found += warm()
    told = {query.name for query in workload.queries if not (query.per and in_rows(query))}
    wanted = expected(workload, tables, from_watermark(played.watermark))
    assert {row for row in found if row.query in told} <= set(wanted)
    for query in rest:
        assert {row for row in found if row.query == query.name} == {row for row in wanted if row.query == query.name}


def in_rows(query: Query) -> bool:
    return query.window.kind == "rows"


def steady(first: int, count: int, score: float | None = None) -> pa.Table:
    """A record each millisecond."""
    ids = range(first, first + count)
    return support.table_of([(MILLI * id, id, score or float(id * 7919 % 1_000), 1, "red") for id in ids])


def best(k: int = 3, width: int = 40) -> sb.Workload:
    return sb.Workload([sb.TopK("best", k, "score", f"{width} milliseconds", "5 milliseconds")], stream=STREAM)


@pytest.mark.parametrize("away", [best().queries[0], sb.TopK("last", 3, "score", "12 rows", 4, stream="s")])
def test_a_query_that_comes_back_joins_anew(away: Query) -> None:
    """Windows that reach back to when it was away say so, and positions are the stream's."""
    stays = sb.TopK("stays", 2, "score - bonus", "20 milliseconds", stream="s")
    both, one = sb.Workload([stays, away], stream=STREAM), sb.Workload([stays], stream=STREAM)
    cuts = [0, 21, 22, 60, 105]
    tables = [steady(low, high - low) for low, high in pairwise(cuts)]
    played = Played(both)
    played.push(tables[0])
    found = played.table().to_pylist()
    played = played.restarted(one)
    played.push(tables[1])
    played, played.told = played.restarted(both, Joining({str(stays): 0, str(away): 2}, {"s": 22})), []
    for table in tables[2:]:
        played.push(table)
    found = [row for row in [*found, *played.table().to_pylist()] if row["query"] == away.name]
    schema = played.unpack.results.schema
    warm = ordered(pa.Table.from_pylist([row for row in found if not row["warming"]], schema))
    wanted = [row for row in expected(both, tables, from_watermark(played.watermark)) if row.query == away.name]
    # Rows come in whole slides; before the first that begins after it came back some are missing.
    left, came = (20, 24) if in_rows(away) else (15 * MILLI, 25 * MILLI)
    assert warm == [row for row in wanted if row.end <= left or row.start >= came]
    assert [row for row in found if row["warming"]]


def test_groups_that_nobody_counted_go_on_where_the_stream_is() -> None:
    """22 records had come, the slide is 4: the first record of a group after that stands at 24."""
    stays = sb.TopK("stays", 2, "score - bonus", "20 milliseconds", stream="s")
    groups = sb.TopK("groups", 3, "score", "12 rows", 4, stream="s", per="color")
    played = Played(sb.Workload([stays], stream=STREAM))
    played.push(steady(0, 22))
    joining = Joining({str(stays): 0, str(groups): 1}, {"s": 22})
    played, played.told = played.restarted(sb.Workload([stays, groups], stream=STREAM), joining), []
    played.push(steady(22, 30))
    played = played.restarted(sb.Workload([stays, groups], stream=STREAM), joining)
    played.push(steady(52, 30))
    rows = [row for row in played.table().to_pylist() if row["query"] == "groups"]
    schema = played.unpack.results.schema
    warm = ordered(pa.Table.from_pylist([row for row in rows if not row["warming"]], schema))
    alone = sb.Workload([groups], stream=STREAM)
    wanted = expected(alone, [steady(22, 60)], from_watermark(played.watermark))
    assert warm == [replace(row, start=row.start + 24, end=row.end + 24) for row in wanted if row.start >= 0]
    assert {row["row_start"] for row in rows if row["warming"]} == {16, 20}


def key_of(workload: sb.Workload) -> str:
    return f"{workload.plan().families[0].family.fingerprint}/0"


def test_a_quiet_key_reports_by_its_timer_and_ends_without_one() -> None:
    workload = best()
    played, key = Played(workload), key_of(workload)
    played.push(steady(0, 10))
    before = len(played.rows())
    (due,) = played.timers(key)
    assert from_watermark(due) == 10 * MILLI, "the next window that closes"
    played.advance(due)
    assert len(played.rows()) > before
    played.advance(due + 1_000)
    assert played.timers(key) == [], "nothing is left to report"
    assert played.rows() == oracle(workload, [steady(0, 10)])


def test_what_is_new_is_written_and_nothing_else() -> None:
    workload = best()
    played, key = Played(workload), key_of(workload)
    played.push(steady(0, 20))
    written = played.segments(key)
    played.push(steady(20, 20, score=2_000.0))
    later = played.segments(key)
    assert set(written) < set(later)
    assert all(later[number] == value for number, value in written.items())
    for number in range(2, 80):
        played.push(steady(20 * number, 20))
    assert len(played.segments(key)) <= 3 * MERGED
    stored = sum(len(bytes(value[0])) for value in played.segments(key).values())
    assert stored < 100_000, "rows of windows long gone are gone"


def test_a_family_of_an_earlier_workload_is_forgotten() -> None:
    workload = best()
    played, key = Played(workload), key_of(workload)
    played.push(steady(0, 50))
    other = sb.Workload([sb.TopK("lowest", 2, "bonus", "10 milliseconds")], stream=STREAM)
    again = played.restarted(other)
    again.advance(again.watermark + 1_000)
    assert again.tester.peekValueState("clock", key) is None
    assert again.segments(key) == {}
    assert again.timers(key) == []


def test_a_query_that_joins_is_warming_until_its_first_whole_window() -> None:
    stays = sb.TopK("stays", 2, "score", "20 milliseconds", "5 milliseconds")
    joins = sb.TopK("joins", 4, "score", "30 milliseconds", "5 milliseconds")
    played = Played(sb.Workload([stays], stream=STREAM))
    for number in range(4):
        played.push(steady(20 * number, 20))
    again = played.restarted(sb.Workload([stays, joins], stream=STREAM))
    for number in range(4, 10):
        again.push(steady(20 * number, 20))
    whole = sb.Workload([stays, joins], stream=STREAM)
    told = expected(whole, [steady(20 * number, 20) for number in range(10)], from_watermark(again.watermark))
    assert [row for row in again.rows() if row.query == "stays"] == [row for row in told if row.query == "stays"]
    since = again.clock(key_of(whole))["operator"]["queries"][str(whole.queries[1])]["since"]
    complete = [row for row in again.rows() if row.query == "joins" and row.start >= since]
    assert complete
    assert complete == [row for row in told if row.query == "joins" and row.start >= since]


def test_state_of_another_version_is_refused() -> None:
    workload = best()
    played, key = Played(workload), key_of(workload)
    played.push(steady(0, 10))
    again = played.restarted(workload)
    again.tester.updateValueState("clock", key, (json.dumps({"version": 1, "until": 0}).encode(),))
    with pytest.raises(sb.SkybandError, match="a snapshot of version 1"):
        again.push(steady(10, 10))


def test_damaged_state_is_refused() -> None:
    workload = best()
    played, key = Played(workload), key_of(workload)
    played.push(steady(0, 10))
    again, found = played.restarted(workload), played.tester.peekValueState("clock", key)
    assert found is not None
    bits = bytearray(found[0])
    bits[len(bits) // 2] ^= 1
    again.tester.updateValueState("clock", key, (bytes(bits),))
    with pytest.raises(sb.SkybandError, match="its checksum is wrong"):
        again.push(steady(10, 10))
