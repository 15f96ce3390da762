"""CSV by the names in each file's own header.

Spark goes by position: of a file whose columns come in another order than those of the first it would swap them. A
batch looks at every header before it starts, and reads those files together that have the same. A stream cannot know
the files to come: it reads by position, the headers too, and the tasks put the columns into order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession, functions as f
from pyspark.sql.types import (
    DataType,
    DateType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from skyband.errors import DataError
from skyband.spark.event_time import quoted
from skyband.spark.io.micro_batches import bounded
from skyband.spark.io.storage import Storage

Header = tuple[str, ...]
LOOKED_AT = 100
"""Files of a stream whose headers are read at the start; the others are read as they come."""
SPARE = 16
"""Columns that later files of a stream may have more than those."""
FILE, START, LENGTH, SIZE = "#file", "#start", "#length", "#size"
FORMATS: dict[type[DataType], str] = {
    DateType: "dateformat",
    TimestampType: "timestampformat",
    TimestampNTZType: "timestampntzformat",
}


def open_csv(
    spark: SparkSession, where: str, options: Mapping[str, str], said: StructType | None, streaming: bool
) -> DataFrame:
    """Records of CSV files; `said` are the declared columns."""
    options = {name.lower(): value for name, value in options.items()}
    if options.get("header", "true").lower() != "true":
        return _by_position(spark, where, options, said, streaming)
    return (_stream if streaming else _batch)(spark, where, options | {"header": "true"}, said)


def _by_position(
    spark: SparkSession, where: str, options: Mapping[str, str], said: StructType | None, streaming: bool
) -> DataFrame:
    """Files without names: the declared columns are those of the files, in their order."""
    schema = said or _inferred(spark, options, where)
    if not streaming:
        return spark.read.schema(schema).format("csv").options(**options).load(where)
    return spark.readStream.schema(schema).format("csv").options(**bounded("csv", options)).load(where)


def _batch(spark: SparkSession, where: str, options: Mapping[str, str], said: StructType | None) -> DataFrame:
    groups = headers(spark, where, options)
    if not groups:
        return _by_position(spark, where, options, said, streaming=False)
    if len(groups) > 1 and Storage(spark, where).is_folder():
        options = {**options, "basepath": where}
    parts = []
    for header, files in groups.items():
        paths = files if len(groups) > 1 else where
        schema = _typed(header, said) or _inferred(spark, options, paths)
        parts.append(spark.read.schema(schema).options(**options).csv(paths))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def _stream(spark: SparkSession, where: str, options: Mapping[str, str], said: StructType | None) -> DataFrame:
    groups = headers(spark, where, options, LOOKED_AT)
    usual = max(groups, key=lambda header: len(groups[header])) if groups else tuple(said.names if said else ())
    wanted = said or _inferred(spark, options, groups.get(usual, where))
    if groups:
        # What is in no file is missed by whoever compares this with the declaration.
        wanted = StructType([field for field in wanted if any(field.name in header for header in groups)])
    width = max(map(len, groups), default=len(usual)) + SPARE
    places = StructType([StructField(f"#{place}", StringType()) for place in range(width)])
    # Rows have fewer columns than that: with another mode Spark would drop them.
    reader = spark.readStream.schema(places).format("csv").options(**bounded("csv", options))
    raw = reader.options(header="false", mode="PERMISSIVE").load(where)
    beside = StructType(raw.schema.fields[width:])
    about = {FILE: "file_path", START: "file_block_start", LENGTH: "file_block_length", SIZE: "file_size"}
    seen = raw.select("*", *(f.col(f"_metadata.{each}").alias(name) for name, each in about.items()))
    text = StructType([*(StructField(name, StringType()) for name in wanted.names), *beside])
    named = seen.mapInArrow(ByName(tuple(wanted.names), usual, width, tuple(beside.names)), text)
    values = [_value(field, options) for field in wanted]
    return named.select(*values, *(f.col(quoted(name)) for name in beside.names))


def headers(
    spark: SparkSession, where: str, options: Mapping[str, str], most: int | None = None
) -> dict[Header, list[str]]:
    """The names of the columns, in every order that there is, with the files that have them so."""
    found: dict[Header, list[str]] = {}
    read: dict[str, Header] = {}
    for address in spark.read.options(**options).text(where).inputFiles()[:most]:
        file = Storage.at(spark, address)
        line = file.first_line(options.get("encoding", "UTF-8"), options.get("comment"))
        if line not in read:
            read[line] = tuple(spark.read.options(**options).csv(spark.sparkContext.parallelize([line])).columns)
        if line:
            found.setdefault(read[line], []).append(str(file))
    return found


def _typed(header: Header, said: StructType | None) -> StructType | None:
    if said is None:
        return None
    kinds = {column.name: column.dataType for column in said}
    return StructType([StructField(name, kinds.get(name, StringType())) for name in header])


def _inferred(spark: SparkSession, options: Mapping[str, str], paths: str | list[str]) -> StructType:
    return spark.read.options(**options).option("inferSchema", "true").csv(paths).schema


def _value(field: StructField, options: Mapping[str, str]) -> Column:
    """As Spark's own reader has it: what cannot be read is null."""
    column, written = f.col(quoted(field.name)), options.get(FORMATS.get(type(field.dataType), ""))
    if written is not None:
        column = f.try_to_timestamp(column, f.lit(written))
    return column.try_cast(field.dataType).alias(field.name)


@dataclass(frozen=True)
class ByName:
    """What `mapInArrow` calls on rows by position, in which every file begins with its header.

    Of a file that is cut into blocks the header is in the first; the others count on the `usual` one."""

    names: Header
    usual: Header
    width: int
    beside: tuple[str, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        file, order = None, list[int | None]()
        for batch in batches:
            for rows in _by_file(batch):
                if file != (file := rows.column(FILE)[0].as_py()):
                    order = self._order(self.usual)
                    if rows.column(START)[0].as_py() == 0:
                        order = self._of_header(rows)
                        rows = rows.slice(1)
                yield self._ordered(rows, order)

    def _of_header(self, rows: pa.RecordBatch) -> list[int | None]:
        found = self._order(tuple(rows.column(place)[0].as_py() for place in range(self.width)))
        is_whole = rows.column(LENGTH)[0].as_py() >= rows.column(SIZE)[0].as_py()
        if not is_whole and found != self._order(self.usual):
            raise DataError(
                f"{rows.column(FILE)[0].as_py()} has its columns in another order than other files of the stream, and "
                f"is too large to be read in one piece; expected: {', '.join(self.usual)}"
            )
        return found

    def _order(self, header: tuple[str | None, ...]) -> list[int | None]:
        """The place of each name; None where the file has no such column."""
        return [header.index(name) if name in header else None for name in self.names]

    def _ordered(self, rows: pa.RecordBatch, order: list[int | None]) -> pa.RecordBatch:
        columns = [pa.nulls(len(rows), pa.string()) if place is None else rows.column(place) for place in order]
        columns += [rows.column(name) for name in self.beside]
        return pa.RecordBatch.from_arrays(columns, [*self.names, *self.beside])


def _by_file(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Slices that are of one file each, in their order."""
    if not len(batch):
        return
    file = batch.column(FILE)
    changes = pc.not_equal(file.slice(1), file.slice(0, len(file) - 1))
    begins = [0, *(place + 1 for place in pc.indices_nonzero(changes).to_pylist()), len(batch)]
    for begin, end in pairwise(begins):
        yield batch.slice(begin, end - begin)
