"""Where the rows of a killed job go, how they are read back, and what a reader saw who looked all the while."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.spark import jobs
from tests.spark.chaos.cables import Cable
from tests.spark.servers import table_rows

Rows = list[dict[str, Any]]
COMPACTING = 60
"""Seconds until a broker has to have compacted a topic, and more."""
REPORT = "query, window_end, row_end, group_key"


class Target(Protocol):
    name: str

    def address(self) -> str: ...
    def look(self) -> None:
        """What a reader does who polls; said again and again, from another thread."""

    def rows(self, schema: pa.Schema) -> Rows: ...
    def check(self) -> None:
        """What the reader saw was never a part of a micro-batch."""


@contextmanager
def polled(target: Target, pause: float = 0.005) -> Iterator[None]:
    """A reader looks again and again."""
    ended = Event()

    def look() -> None:
        while not ended.wait(pause):
            target.look()

    reader = Thread(target=look)
    reader.start()
    try:
        yield
    finally:
        ended.set()
        reader.join()


def _parquet(folder: Path, schema: pa.Schema) -> Rows:
    rows: Rows = jobs.listed(folder).to_pylist()
    return rows


def _json(folder: Path, schema: pa.Schema) -> Rows:
    return [json.loads(line) for path in folder.glob("batch=*/*.json") for line in path.read_text().splitlines()]


def _csv(folder: Path, schema: pa.Schema) -> Rows:
    types = pa.csv.ConvertOptions(column_types=schema, strings_can_be_null=True)
    written = (path for path in folder.glob("batch=*/*.csv") if path.stat().st_size)
    found = [pa.csv.read_csv(path, convert_options=types) for path in written]
    rows: Rows = pa.concat_tables(found).to_pylist()
    # CSV does not tell an empty text from none; there are no others here than those of rows without a group.
    return [row | {"group_key": row["group_key"] or ""} for row in rows]


READERS: dict[str, Callable[[Path, pa.Schema], Rows]] = {"parquet": _parquet, "json": _json, "csv": _csv}


@dataclass
class Folder:
    path: Path
    name: str
    seen: set[frozenset[str]] = field(default_factory=set)

    def address(self) -> str:
        # A second: so that folders of several micro-batches are among them.
        return f"{self.name}:{self.path}?every=1 second"

    def look(self) -> None:
        for folder in self.path.glob("batch=*"):
            with suppress(FileNotFoundError):
                names = frozenset(os.listdir(folder))
                if folder.exists():
                    self.seen.add(frozenset(name.partition("-")[0] for name in names))

    def rows(self, schema: pa.Schema) -> Rows:
        return READERS[self.name](self.path, schema)

    def check(self) -> None:
        assert self.seen
        assert all({"_SUCCESS", "part"} <= names for names in self.seen), f"a folder was seen half written: {self.seen}"


@dataclass
class PostgresTable:
    """Through a cable that can be cut; whoever reads has another."""

    server: str
    cable: Cable
    table: str
    name: str = "postgres"
    seen: set[tuple[Any, ...]] = field(default_factory=set)

    def address(self) -> str:
        return f"{self.cable.address(self.server)}?table={self.table}"

    def look(self) -> None:
        import psycopg

        time.sleep(0.2)  # A connection each time: more of them would be work for the server.
        with suppress(psycopg.errors.UndefinedTable), psycopg.connect(self.server) as connection:
            self.seen.update(connection.execute(f'SELECT {REPORT}, count(*) FROM "{self.table}" GROUP BY {REPORT}'))

    def rows(self, schema: pa.Schema) -> Rows:
        return table_rows(self.server, self.table)

    def check(self) -> None:
        """A report is of one micro-batch: whoever sees a row of it sees all."""
        assert self.seen
        before, self.seen = self.seen, set()
        self.look()
        assert before <= self.seen, f"reports were seen with some of their rows: {before - self.seen}"


@dataclass
class Topic:
    server: str
    topics: jobs.Warm
    topic: str
    folder: Path
    name: str = "kafka"

    def make(self) -> None:
        self.topics.run("compacted", self.topic)

    def address(self) -> str:
        return f"kafka://{self.server}/{self.topic}"

    def source(self, tables: list[pa.Table]) -> str:
        """Records as values of another topic, read a table at a time."""
        path, each = self.folder / "all.parquet", sum(map(len, tables)) // len(tables)
        pq.write_table(pa.concat_tables(tables), path)
        self.topics.run("fill", f"{self.topic}_in", path)
        return f"kafka://{self.server}/{self.topic}_in?maxOffsetsPerTrigger={each}"

    def look(self) -> None:
        """Values arrive one by one, and the last of a key counts."""

    def rows(self, schema: pa.Schema) -> Rows:
        """Every message: once the broker has compacted the topic, there is one of each row."""
        self.topics.run("finish", self.topic)
        for number in range(COMPACTING):
            read = self.folder / f"read-{number}"
            self.topics.run("read", self.topic, read)
            told = jobs.listed(read).sort_by("offset").to_pylist()
            written = told.pop()["offset"]  # Of the one that finished it: offsets are not given anew.
            if len(told) == len({message["key"] for message in told}):
                print(f"{self.topic}: of {written} messages {len(told)} are left")  # noqa: T201
                return [json.loads(message["value"]) for message in told]
            time.sleep(1)
        raise AssertionError(f"{self.topic} is not compacted")

    def check(self) -> None:
        pass
