"""PostgreSQL: rows with anything in them, columns that come later, servers that go away, roles that may make none."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.spark import patience
from skyband.spark.io.postgres import LONGEST_KEY, Table, check_postgres, upsert
from tests import poisoned
from tests.spark.servers import table_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
Frame = Callable[[pa.Table], "DataFrame"]


@pytest.fixture
def frame(spark: SparkSession, tmp_path: Path) -> Frame:
    def made(table: pa.Table) -> DataFrame:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        pq.write_table(table, path)
        return spark.read.parquet(str(path))

    return made


def asked(address: str, text: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(text)
        return cursor.fetchall() if cursor.description else []


def named(table: pa.Table) -> pa.Table:
    return table.append_column("identity", table.column("id").cast(pa.string()))


def test_values_that_postgres_has_not_cost_themselves_only(
    frame: Frame, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Every poisoned record is written, and every other column of it as it is."""
    figures = [(name, value) for name, value in poisoned.POISON if name != "id"]
    rows = pa.concat_tables([poisoned.clean(), poisoned.poisoned(figures)])
    nested = pa.array([{"text": "a\0b", "x": float("nan"), "at": poisoned.MOST}] * len(rows)).cast(
        pa.struct({"text": pa.string(), "x": pa.float64(), "at": pa.timestamp("us")})
    )
    with caplog.at_level(logging.WARNING, "skyband"):
        upsert(frame(named(rows).append_column("nested", nested)), Table(postgres, "odd"))
    texts = (
        "SELECT id, n, x::text, at::text, zoned AT TIME ZONE 'UTC', day::text, name, nested::text FROM odd ORDER BY id"
    )
    found = asked(postgres, texts.replace("zoned AT TIME ZONE 'UTC'", "(zoned AT TIME ZONE 'UTC')::text"))
    assert len(found) == len(rows)
    places = dict(enumerate(figures))
    told = {
        places[row[0] - 1_000]: row
        for row in found
        if row[0] >= 1_000 and places[row[0] - 1_000][1] == places[row[0] - 1_000][1]
    }
    assert told["at", poisoned.MOST][3] == "294247-01-10 04:00:54.775807"
    assert told["at", poisoned.FAR][3] == "39996-06-26 21:20:00"
    assert told["at", poisoned.LEAST][3] == "-infinity"
    assert told["zoned", poisoned.MOST][4] == "294247-01-10 04:00:54.775807"
    assert told["day", -800_000][5] == "0222-09-04 BC"
    assert told["day", 2**31 - 1][5] == "infinity"
    assert told["name", "a\0b"][6] == "a\ufffdb"
    assert told["n", poisoned.LEAST][1] == poisoned.LEAST
    assert all(row[6] == name for (column, name), row in told.items() if column == "name" and name != "a\0b")
    assert '"text": "a\ufffdb"' in found[0][7]
    assert "values were written with another sign" in caplog.text


def test_a_column_that_is_selected_later_is_added(frame: Frame, postgres: str) -> None:
    table, rows = Table(postgres, "public.grown"), named(poisoned.clean())
    upsert(frame(rows.select(["identity", "id"])), table)
    upsert(frame(rows.slice(30).select(["identity", "id", "name", "at"])), table)
    upsert(frame(rows.slice(0, 1).select(["identity", "id"])), table)
    found = asked(postgres, "SELECT count(*), count(name), count(at) FROM grown")
    assert found == [(40, 10, 10)]


def test_identities_longer_than_an_index_takes(frame: Frame, postgres: str) -> None:
    draw = iter(range(10**6))
    texts = ["".join(f"{hash((next(draw), 7)):x}" for _ in range(3_000)) for _ in range(2)]
    assert min(map(len, texts)) > LONGEST_KEY
    for _ in range(2):
        upsert(frame(pa.table({"identity": ["short", *texts], "x": [1, 2, 3]})), Table(postgres, "long"))
    assert sorted(row["x"] for row in table_rows(postgres, "long")) == [1, 2, 3]


