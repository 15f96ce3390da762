"""The files of a scan, as Spark lists them, and their sections, as their footers tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, TimestampNTZType, TimestampType

from skyband.model import Ints, Keys
from skyband.spark.event_time import micros_sql, quoted
from skyband.spark.io.file_parts import UNREADABLE, FilePart, Files, Footer, InexactError, first_line

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
READERS = 16
"""Footers that are read at the same time: what they cost is waiting."""
MOST_ROWS = 16_000_000
"""Of one task: one that fails is done again."""
Best = tuple[str, pa.DataType, Callable[[pa.Table], Keys]]
"""A column, its type, and how its values rank, higher first."""


@dataclass(frozen=True)
class ListedFile:
    uri: str
    given: Mapping[str, pa.Scalar]
    footer: Footer
    sources: Mapping[str, str]
    """Its own names of the columns that are wanted."""

    def parts(self) -> list[FilePart]:
        """One for each section."""
        sections = range(len(self.footer.sizes))
        return [FilePart(self.uri, (section,), self.footer.mark, self.given) for section in sections]

    def extremes(self, name: str, kind: pa.DataType) -> list[pa.Array | None]:
        """The least and the greatest value of a column in each section, where the footer tells."""
        source, sections = self.sources.get(name), range(len(self.footer.sizes))
        return [None if source is None else self.footer.extremes(each, source, kind) for each in sections]


@dataclass(frozen=True)
class Listing:
    files: tuple[ListedFile, ...]

    @property
    def rows(self) -> int:
        return sum(each.footer.rows for each in self.files)

    @cached_property
    def _sizes(self) -> Ints:
        """Of all sections."""
        return np.array([rows for each in self.files for rows in each.footer.sizes], np.int64)

    @property
    def sections(self) -> int:
        return len(self._sizes)

    def tasks(self, cores: int, best: Best | None) -> tuple[tuple[FilePart, ...], ...]:
        """All sections, cut into shares of about as many rows that lie beside each other: at least one for each core,
        as far as there are sections. In a share those with the best scores come first."""
        wanted = min(self.sections, cores * max(-(-self.rows // (MOST_ROWS * cores)), 1))
        # A section goes where its middle lies.
        middle = np.cumsum(self._sizes) - self._sizes / 2
        share = np.minimum(middle * wanted / max(self.rows, 1), wanted - 1).astype(np.int64)
        parts = [part for each in self.files for part in each.parts()]
        order = np.arange(len(parts)) if best is None else self._falling(best)
        order = order[np.argsort(share[order], kind="stable")]
        shares = np.split(order, np.flatnonzero(np.diff(share[order])) + 1) if len(order) else []
        return tuple(tuple(_joined([parts[place] for place in mine.tolist()])) for mine in shares)

    def extremes(self, name: str, kind: pa.DataType) -> list[pa.Array | None]:
        """Of each section the least and the greatest value of a column, where the file tells."""
        return [known for each in self.files for known in each.extremes(name, kind)]

    def _falling(self, best: Best) -> Ints:
        """The places of sections by their best scores, those first of which none is known."""
        name, kind, keys = best
        found = self.extremes(name, kind)
        told = np.array([each is not None for each in found], bool)
        if not told.any():
            return np.arange(len(found))
        known = pa.concat_arrays([each for each in found if each is not None])
        rank = np.argsort(keys(pa.table({name: known})).reshape(-1, 2).max(axis=1), kind="stable")[::-1]
        return np.append(np.flatnonzero(~told), np.flatnonzero(told)[rank])


def _joined(parts: Iterable[FilePart]) -> list[FilePart]:
    """Sections of one file that follow each other are read without opening it again."""
    found: list[FilePart] = []
    for part in parts:
        if found and found[-1].uri == part.uri:
            found[-1] = found[-1].with_more(part)
        else:
            found.append(part)
    return found


def list_files(uris: Sequence[str], files: Files, given: Callable[[str], Mapping[str, pa.Scalar]]) -> Listing:
    """Look into every file's footer; InexactError where one had better be left to Spark."""

    def look(uri: str) -> ListedFile:
        try:
            file = files.open(uri)
        except InexactError as error:
            raise InexactError(f"{uri} {error}") from error
        except UNREADABLE as error:
            raise InexactError(f"Arrow cannot read {uri}: {first_line(error)}") from error
        file.close()
        values = given(uri)
        return ListedFile(uri, values, file.footer, files.wanted.sources(file.footer.schema, values))

    with ThreadPoolExecutor(min(READERS, max(len(uris), 1))) as pool:
        return Listing(tuple(pool.map(look, uris)))


def has_folders(uris: Iterable[str]) -> bool:
    """Whether some may lie in folders that give a column's value."""
    return any(_folders(uri) for uri in uris)


def folder_values(
    spark: SparkSession, uris: Sequence[str], fields: Sequence[StructField], wanted: pa.Schema
) -> dict[str, dict[str, pa.Scalar]]:
    """By file: what its folders say of these columns. Spark makes values of the text, on the driver and without a
    job."""
    texts = {uri: tuple(_folders(uri).get(each.name) for each in fields) for uri in uris}
    rows = list(dict.fromkeys(texts.values()))
    columns = [pa.array([row[place] for row in rows], pa.string()) for place in range(len(fields))]
    text = spark.createDataFrame(pa.table(columns, [each.name for each in fields]))
    typed = text.selectExpr(*(f"CAST({quoted(each.name)} AS {each.dataType.simpleString()})" for each in fields))
    found = typed.selectExpr(*map(_value_sql, fields)).collect()
    kinds = {each.name: wanted.field(each.name).type for each in fields}
    values = [{name: _scalar(row[place], kind) for place, (name, kind) in enumerate(kinds.items())} for row in found]
    by_text = dict(zip(rows, values, strict=True))
    return {uri: by_text[text] for uri, text in texts.items()}


def _folders(uri: str) -> dict[str, str | None]:
    """`name=value` of every folder on the way to the file; of equal names the last."""
    found: dict[str, str | None] = {}
    for part in unquote(urlsplit(uri).path).split("/")[:-1]:
        name, is_one, value = part.partition("=")
        if is_one and name:
            found[unquote(name)] = None if value == NULL_FOLDER else unquote(value)
    return found


def _value_sql(field: StructField) -> str:
    """Times as microseconds: in Python they would be in this machine's zone."""
    timed = isinstance(field.dataType, TimestampType | TimestampNTZType)
    return micros_sql(field.name, field.dataType) if timed else quoted(field.name)


def _scalar(value: object, kind: pa.DataType) -> pa.Scalar:
    return pa.array([value], pa.int64()).cast(kind)[0] if pa.types.is_timestamp(kind) else pa.scalar(value, kind)
