"""Upserts into PostgreSQL. Tasks copy their rows into a staging table; one transaction then merges them, so a reader
sees a micro-batch whole or not at all, and nothing is gathered on the driver. A server that is away is waited for."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, functions as f

from skyband.errors import SkybandError, UnavailableError
from skyband.spark.columns import arrow_schema
from skyband.spark.io.postgres_values import postgres_kind, postgres_values, replaced
from skyband.spark.patience import AwayError, patiently

if TYPE_CHECKING:
    from psycopg import Connection, Error
    from psycopg.sql import Composed

IDENTITY = "identity"
STAGING = "_skyband_staging"
LONGEST = 63
"""Bytes that PostgreSQL takes of a name."""
LONGEST_KEY = 2_000
"""Bytes of an identity; an index takes 2,704. Of a longer one the beginning and a hash are kept."""
STATEMENT = 600
"""Seconds that a statement of ours may take, waiting for locks included. A COPY takes as long as rows come."""
REACHED = {"connect_timeout": "5", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3"}
REACHED |= {"tcp_user_timeout": "30000"}
"""A server that does not answer any more is found out."""
FOR_GOOD = ("28", "3D", "42", "0A")
"""Classes of errors that waiting does not mend: who may come in, which database, what is asked."""
REPLACED = "table %s: %d values were written with another sign, or as infinity: PostgreSQL has no character NUL, and "
REPLACED += "no time before the year 4714 BC"
log = logging.getLogger("skyband")
_MISTAKES = ("password", "authentication", "does not exist", "no pg_hba.conf entry")
"""What libpq says of those before there is a class."""
_SAID = re.compile(rf"\b{AwayError.__name__}: (.+)")


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

    def connect(self, seconds: int = STATEMENT) -> Connection[Any]:
        """A connection whose statements take at most so long; 0 for as long as they want. What the address says itself
        stands."""
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise UnavailableError("PostgreSQL needs psycopg", hint="pip install 'skyband[postgres]'") from None
        try:
            said = conninfo_to_dict(self.database)
            return psycopg.connect(**REACHED | {"options": f"-c statement_timeout={seconds}s"} | said)  # type: ignore[arg-type]
        except psycopg.Error as error:
            raise _refused(error) from None


def upsert(rows: DataFrame, table: Table) -> None:
    """All rows or none; a row whose identity is there already takes its place."""
    key = f.when(f.octet_length(IDENTITY) > LONGEST_KEY, f.concat(f.left(IDENTITY, f.lit(200)), f.sha2(IDENTITY, 256)))
    # Rows are computed once, however often they are sent.
    kept = rows.withColumn(IDENTITY, f.coalesce(key, f.col(IDENTITY))).persist()
    try:
        patiently("PostgreSQL", lambda: _upsert(kept, table))
    finally:
        kept.unpersist()


def _upsert(rows: DataFrame, table: Table) -> None:
    with _told(), table.connect() as connection:
        # Two jobs with one table take turns; whoever dies lets go.
        connection.execute("SELECT pg_advisory_lock(hashtext(%s))", [table.staging])
        _prepare(connection, table, arrow_schema(rows))
        connection.commit()
        _copy_all(rows, table)
        connection.execute(_merge(table, rows.columns))
        connection.execute(_truncate(table))


def _copy_all(rows: DataFrame, table: Table) -> None:
    try:
        done = rows.mapInArrow(Copy(table), "rows BIGINT, replaced BIGINT").collect()
    except PySparkException as error:
        if said := _SAID.search(str(error)):
            raise AwayError(said[1]) from error
        raise
    if count := sum(each.replaced for each in done):
        log.warning(REPLACED, table.name, count)


@contextmanager
def _told() -> Iterator[None]:
    """Errors of a server that is away, or not ready, as such."""
    from psycopg import Error

    try:
        yield
    except Error as error:
        raise _refused(error) from error


def _refused(error: Error) -> SkybandError:
    """What to say of an error, and whether waiting may mend it."""
    from psycopg import InterfaceError, OperationalError

    said = next(iter(str(error).strip().splitlines()), type(error).__name__)
    passes = isinstance(error, OperationalError | InterfaceError) and not (error.sqlstate or "").startswith(FOR_GOOD)
    if passes and not any(word in said for word in _MISTAKES):
        return AwayError(said)
    return UnavailableError(
        f"PostgreSQL does not let us in: {said}" if error.sqlstate is None else f"PostgreSQL: {said}"
    )


@dataclass(frozen=True)
class Copy:
    """What `mapInArrow` calls on every partition. When it ends all of it is there, or nothing; one that Spark does
    twice is there twice."""

    table: Table

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if len(batch)), None)
        if first is None:
            return
        count, changed, into = 0, 0, _copy(self.table, first.schema.names)
        with (
            _told(),
            self.table.connect(seconds=0) as connection,
            connection.cursor() as cursor,
            cursor.copy(into) as copy,
        ):
            for batch in chain([first], batches):
                count += len(batch)
                changed += sum(map(replaced, batch.columns))
                for values in zip(*map(postgres_values, batch.columns), strict=True):
                    copy.write_row(values)
        yield pa.record_batch({"rows": [count], "replaced": [changed]})


def check_postgres(table: Table) -> None:
    """Said before anything runs."""
    try:
        table.connect().close()
    except AwayError as error:
        said = f"PostgreSQL does not let us in: {error.message}"
        raise UnavailableError(said, expected="a database that runs") from None


def _prepare(connection: Connection[Any], table: Table, schema: pa.Schema) -> None:
    """Both tables are there, and empty the one for staging. Whoever may not make tables can be given them."""
    _fit(connection, table.name, schema, "TABLE", "text PRIMARY KEY")
    _fit(connection, table.staging, schema, "UNLOGGED TABLE", "text")
    connection.execute(_truncate(table))


def _fit(connection: Connection[Any], name: str, schema: pa.Schema, what: str, key: str) -> None:
    """Made if it is not there; columns that it has not yet are added."""
    from psycopg.sql import SQL, Identifier

    known = _columns(connection, name)
    columns = [
        SQL("{} {}").format(Identifier(each.name), SQL(key if each.name == IDENTITY else postgres_kind(each.type)))
        for each in schema
        if each.name not in known
    ]
    if not known:
        made = SQL(f"CREATE {what} {{}} ({{}})").format(_identifier(name), SQL(", ").join(columns))
        connection.execute(made)
    elif columns:
        added = SQL(", ").join(SQL("ADD COLUMN IF NOT EXISTS {}").format(each) for each in columns)
        connection.execute(SQL("ALTER TABLE {} {}").format(_identifier(name), added))


def _columns(connection: Connection[Any], name: str) -> set[str]:
    found = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
        [_identifier(name).as_string(connection)],
    )
    return {row[0] for row in found.fetchall()}


def _truncate(table: Table) -> Composed:
    from psycopg.sql import SQL

    return SQL("TRUNCATE {}").format(_identifier(table.staging))


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
