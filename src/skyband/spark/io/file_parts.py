"""Files that are read with Arrow as Spark would: some columns of a section (a row group, a stripe) at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn, Protocol

import pyarrow as pa

from skyband.errors import DataError
from skyband.spark.io.exact_types import is_exact
from skyband.spark.io.stores import Stores, is_local

UNREADABLE = (OSError, pa.ArrowException, ImportError)
"""What Arrow says where it cannot open a file; the last where it was built without the format or the file system."""
SPARK_READS = "over(df), or ?scan=false behind a --source, lets Spark read the records"


class Footer(Protocol):
    """What a file says of itself; it is good when the file is closed again."""

    @property
    def schema(self) -> pa.Schema:
        """As Arrow reads it."""
        ...

    @property
    def rows(self) -> int: ...

    @property
    def sizes(self) -> Sequence[int]:
        """The rows of each section, at least about."""
        ...

    @property
    def mark(self) -> Hashable:
        """Another, if another file has taken the place of this one."""
        ...

    def extremes(self, section: int, name: str, wanted: pa.DataType) -> pa.Array | None:
        """The least and the greatest value of a column, as this type; None where that is not known, or some value may
        be NULL. A NaN is neither."""
        ...


class OpenFile(Protocol):
    """A file to read from."""

    @property
    def footer(self) -> Footer: ...

    def rows(self, section: int) -> int: ...

    def read(self, section: int, names: list[str]) -> pa.Table: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Format:
    """A format of files that Arrow reads as Spark does."""

    name: str
    """As Spark calls it."""
    open: Callable[[pa.NativeFile, bool], OpenFile]
    """With whether the file is on this machine. InexactError where it had better be left to Spark: what the file has
    that Arrow reads otherwise."""
    sections: tuple[str, str]
    """What one is called, and what several are."""
    plain: Mapping[str, str] = field(default_factory=dict)
    """Settings with which Spark reads a file as it stands."""
    unusual: tuple[str, ...] = ()
    """Options with which it does not."""


class InexactError(Exception):
    """Why Arrow must not read a file in Spark's place."""


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


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


@dataclass(frozen=True)
class Files:
    """How files are read: their format, where they are, and which columns are wanted."""

    format: Format
    wanted: ColumnsWanted
    stores: Stores = field(default_factory=Stores)

    def open(self, uri: str) -> OpenFile:
        return self.format.open(self.stores.open(uri), is_local(uri))

    def check(self, address: str) -> None:
        """Whether Arrow knows how to reach files there, as far as that is known without a file."""
        try:
            self.stores.reached(address)
        except UNREADABLE as error:
            raise InexactError(f"Arrow cannot reach {address}: {first_line(error)}") from error


@dataclass(frozen=True)
class FilePart:
    """Some sections of a file, and the values that its folders give."""

    uri: str
    chosen: tuple[int, ...] = ()
    """All where none are named."""
    mark: Hashable = None
    """Of the file, as it was listed."""
    given: Mapping[str, pa.Scalar] = field(default_factory=dict)
    share: tuple[int, int] = (0, 1)
    """Of all sections: which share, and how many shares there are."""

    def with_more(self, other: FilePart) -> FilePart:
        """With sections of the same file behind its own."""
        return replace(self, chosen=self.chosen + other.chosen)

    def sections(self, files: Files) -> Iterator[Section]:
        """Each section, to be read."""
        with _opened(self.uri, files) as file:
            if self.mark is not None and self.mark != file.footer.mark:
                _changed(self.uri, "is not the file that was listed")
            try:
                sources = files.wanted.sources(file.footer.schema, self.given)
            except InexactError as error:
                _refuse(f"{self.uri}: {error}", "files of one schema")
            for section in self.chosen or self._share(len(file.footer.sizes)):
                yield Section(file, section, files.wanted.schema, sources, self.given)

    def _share(self, sections: int) -> range:
        place, shares = self.share
        return range(place * sections // shares, (place + 1) * sections // shares)


class Section:
    """One section of a file. Columns are read when they are asked for."""

    def __init__(
        self,
        file: OpenFile,
        number: int,
        schema: pa.Schema,
        sources: Mapping[str, str],
        given: Mapping[str, pa.Scalar],
    ) -> None:
        self._file, self._number, self._schema = file, number, schema
        self._sources, self._given = sources, given

    @property
    def rows(self) -> int:
        return self._file.rows(self._number)

    def read(self, names: Iterable[str]) -> pa.Table:
        """These columns, as Spark types them."""
        wanted = list(names)
        inside = sorted({self._sources[name] for name in wanted if name in self._sources})
        table = self._file.read(self._number, inside) if inside else None
        return pa.table([self._column(table, name) for name in wanted], pa.schema(map(self._schema.field, wanted)))

    def kind(self, name: str) -> pa.DataType:
        return self._schema.field(name).type

    def extremes(self, name: str) -> pa.Array | None:
        """The least and the greatest value, as the file or its folder tells; None as for a footer."""
        if name not in self._sources:
            given = self._given.get(name)
            return None if given is None or not given.is_valid else pa.repeat(given, 2)
        return self._file.footer.extremes(self._number, self._sources[name], self.kind(name))

    def _column(self, table: pa.Table | None, name: str) -> pa.Array | pa.ChunkedArray:
        kind = self.kind(name)
        if table is not None and name in self._sources:
            return table.column(self._sources[name]).cast(kind)
        given = self._given.get(name)
        return pa.nulls(self.rows, kind) if given is None else pa.repeat(given, self.rows)


@contextmanager
def _opened(uri: str, files: Files) -> Iterator[OpenFile]:
    try:
        file = files.open(uri)
    except FileNotFoundError:
        _changed(uri, "is gone since it was listed")
    except InexactError as error:
        _refuse(f"{uri} {error}", "files that Arrow reads as Spark does")
    except UNREADABLE as error:
        _refuse(f"{uri} cannot be read: {first_line(error)}", f"a {files.format.name} file that tasks can open")
    try:
        yield file
    finally:
        file.close()


def first_line(error: Exception) -> str:
    """Arrow may list all places where it looked for a library."""
    return str(error).partition("\n")[0]


def _changed(uri: str, how: str) -> NoReturn:
    _refuse(f"{uri} {how}", "files that stay as they are while they are read", "scan the path again")


def _refuse(message: str, expected: str, hint: str = SPARK_READS) -> NoReturn:
    raise DataError(message, expected=expected, hint=hint)
