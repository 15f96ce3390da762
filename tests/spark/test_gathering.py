"""What a task spends on pruning rows that no rule drops, and what it holds of a file; no Spark is needed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.engines import pruning
from skyband.engines.kernels.common.prune import prune_runs
from skyband.model import Ints, Keys, MetaQuery
from skyband.model.times import Times
from skyband.runtime import partitioning
from skyband.runtime.data_models.complete import Complete
from skyband.runtime.encoded import AT, GROUP, HASH, KEY, SCORE
from skyband.runtime.hashing import hash_rows
from skyband.runtime.lateness import Lateness
from skyband.runtime.reader import StreamReader
from skyband.spark.io.file_parts import ColumnsWanted, Files
from skyband.spark.io.parquet_files import PARQUET
from skyband.spark.stages.batch import by_key
from skyband.spark.stages.prune import Bound, Prune
from skyband.spark.stages.scan import SHARE, SHARES, URI, PartsOfFiles, Scan
from skyband.spark.stages.slices import PartitionSlice, one_table
from skyband.spark.state.keys import LATE

STREAM = sb.Stream("s", time="ts", key="id")


def records(count: int, groups: int) -> pa.Table:
    at = 1_000 * np.arange(count)
    draw = np.random.default_rng(3)
    columns = {"ts": pa.array(at).cast(pa.timestamp("us", "UTC")), "id": at, "score": draw.random(count)}
    return pa.table(columns | {"key": draw.integers(0, groups, count)})


def workload() -> sb.Workload:
    return sb.Workload([sb.TopK("q", 3, "score", "10 seconds", "1 second", per="key")], stream=STREAM)


def looked_at(monkeypatch: pytest.MonkeyPatch, table: pa.Table, piece: int) -> Counter[str]:
    """How many rows were looked at to drop some, in pieces as they came and gathered."""
    found: Counter[str] = Counter()
    prune = Complete.prune

    def gathered(self: Complete, rows: pa.Table, aligned: bool = True) -> pa.Table:
        found["gathered"] += len(rows)
        return prune(self, rows, aligned)

    def runs(group: Ints, at: Ints, score: Keys, shortest: int, most: int, both: bool) -> np.ndarray:
        found["runs"] += len(at)
        return np.asarray(prune_runs(group, at, score, shortest, most, both))

    monkeypatch.setattr(Complete, "prune", gathered)
    monkeypatch.setattr(Complete, "pending", 4 * piece)
    monkeypatch.setattr(pruning, "prune_runs", runs)
    found["sent"] = sum(len(one_table([each]) or ()) for each in pruned(table, piece))
    return found


def pruned(table: pa.Table, piece: int = 1_000) -> list[PartitionSlice]:
    """What a task makes of these records."""
    bound = [Bound.of(planned, table.schema) for planned in workload().plan().families]
    batches = Prune(StreamReader(STREAM, table.schema), bound, now=2**60)(iter(table.to_batches(max_chunksize=piece)))
    return [each for key, slices in by_key(batches) if key != LATE for each in slices]


def test_rows_that_no_rule_drops_are_not_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table = records(40_000, groups=8_000)
    assert looked_at(monkeypatch, table, piece=1_000)["gathered"] <= 2 * len(table)


def test_what_is_left_of_many_groups_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten records of each group are in a window: about half are left, however often one looks."""
    table = records(40_000, groups=1_000)
    looked = looked_at(monkeypatch, table, piece=1_000)
    assert looked["gathered"] <= 1.2 * len(table)
    assert looked["sent"] <= 0.65 * len(table)


