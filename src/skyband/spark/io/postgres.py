"""Upserts into PostgreSQL. Tasks copy their rows into a staging table; one transaction then merges them, so a reader
sees a micro-batch whole or not at all, and nothing is gathered on the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame

from skyband.errors import SkybandError
from skyband.spark.columns import arrow_schema

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

IDENTITY = "identity"
STAGING = "_skyband_staging"
LONGEST = 63
"""Bytes that PostgreSQL takes of a name."""
_KINDS = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_float32, "real"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_decimal, "numeric"),
    (pa.types.is_date, "date"),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, "timestamptz"),
    (pa.types.is_timestamp, "timestamp"),
    (pa.types.is_binary, "bytea"),
    (pa.types.is_nested, "jsonb"),
)


@dataclass(frozen=True)
class Table:
    """A table of a database; made when it is not there."""

    database: str
    name: str

    def __post_init__(self) -> None:
        longest = LONGEST - len(STAGING)
        if len(self.name.rpartition(".")[2].encode()) > longest:
            raise SkybandError(
                f"table {self.name}: PostgreSQL cuts long names off", expected=f"at most {longest} bytes"
            )

    @property
    def staging(self) -> str:
        return self.name + STAGING

    def connect(self) -> Connection[Any]:
        try:
            import psycopg
        except ImportError:
            raise SkybandError("PostgreSQL needs psycopg", hint="pip install 'skyband[postgres]'") from None
        try:
            return psycopg.connect(self.database, connect_timeout=5)
        except psycopg.Error as error:
            said = str(error).strip().splitlines()[0]
            raise SkybandError(f"PostgreSQL does not let us in: {said}", expected="a database that runs") from None


def upsert(rows: DataFrame, table: Table) -> None:
    """All rows or none; a row whose identity is there already takes its place."""
    from psycopg.sql import SQL

    names = rows.columns
    with table.connect() as connection:
        # Two jobs with one table take turns; whoever dies lets go.
        connection.execute("SELECT pg_advisory_lock(hashtext(%s))", [table.staging])
        connection.execute(_create(table.name, arrow_schema(rows)))
        connection.execute(SQL("DROP TABLE IF EXISTS {}").format(_identifier(table.staging)))
        connection.execute(_staging(table))
        connection.commit()
        rows.mapInArrow(Copy(table), "rows BIGINT").collect()
        connection.execute(_merge(table, names))
        connection.execute(SQL("DROP TABLE {}").format(_identifier(table.staging)))


@dataclass(frozen=True)
class Copy:
    """What `mapInArrow` calls on every partition. When it ends all of it is there, or nothing; one that Spark does
    twice is there twice."""

    table: Table

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if len(batch)), None)
        if first is None:
            return
        count, into = 0, _copy(self.table, first.schema.names)
        with self.table.connect() as connection, connection.cursor() as cursor, cursor.copy(into) as copy:
            for batch in chain([first], batches):
                count += len(batch)
                for values in zip(*(_values(column) for column in batch.columns), strict=True):
                    copy.write_row(values)
        yield pa.record_batch({"rows": [count]})


def check_postgres(table: Table) -> None:
    """Said before anything runs."""
    table.connect().close()


def _values(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if not pa.types.is_nested(column.type):
        return values
    from psycopg.types.json import Jsonb

    return [None if value is None else Jsonb(value) for value in values]


def _kind(kind: pa.DataType) -> str:
    return next((name for test, name in _KINDS if test(kind)), "text")


def _create(name: str, schema: pa.Schema) -> Composed:
    from psycopg.sql import SQL, Identifier

    columns = SQL(", ").join(
        SQL("{} {}").format(
            Identifier(column.name), SQL("text PRIMARY KEY" if column.name == IDENTITY else _kind(column.type))
        )
        for column in schema
    )
    return SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(_identifier(name), columns)


def _staging(table: Table) -> Composed:
    from psycopg.sql import SQL

    names = _identifier(table.staging), _identifier(table.name)
    return SQL("CREATE UNLOGGED TABLE {} (LIKE {})").format(*names)


def _copy(table: Table, names: list[str]) -> Composed:
    from psycopg.sql import SQL, Identifier

    columns = SQL(", ").join(map(Identifier, names))
    return SQL("COPY {} ({}) FROM STDIN").format(_identifier(table.staging), columns)


def _merge(table: Table, names: list[str]) -> Composed:
    from psycopg.sql import SQL, Identifier

    columns = SQL(", ").join(map(Identifier, names))
    fresh = SQL(", ").join(SQL("{0} = EXCLUDED.{0}").format(Identifier(each)) for each in names if each != IDENTITY)
    # A task that was done twice left its rows twice.
    return SQL(
        "INSERT INTO {table} ({columns}) SELECT DISTINCT ON (identity) {columns} FROM {staging} "
        "ON CONFLICT (identity) DO UPDATE SET {fresh}"
    ).format(table=_identifier(table.name), staging=_identifier(table.staging), columns=columns, fresh=fresh)


def _identifier(name: str) -> Any:
    """A name, with its schema where it says one."""
    from psycopg.sql import Identifier

    return Identifier(*name.split(".", 1))
