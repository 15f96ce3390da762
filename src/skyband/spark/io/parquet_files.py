"""Parquet files, read with Arrow as Spark would read them: a row group and some columns at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from pyarrow import types

from skyband.errors import SkybandError
from skyband.spark.io.exact_types import is_exact

SPARK_READS = "over(df), or ?scan=false behind a --source, lets Spark read the records"
_ALIASES = {"s3a": "s3", "s3n": "s3"}
"""Schemes of Hadoop's that Arrow knows by another name."""
OLD_WRITERS = ("2.", "3.0")
"""Releases of Spark whose times may be in the old calendar."""


@dataclass(frozen=True)
class ColumnsWanted:
    """The columns that Spark says the files have; by name also those that lie in the names of folders."""

    schema: pa.Schema
    case_sensitive: bool = False
    before: pa.Schema | None = None
    """As Spark reads them, where they are cast afterwards."""

    def sources(self, found: pa.Schema, given: Iterable[str]) -> dict[str, str]:
        """Which column of a file stands for each; one that is missing there is NULL. Raises where Spark would read
        something else than a cast gives."""
        names = {}
        for wanted in self.schema:
            name = None if wanted.name in given else self._called(wanted.name, found)
            if name is None:
                continue
            kind = found.field(name).type
            for said in (self.before or self.schema).field(wanted.name).type, wanted.type:
                if not is_exact(kind, said):
                    raise InexactError(f"column {name!r} is {kind} and to be read as {said}")
            names[wanted.name] = name
        return names

    def _called(self, name: str, found: pa.Schema) -> str | None:
        same = [each for each in found.names if each == name or (not self.case_sensitive and _same(each, name))]
        if len(same) > 1 or "." in name:
            raise InexactError(f"column {name!r} may be more than one of the file's")
        return same[0] if same else None


class InexactError(Exception):
    """Why Arrow must not read a file in Spark's place."""


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