@pytest.mark.parametrize("nought", [0.0, -0.0])
def test_a_column_that_is_there_twice_crosses_once(nought: float) -> None:
    """Time, score and key are shown as they are; but -0 is ranked as 0, and shown as -0."""
    table = records(100, groups=90)
    score = np.append(table["score"].to_numpy()[1:], nought)
    table = table.set_column(2, "score", pa.array(score))
    crossed = pruned(table)
    there = {name for each in crossed for name in pa.ipc.open_stream(each.rows).schema.names}
    assert there == {HASH, GROUP, *table.column_names} | ({SCORE} if np.signbit(nought) else set())
    rows = one_table(crossed)
    assert rows is not None
    rows = rows.sort_by(AT)
    assert rows.column_names == [AT, SCORE, HASH, KEY, GROUP, *table.column_names]
    assert rows.select(table.column_names) == table
    assert rows[AT] == table["ts"].cast(pa.int64())
    assert rows[KEY] == table["id"]
    assert rows[SCORE].to_numpy().tobytes() == (score + 0.0).tobytes()


def test_a_piece_with_a_record_or_two_of_each_group_is_sent_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (looked_at(monkeypatch, records(8_000, groups), piece=4_000)["runs"] for groups in (4_000, 40))
    assert few == 0
    assert many >= 8_000


@pytest.mark.parametrize("groups", [40, 500, 4_000])
def test_what_is_dropped_may_be_dropped(groups: int) -> None:
    """Of each group what the two-sided rule keeps, or more; a record of a list is always among it."""
    table = records(8_000, groups)
    (planned,) = workload().plan().families
    meta: MetaQuery = planned.meta
    group, at = table["key"].to_numpy(), table["ts"].cast(pa.int64()).to_numpy()
    kept = set(pruning.prune_groups(meta, group, Times(at), table["score"].to_numpy()).tolist())
    monitor = sb.Monitor(workload())
    listed = pa.concat_tables([monitor.push(table), monitor.close()])["score"].to_numpy()
    assert set(np.flatnonzero(np.isin(table["score"].to_numpy(), listed)).tolist()) <= kept


@pytest.mark.parametrize("groups", [40, 4_000])
def test_a_bucket_is_told_by_the_hash_of_its_group(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For ever, as checkpoints rely on it; and each group is hashed once."""
    names = [f"g{n}" for n in np.random.default_rng(5).integers(0, groups, 8_000)]
    rows = pa.table({GROUP: names, "n": range(8_000)})
    hashed: list[int] = []

    def counted(table: pa.Table) -> Ints:
        hashed.append(len(table))
        return hash_rows(table)

    monkeypatch.setattr(partitioning, "hash_rows", counted)
    parts = dict(partitioning.ByGroup().split(rows))
    assert sum(hashed) == len(set(names))
    bucket = hash_rows(rows.select([GROUP])) % partitioning.GROUP_PARTS
    assert {number: part["n"].to_pylist() for number, part in parts.items()} == {
        number: np.flatnonzero(bucket == number).tolist() for number in np.unique(bucket).tolist()
    }


def most_held(path: Path, table: pa.Table) -> int:
    """Bytes that Arrow had at once while a task of a stream read the whole file."""
    plan = sb.Workload([sb.TopK("q", 10, "score", "10 seconds", "1 second")], stream=STREAM).plan()
    bound = [Bound.of(each, table.schema) for each in plan.families]
    prune = Prune(StreamReader(STREAM, table.schema), bound, Lateness.of(plan.families), now=2**60)
    scan = Scan(prune, Files(PARQUET, ColumnsWanted(table.schema)), PartsOfFiles(pa.schema([])))
    told = pa.record_batch({URI: [path.as_uri()], SHARE: [0], SHARES: [1]})
    usual, watched = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(watched)
    try:
        assert list(scan(iter([told])))
    finally:
        pa.set_memory_pool(usual)
    return int(watched.max_memory())


def test_a_large_micro_batch_is_not_held_whole(tmp_path: Path) -> None:
    """Ten times the records take no more memory: row groups pass one after the other."""
    held = []
    for count in (40_000, 400_000):
        table, path = records(count, 2), tmp_path / f"{count}.parquet"
        pq.write_table(table, path, row_group_size=10_000)
        held.append(most_held(path, table))
    assert held[1] < 1.5 * held[0] < table.nbytes / 4