def test_a_role_that_may_make_nothing_writes_into_tables_it_was_given(frame: Frame, postgres: str) -> None:
    rows, table = frame(named(poisoned.clean()).select(["identity", "id"])), Table(postgres, "given")
    upsert(rows, table)
    asked(postgres, "CREATE ROLE writer LOGIN")
    asked(postgres, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    asked(postgres, "GRANT ALL ON given, given_skyband_staging TO writer")
    upsert(rows, Table(postgres.replace("postgres@", "writer@"), "given"))
    assert len(table_rows(postgres, "given")) == 40
    with pytest.raises(sb.SkybandError, match="permission denied for schema public"):
        upsert(rows, Table(postgres.replace("postgres@", "writer@"), "other"))


def test_statements_do_not_wait_for_ever(postgres: str) -> None:
    with Table(postgres, "x").connect() as connection:
        assert connection.execute("SHOW statement_timeout").fetchone() == ("10min",)
    own = f"{postgres}?options=-c%20statement_timeout%3D5s"
    with Table(own, "x").connect() as connection:
        assert connection.execute("SHOW statement_timeout").fetchone() == ("5s",)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(patience, "FIRST", 0.2)
    monkeypatch.setattr(patience, "LONGEST", 0.2)
    patience.stopping.clear()
    yield
    patience.stopping.clear()


@pytest.mark.usefixtures("quickly")
def test_a_server_that_goes_away_is_waited_for(
    frame: Frame, postgres: str, caplog: pytest.LogCaptureFixture, spark: SparkSession
) -> None:
    """Connections are cut, and none is let in, while rows are being copied."""
    rows = frame(named(poisoned.clean()).select(["identity", "id"]))
    table = Table(postgres.removesuffix("/postgres") + "/outage", "top")
    asked(postgres, "CREATE DATABASE outage")
    upsert(rows, table)
    slow = rows.withColumn("id", rows.id + 100).mapInArrow(partial(slowly, seconds=3.0), rows.schema)

    def outage() -> None:
        asked(postgres, "ALTER DATABASE outage ALLOW_CONNECTIONS false")
        asked(postgres, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'outage'")
        time.sleep(2)
        asked(postgres, "ALTER DATABASE outage ALLOW_CONNECTIONS true")

    cut = threading.Timer(1.5, outage)
    cut.start()
    with caplog.at_level(logging.WARNING, "skyband"):
        upsert(slow, table)
    cut.join()
    assert sorted(row["id"] for row in table_rows(table.database, "top")) == list(range(100, 140))
    assert "PostgreSQL is away (" in caplog.text
    assert "PostgreSQL is back after" in caplog.text


def slowly(batches: Iterator[pa.RecordBatch], seconds: float) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(0, 1)
        time.sleep(seconds)
        yield batch.slice(1)


@pytest.mark.usefixtures("quickly")
def test_waiting_ends(frame: Frame, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten minutes, or when the job is stopped; and what waiting does not mend is said at once."""
    nobody = Table("postgresql://postgres@127.0.0.1:1/postgres", "top")
    with pytest.raises(sb.SkybandError, match=r"PostgreSQL does not let us in: .*refused"):
        check_postgres(nobody)
    monkeypatch.setattr(patience, "PATIENCE", 0.5)
    with pytest.raises(sb.SkybandError, match=r"PostgreSQL has been away for \d s: .*refused"):
        upsert(frame(named(poisoned.clean()).select(["identity", "id"])), nobody)
    monkeypatch.setattr(patience, "PATIENCE", 600)
    threading.Timer(0.5, patience.stopping.set).start()
    began = time.monotonic()
    with pytest.raises(sb.SkybandError, match="PostgreSQL has been away"):
        upsert(frame(named(poisoned.clean()).select(["identity", "id"])), nobody)
    assert time.monotonic() - began < 60