@dataclass(frozen=True)
class FilePart:
    """Some row groups of a file, and the values that its folders give."""

    uri: str
    groups: tuple[int, ...] = ()
    """All where none are named."""
    rows: tuple[int, ...] = ()
    """Of each of them, as the file was listed."""
    given: Mapping[str, pa.Scalar] = field(default_factory=dict)
    share: tuple[int, int] = (0, 1)
    """Of all row groups: which share, and how many shares there are."""

    def with_more(self, other: FilePart) -> FilePart:
        """With row groups of the same file behind its own."""
        return replace(self, groups=self.groups + other.groups, rows=self.rows + other.rows)

    def row_groups(self, wanted: ColumnsWanted) -> Iterator[RowGroup]:
        """Each row group, to be read."""
        with _opened(self.uri) as file:
            try:
                sources = wanted.sources(file.schema_arrow, self.given)
            except InexactError as error:
                _refuse(f"{self.uri}: {error}", "files of one schema", SPARK_READS)
            groups = self.groups or self._share(file.num_row_groups)
            for place, group in enumerate(groups):
                rows = file.metadata.row_group(group).num_rows if group < file.num_row_groups else -1
                if self.rows and rows != self.rows[place]:
                    _changed(self.uri, "is not the file that was listed")
                yield RowGroup(file, group, rows, wanted.schema, sources, self.given)

    def _share(self, groups: int) -> range:
        place, shares = self.share
        return range(place * groups // shares, (place + 1) * groups // shares)


class RowGroup:
    """One row group. Columns are read when they are asked for."""

    def __init__(
        self,
        file: pq.ParquetFile,
        number: int,
        rows: int,
        schema: pa.Schema,
        sources: Mapping[str, str],
        given: Mapping[str, pa.Scalar],
    ) -> None:
        self.rows = rows
        self._file, self._number, self._schema = file, number, schema
        self._sources, self._given = sources, given

    def read(self, names: Iterable[str]) -> pa.Table:
        """These columns, as Spark types them."""
        wanted = list(names)
        inside = sorted({self._sources[name] for name in wanted if name in self._sources})
        table = self._file.read_row_group(self._number, inside, use_threads=False) if inside else None
        return pa.table([self._column(table, name) for name in wanted], pa.schema(map(self._schema.field, wanted)))

    def kind(self, name: str) -> pa.DataType:
        return self._schema.field(name).type

    def extremes(self, name: str) -> pa.Array | None:
        """The least and the greatest value, as the file or its folder tells; None where it does not, or some value may
        be NULL. A NaN is neither."""
        kind = self._schema.field(name).type
        if name not in self._sources:
            given = self._given.get(name)
            return None if given is None or not given.is_valid else pa.repeat(given, 2)
        return extremes(self._file.metadata, self._file.schema_arrow, self._number, self._sources[name], kind)

    def _column(self, table: pa.Table | None, name: str) -> pa.Array | pa.ChunkedArray:
        kind = self._schema.field(name).type
        if table is not None and name in self._sources:
            return table.column(self._sources[name]).cast(kind)
        given = self._given.get(name)
        return pa.nulls(self.rows, kind) if given is None else pa.repeat(given, self.rows)


def extremes(
    metadata: pq.FileMetaData, schema: pa.Schema, group: int, name: str, wanted: pa.DataType
) -> pa.Array | None:
    """The least and the greatest value of a column as statistics tell; None as for `RowGroup.extremes`."""
    found, columns = schema.field(name).type, metadata.schema.names
    if name not in columns or types.is_nested(found) or types.is_unsigned_integer(found):
        return None
    known = metadata.row_group(group).column(columns.index(name)).statistics
    if known is None or not known.has_min_max or not known.has_null_count or known.null_count:
        return None
    try:
        values = pa.array([known.min, known.max], found.value_type if types.is_dictionary(found) else found)
        return values.cast(wanted)
    except (pa.ArrowException, ValueError, OverflowError):
        # Python's times end sooner than Parquet's.
        return None


def file_system(uri: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Who has the file, and its path there."""
    scheme, _, rest = uri.partition(":")
    if rest.startswith("/") and not rest.startswith("//"):
        # Spark writes paths of this machine both ways.
        rest = f"//{rest}"
    found, path = pyarrow.fs.FileSystem.from_uri(f"{_ALIASES.get(scheme, scheme)}:{rest}")
    return found, path


def open_file(uri: str) -> pq.ParquetFile:
    """INT96 in microseconds, as Spark has it: its nanoseconds would end in 2262."""
    system, path = file_system(uri)
    return pq.ParquetFile(system.open_input_file(path), coerce_int96_timestamp_unit="us")


def old_calendar(metadata: pq.FileMetaData) -> bool:
    """Whether Spark would move its dates and times from the calendar of before 1582."""
    said = {name.decode(): text.decode() for name, text in (metadata.metadata or {}).items()}
    legacy = {"org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96"} & said.keys()
    return bool(legacy) or said.get("org.apache.spark.version", "").startswith(OLD_WRITERS)


@contextmanager
def _opened(uri: str) -> Iterator[pq.ParquetFile]:
    try:
        file = open_file(uri)
    except FileNotFoundError:
        _changed(uri, "is gone since it was listed")
    except pa.ArrowInvalid as error:
        raise SkybandError(f"{uri} cannot be read: {error}", expected="a Parquet file") from error
    with file:
        if old_calendar(file.metadata):
            _refuse(
                f"{uri} was written with the old calendar",
                "times as Spark 3.1 and later write them",
                SPARK_READS,
            )
        yield file


def _changed(uri: str, how: str) -> NoReturn:
    _refuse(f"{uri} {how}", "files that stay as they are while they are read", "scan the path again")


def _refuse(message: str, expected: str, hint: str) -> NoReturn:
    raise SkybandError(message, expected=expected, hint=hint)
