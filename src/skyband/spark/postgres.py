"""Upserts into PostgreSQL, from the driver: result rows are few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from skyband.errors import SkybandError

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

IDENTITY = "identity"
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

    def upsert(self, rows: pa.Table) -> None:
        """All rows or none; a row whose identity is there already takes its place."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(_create(self.name, rows.schema))
            if not len(rows):
                return
            cursor.execute(_staging(self.name))
            with cursor.copy(_copy(rows.column_names)) as copy:
                for values in zip(*(_values(column) for column in rows.columns), strict=True):
                    copy.write_row(values)
            cursor.execute(_merge(self.name, rows.column_names))

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


def check_postgres(table: Table) -> None:
    """Said before anything runs."""
    table.connect().close()


def _values(column: pa.ChunkedArray) -> list[Any]:
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


def _staging(name: str) -> Composed:
    from psycopg.sql import SQL

    return SQL("CREATE TEMPORARY TABLE skyband_batch (LIKE {}) ON COMMIT DROP").format(_identifier(name))


def _copy(names: list[str]) -> Composed:
    from psycopg.sql import SQL, Identifier

    return SQL("COPY skyband_batch ({}) FROM STDIN").format(SQL(", ").join(map(Identifier, names)))


def _merge(name: str, names: list[str]) -> Composed:
    from psycopg.sql import SQL, Identifier

    columns = SQL(", ").join(map(Identifier, names))
    fresh = SQL(", ").join(SQL("{0} = EXCLUDED.{0}").format(Identifier(each)) for each in names if each != IDENTITY)
    return SQL(
        "INSERT INTO {table} ({columns}) SELECT {columns} FROM skyband_batch "
        "ON CONFLICT (identity) DO UPDATE SET {fresh}"
    ).format(table=_identifier(name), columns=columns, fresh=fresh)


def _identifier(name: str) -> Any:
    """A name, with its schema where it says one."""
    from psycopg.sql import Identifier

    return Identifier(*name.split(".", 1))
