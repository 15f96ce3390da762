"""Into how many parts the state of a family is split: said when a checkpoint is begun, and remembered there."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband as sb
from skyband.model import NEVER
from skyband.model.times import Times
from skyband.runtime.encoded import GROUP, OBJECT
from skyband.runtime.hashing import hash_rows
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.partitioning import ByGroup, ByObject, Partitioning, bucket_of_query
from skyband.spark.state.keys import by_state_key, state_locations
from tests.spark import jobs
from tests.spark.chaos.workloads import DELETES, MINUTE
from tests.spark.test_run import assert_refused

TEXT = (
    jobs.WORKLOAD
    + """CREATE QUERY traded AS SELECT TOP 2 symbol, SUM(size) AS sold FROM trades [RANGE 1 MINUTE SLIDE 20 SECONDS]
  GROUP BY symbol ORDER BY sold DESC;
"""
    + "".join(
        f"CREATE QUERY mixed{n} AS SELECT TOP 2 trade_id FROM trades [RANGE 40 SECONDS SLIDE 20 SECONDS] "
        f"ORDER BY {n} * price + size DESC;\n"
        for n in range(9)
    )
)


def test_where_nobody_says_parts_are_those_of_earlier_releases() -> None:
    words = np.random.default_rng(1).integers(-(2**63), 2**63, 1_000)
    by_object = split(ByObject(), pa.table({OBJECT: words}), OBJECT)
    assert {name: sorted(each) for name, each in by_object.items()} == {
        number: sorted(words[(words >> 61) & 7 == number].tolist()) for number in range(8)
    }
    names = pa.table({GROUP: [f"g{n}" for n in range(1_000)]})
    bucket = hash_rows(names) % 16
    assert {name: set(each) for name, each in split(ByGroup(), names, GROUP).items()} == {
        number: set(names.filter(pa.array(bucket == number))[GROUP].to_pylist()) for number in range(16)
    }
    assert [bucket_of_query(name, None) for name in ("a", "b", "biggest")] == [7, 5, 7]


def split(partitioning: Partitioning, rows: pa.Table, column: str) -> dict[int, list[Any]]:
    return {number: part[column].to_pylist() for number, part in partitioning.split(rows)}


@pytest.mark.parametrize("parts", [8, 50])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT TOP 2 PER part id FROM s [RANGE 1 HOUR] ORDER BY x",
        "SELECT TOP 2 PER part id FROM maybe [RANGE 1 HOUR] ORDER BY x",
        "SELECT TOP 2 part, SUM(x) AS total FROM s [RANGE 1 HOUR] GROUP BY part ORDER BY total",
        "SELECT TOP 2 id FROM gone [RANGE 1 HOUR] ORDER BY x",
        "SELECT TOP 2 part FROM s [RANGE 1 HOUR] OBJECT part ACROSS place (SUM) ORDER BY SUM(x)",
    ],
    ids=["PER", "uncertain PER", "top groups", "deletes", "objects"],
)
def test_of_many_groups_no_part_has_much_more_than_its_share(query: str, parts: int) -> None:
    """10,000 groups of as many records each."""
    n = 20_000
    streams = (
        "CREATE STREAM s WITH (TIME = ts, KEY = id); CREATE STREAM maybe WITH (TIME = ts, KEY = id, PROBABILITY = p);"
        "CREATE STREAM gone WITH (TIME = ts, KEY = id, OP = op);"
    )
    at = pa.array(np.arange(n)).cast(pa.timestamp("us", "UTC"))
    table = pa.table(
        {
            "ts": at,
            "id": np.arange(n),
            "part": np.arange(n) % 10_000,
            "place": np.arange(n) // 10_000,
            "x": np.random.default_rng(2).random(n),
            "p": np.full(n, 0.5),
            "op": np.where(np.arange(n) % 10, "I", "U"),
        }
    )
    (planned,) = sb.Workload.from_sql(f"{streams} CREATE QUERY q AS {query};").plan().in_parts(parts).families
    operator = FamilyOperator(planned)
    operator.bind(table.schema)
    group = table["part"].cast(pa.string()).combine_chunks() if planned.family.per else None
    rows = operator.encode(table, Times(np.arange(n)), group, int(NEVER)).rows
    sizes = [len(part) for _, part in operator.model.partitioning.split(rows)]
    assert len(sizes) == parts
    assert sum(sizes) == len(rows) >= 10_000
    assert max(sizes) <= 2 * len(rows) / parts


@pytest.mark.spark
@pytest.mark.slow
def test_a_checkpoint_keeps_the_parts_it_was_begun_with(tmp_path: Path) -> None:
    tables = jobs.trades(files=3)
    jobs.write_files(tmp_path / "in", tables[:2])
    path = tmp_path / "parts.sql"
    path.write_text(TEXT)

    def run(checkpoint: str, *more: str) -> CompletedProcess[str]:
        words: list[str | Path] = ["run", path, "--source", f"trades={tmp_path / 'in'}?maxFilesPerTrigger=1"]
        words += ["--sink", tmp_path / f"{checkpoint}-out", "--checkpoint", tmp_path / checkpoint]
        return jobs.warm(*words, "--stream", "--once", "--master", "local[1]", *more)

    assert run("three", "--parts", "3").returncode == 0
    assert run("usual").returncode == 0
    for checkpoint, parts, known in (
        ("three", "4", "3 parts"),
        ("usual", "8", "16 parts by group, and 8 by query or object"),
    ):
        told = f"--parts {parts}, and the state in {tmp_path / checkpoint} is in {known}"
        assert_refused(run(checkpoint, "--parts", parts), told)
    note = json.loads((tmp_path / "three" / "skyband.json").read_text())
    assert note["parts"] == 3
    numbers = {int(key.rpartition("/")[2]) for each in note["state"] for key in each["keys"]}
    assert numbers == {0, 1, 2}
    jobs.write_files(tmp_path / "later", tables[2:], first=2)
    for file in (tmp_path / "later").iterdir():
        file.rename(tmp_path / "in" / file.name)
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT))
    expected = pa.concat_tables([*map(monitor.push, tables), monitor.close()]).to_pylist()
    for checkpoint in ("three", "usual"):
        done = run(checkpoint, "--drain")
        assert done.returncode == 0, done.stderr
        assert jobs.bag(jobs.listed(tmp_path / f"{checkpoint}-out").to_pylist()) == jobs.bag(expected)


@pytest.mark.spark
@pytest.mark.slow
def test_a_delete_finds_its_record_in_whatever_part(tmp_path: Path) -> None:
    """Ten scores besides: lists of all parts are merged for each."""
    text = DELETES.text + "".join(
        f"CREATE QUERY score{n} AS SELECT TOP 3 trade_id FROM trades {MINUTE} ORDER BY {n} * price + size;\n"
        for n in range(10)
    )
    tables = DELETES.tables(files=3)
    jobs.write_files(tmp_path / "in", tables[:2])
    words: list[str | Path] = ["run", jobs.write_workload(tmp_path, text), "--checkpoint", tmp_path / "checkpoint"]
    words += ["--source", f"trades={tmp_path / 'in'}?maxFilesPerTrigger=1", "--sink", tmp_path / "out"]
    words += ["--stream", "--once", "--drain", "--master", "local[1]"]
    assert jobs.warm(*words, "--parts", "3").returncode == 0
    jobs.write_files(tmp_path / "later", tables[2:], first=2)
    (tmp_path / "later" / "0002.parquet").rename(tmp_path / "in" / "0002.parquet")
    done = jobs.warm(*words)
    assert done.returncode == 0, done.stderr
    note = json.loads((tmp_path / "checkpoint" / "skyband.json").read_text())
    assert {len(each["keys"]) for each in note["state"]} == {3}
    monitor = sb.Monitor(sb.Workload.from_sql(text))
    expected = pa.concat_tables([*map(monitor.push, tables), monitor.close()]).to_pylist()
    assert jobs.bag(jobs.listed(tmp_path / "out").to_pylist()) == jobs.bag(expected)


def test_where_changes_are_asked_for_nobody_takes_a_part_for_the_whole() -> None:
    """They need all records in one place: whoever was in several begins anew, and says so."""
    text = f"CREATE QUERY more AS SELECT TOP 1 trade_id FROM trades {MINUTE} ORDER BY price * size EMIT CHANGES;"
    before, after = (sb.Workload.from_sql(DELETES.text + each).plan().in_parts(3) for each in ("", text))
    (minute,) = (each for each in after.families if len(each.family.queries) == 2)
    (same,) = (each for each in before.families if each.family.fingerprint == minute.family.fingerprint)
    assert len(by_state_key([same])) == 3
    assert len(by_state_key([minute])) == 1
    assert not by_state_key([same]).keys() & by_state_key([minute]).keys()
    known, now = state_locations([same]), state_locations([minute])
    assert all(now[query] != known[query] for query in known)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--parts", "3"), "--parts without --stream"),
        (("--parts", "3", "--monitor"), "--parts with --monitor"),
        (("--parts", "0", "--stream"), "--parts 0"),
    ],
)
def test_parts_are_those_of_a_stream(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    done = jobs.warm(
        "run", jobs.write_workload(tmp_path), "--source", f"trades={tmp_path / 'in'}", "--sink", "noop", *words
    )
    assert done.returncode == 2
    assert told in done.stderr
