"""`sb.scan(path)`: files that Spark's tasks read themselves, instead of rows that Spark hands them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType, TimestampNTZType, TimestampType

from skyband.model.time_bounds import moment, utc_now
from skyband.planner.words import some
from skyband.runtime.reader import microseconds
from skyband.runtime.time_ranges import Reach
from skyband.spark.columns import arrow_schema
from skyband.spark.event_time import clock_columns, quoted
from skyband.spark.inputs import Input, ReadByTasks, SparkRows
from skyband.spark.io.file_parts import ColumnsWanted, Files, Format, InexactError
from skyband.spark.io.listing import Best, Listing, folder_values, has_folders, list_files
from skyband.spark.io.orc_files import orc_files
from skyband.spark.io.parquet_files import PARQUET
from skyband.spark.io.stores import Stores
from skyband.spark.settings import cores
from skyband.spark.stages.prune import ENCODED_DDL, Prune
from skyband.spark.stages.scan import SHARE, SHARES, URI, PartsOfFiles, PartsOfTasks, Scan, score_columns

LENIENT = ("ignoreMissingFiles", "ignoreCorruptFiles")
STRICT = {f"spark.sql.files.{name}": "false" for name in LENIENT}
FILE_COLUMNS = {"path": "string", "modificationTime": "timestamp", "length": "long", "content": "binary"}
"""What Spark says of a file whose format it does not know."""
SHARE_BYTES = 16 * 2**20
"""Of a file of a stream: larger ones are read by several tasks."""


def scan(
    *paths: str,
    spark: SparkSession | None = None,
    streaming: bool = False,
    format: str = PARQUET.name,
    **options: str | bool,
) -> Input:
    """Files for `workload.over`: the rows are those of `spark.read.format(format).options(**options).load([*paths])`,
    but the tasks read them, and only the columns that tell which records are needed whole. The files are those that are
    there now; with `streaming` also those that come to the folder later. `spark`: the active session unless said."""
    session = spark or SparkSession.builder.getOrCreate()
    said = {name: str(value) for name, value in options.items()}
    read = session.read.format(format).options(**said).load([*paths])
    if streaming:
        (folder,) = paths
        read = session.readStream.schema(read.schema).format(format).options(**said).load(folder)
    return scanned(read, format, paths, said, read)


def scanned(
    read: DataFrame, format: str, paths: tuple[str, ...], options: Mapping[str, str], frame: DataFrame
) -> Input:
    """Files that Spark would read so, and what is made of their columns: read by tasks, if Arrow knows the format."""
    known = _formats(read.sparkSession).get(format)
    if known is None:
        return SparkRows(frame, f"they are in {format} files")
    return (FileStream if read.isStreaming else FileScan)(known, read, paths, options, frame)


def _formats(spark: SparkSession) -> dict[str, Format]:
    jvm: Any = getattr(spark, "_jvm", None)  # none with Spark Connect
    zone = None if jvm is None else str(jvm.java.util.TimeZone.getDefault().getID())
    return {each.name: each for each in (PARQUET, orc_files(zone))}


class ScannedFiles(ReadByTasks):
    """Files of one schema."""

    def __init__(
        self, format: Format, read: DataFrame, paths: tuple[str, ...], options: Mapping[str, str], frame: DataFrame
    ) -> None:
        """`frame`: what is made of the columns that Spark read, if they are cast."""
        self._format, self._read, self.frame = format, read, frame
        self._paths, self._options = paths, dict(options)

    def _how(self, prune: Prune) -> str:
        names = self.frame.columns
        first = [name for name in names if name in prune.columns]
        others = [name for name in names if name not in prune.columns]
        rest = f", and {', '.join(others)} where some record is needed" if others else ""
        return f"the files with Arrow ({self._size}): {', '.join(first)} first{rest}"

    @property
    def _size(self) -> str:
        raise NotImplementedError

    @cached_property
    def _unfit(self) -> str | None:
        conf, settings = self.frame.sparkSession.conf, {**STRICT, **self._format.plain}
        unusual = [name for name in (*LENIENT, *self._format.unusual) if name in self._options]
        unusual += [name for name, plain in settings.items() if str(conf.get(name, plain)).upper() != plain.upper()]
        if unusual:
            return f"{unusual[0]} is set"
        if _cast_through_a_zone(self._read, self.frame):
            return "times are cast through the session's zone"
        try:
            self._check()
        except InexactError as error:
            return str(error)
        return None

    def _check(self) -> None:
        """Look into files; InexactError where Spark had better read them."""
        raise NotImplementedError

    @cached_property
    def _wanted(self) -> ColumnsWanted:
        exactly = self.frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")
        return ColumnsWanted(arrow_schema(self.frame), str(exactly).lower() == "true", arrow_schema(self._read))

    @cached_property
    def _files(self) -> Files:
        addresses = (*self._paths, *self._known)
        return Files(self._format, self._wanted, Stores.of(self.frame.sparkSession, addresses, self._options))

    @cached_property
    def _known(self) -> list[str]:
        """The addresses of files that are there."""
        raise NotImplementedError

    @cached_property
    def _folders(self) -> list[StructField]:
        """The columns that the names of folders give: Spark finds the same ones whatever is in the files."""
        reader = self.frame.sparkSession.read.format("binaryFile").options(**self._options)
        found = reader.load(list(self._paths)).schema.fields[len(FILE_COLUMNS) :]
        return [self._read.schema[each.name] for each in found if each.name in self.frame.columns]


class FileScan(ScannedFiles):
    """The files that were there when it was made."""

    def _read_by_tasks(self, prune: Prune) -> DataFrame:
        tasks = self._listing.tasks(cores(self.frame.sparkSession), self._best(prune))
        numbers = self.frame.sparkSession.range(0, len(tasks), 1, max(len(tasks), 1))
        told = numbers.selectExpr("*", *clock_columns(prune.reader.stream))
        return told.mapInArrow(Scan(prune, self._files, PartsOfTasks(tasks)), ENCODED_DDL)

    @property
    def _size(self) -> str:
        known = self._listing
        files = some(len(known.files), "file", "files"), some(known.sections, *self._format.sections)
        return ", ".join([*files, some(known.rows, "record", "records")])

    def _check(self) -> None:
        _ = self._listing

    def _reach(self, prune: Prune) -> Reach | None:
        time = prune.reader.stream.time
        told = [
            each if each is None else prune.reader.in_time(each)
            for each in self._listing.extremes(time, self._wanted.schema.field(time).type)
        ]
        told = [each for each in told if each is not None]
        if not told:
            return None
        at, far, _ = microseconds(pa.chunked_array(told))
        near = at if far is None else at[~far]
        first, last = prune.reader.stream.bounds.limits(moment(utc_now()))
        near = near[(near >= first) & (near <= last)]
        return Reach(int(near.min()), int(near.max())) if len(near) else None

    def _best(self, prune: Prune) -> Best | None:
        """What row groups are visited by: bounds that rise early rule out more of the others."""
        score = next((each.encoder.score_column() for each in prune.families), None) if score_columns(prune) else None
        return None if score is None else (score.name, self._wanted.schema.field(score.name).type, score.keys)

    @cached_property
    def _known(self) -> list[str]:
        """As Spark listed them when the frame was made."""
        return self._read.inputFiles()

    @cached_property
    def _listing(self) -> Listing:
        """The files with their footers."""
        folders = self._folders if has_folders(self._known) else []
        spark, schema = self.frame.sparkSession, self._wanted.schema
        given = folder_values(spark, self._known, folders, schema) if folders else {}
        return list_files(self._known, self._files, lambda uri: given.get(uri, {}))


class FileStream(ScannedFiles):
    """A folder whose files, and those that come, are the records of a stream. Spark keeps the log of what was read."""

    def _read_by_tasks(self, prune: Prune) -> DataFrame:
        spark, folders = self.frame.sparkSession, self._folders
        schema = StructType()
        for name, kind in FILE_COLUMNS.items():
            schema.add(name, kind)
        for each in folders:
            schema.add(each)
        files = spark.readStream.schema(schema).format("binaryFile").options(**self._options).load(*self._paths)
        shares = f"CAST(greatest(ceil(length / {SHARE_BYTES}), 1) AS INT)"
        columns = [f"_metadata.file_path AS `{URI}`", *(quoted(each.name) for each in folders)]
        columns += clock_columns(prune.reader.stream)
        told = files.selectExpr(*columns, f"{shares} AS `{SHARES}`", f"explode(sequence(0, {shares} - 1)) AS `{SHARE}`")
        given = pa.schema([self._wanted.schema.field(each.name) for each in folders])
        # A file comes as one row: without this one task would read it, however large it is.
        spread = told.repartition(cores(spark))
        return spread.mapInArrow(Scan(prune, self._files, PartsOfFiles(given)), ENCODED_DDL)

    @property
    def _size(self) -> str:
        return "new ones as Spark's log of files tells"

    def _check(self) -> None:
        """The first file that is there stands for all; one that differs stops the stream when it comes."""
        if not self._known:
            self._files.check(*self._paths)
        folders = {each.name: pa.scalar(None, self._wanted.schema.field(each.name).type) for each in self._folders}
        list_files(self._known, self._files, lambda _: folders)

    @cached_property
    def _known(self) -> list[str]:
        there = self.frame.sparkSession.read.schema(self._read.schema).options(**self._options)
        return sorted(there.format(self._format.name).load(list(self._paths)).inputFiles())[:1]


def _cast_through_a_zone(read: DataFrame, frame: DataFrame) -> bool:
    """Whether what a time means depends on the session: in UTC it does not."""
    same = all(read.schema[each.name].dataType == each.dataType or not _is_time(each) for each in frame.schema)
    return not same and frame.sparkSession.conf.get("spark.sql.session.timeZone") != "UTC"


def _is_time(field: StructField) -> bool:
    return isinstance(field.dataType, TimestampType | TimestampNTZType)
