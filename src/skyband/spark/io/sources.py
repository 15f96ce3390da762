"""Where a stream comes from, in the words of the command line: `trades=data/`, `trades=kafka://host:9092/topic` ..."""

from __future__ import annotations

from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as f
from pyspark.sql.types import StringType, StructField, StructType

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.runtime.locations import SCHEMES, SUFFIXES, Location
from skyband.spark.columns import conform, declared
from skyband.spark.event_time import quoted
from skyband.spark.inputs import Input, OnePartition, SparkRows
from skyband.spark.io.csv_files import open_csv
from skyband.spark.io.json_seconds import READING, TEXT, with_times
from skyband.spark.io.kafka_values import AS_SAID, OURS, SCAN, open_values
from skyband.spark.io.locations import broker
from skyband.spark.io.micro_batches import bounded
from skyband.spark.io.storage import Storage
from skyband.spark.scan import scanned
from skyband.spark.session import first_line

_REFUSED = (PySparkException, Py4JError)


def open_source(spark: SparkSession, location: Location, stream: Stream, streaming: bool) -> Input:
    """The stream's records; of declared columns those and no others."""
    try:
        return _open(spark, location, stream, streaming)
    except _REFUSED as error:
        raise SkybandError(f"stream {stream.name}: {first_line(error)}") from error


def _open(spark: SparkSession, location: Location, stream: Stream, streaming: bool) -> Input:
    if location.kind == "kafka":
        return _kafka(spark, location, stream, streaming)
    if location.kind == "rate":
        rows = location.where.strip("/") or "1"
        made = spark.readStream.format("rate").options(rowsPerSecond=rows, **location.options).load()
        return _rows(made, stream, "made by Spark")
    if location.kind in SCHEMES:
        reader = spark.readStream if streaming else spark.read
        made = reader.format(location.kind).options(**location.options).load()
        return OnePartition(conform(made, stream), f"they are made by {location.kind}://")
    return _files(spark, location, stream, streaming)


def _rows(frame: DataFrame, stream: Stream, what: str) -> Input:
    return SparkRows(conform(frame, stream), f"they are {what}")


def _files(spark: SparkSession, location: Location, stream: Stream, streaming: bool) -> Input:
    storage = Storage(spark, location.where)
    if not storage.matches():
        raise SkybandError(f"nothing matches {location.where}", expected="a file, a folder or a pattern of files")
    kind = _kind(location, storage)
    if kind == "delta":
        return _rows(_delta(spark, location, streaming), stream, "of a Delta table")
    if kind == "csv":
        opened = open_csv(spark, location.where, location.options, declared(stream), streaming)
        return _rows(opened, stream, "in CSV files")
    schema = _schema(spark, kind, location, stream)
    options = _reading(kind) | location.options
    if streaming:
        options = bounded(kind, options)
    by_tasks = options.pop(SCAN, "true").lower() != "false"
    reader = (spark.readStream if streaming else spark.read).format(kind).options(**options)
    if kind == "json" and READING.keys().isdisjoint(options):
        # Not into the schema itself: it is the stream's.
        whole = reader.options(**READING).schema(StructType([*schema, StructField(TEXT, StringType())]))
        times = with_times(whole.load(location.where), schema)
        read = _with_keys(times, stream.key, stream.time).select(*map(quoted, schema.names))
    else:
        read = reader.schema(schema).load(location.where)
    if not by_tasks:
        return _rows(read, stream, AS_SAID)
    return scanned(read, kind, (location.where,), options, conform(read, stream))


def _with_keys(read: DataFrame, key: str | None, time: str) -> DataFrame:
    """Spark makes NULL of a key that is of another type: the record has no time then, and is counted as bad."""
    if key not in read.columns:
        return read
    said = f.from_json(f.col(TEXT), StructType([StructField(key, StringType())])).getField(key)
    wrong = f.col(TEXT).isNotNull() & f.col(quoted(key)).isNull() & said.isNotNull()
    return read.withColumn(time, f.when(~wrong, f.col(quoted(time))))


def _delta(spark: SparkSession, location: Location, streaming: bool) -> DataFrame:
    options = bounded("delta", location.options) if streaming else location.options
    reader = (spark.readStream if streaming else spark.read).format("delta").options(**options)
    try:
        return reader.load(location.where)
    except _REFUSED as error:
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
        raise SkybandError(
            f"{location.where} is a Delta table, and Spark cannot read those by itself",
            hint=f"delta:{location.where} fetches what it takes",
        ) from None


def _kind(location: Location, storage: Storage) -> str:
    """What the files' names say, unless it was said; Parquet where they say nothing."""
    if location.kind != "files":
        return location.kind
    if "_delta_log" in storage.names():
        return "delta"
    for name in (Path(location.where).name, *storage.names()):
        suffix = name.removesuffix(".gz").rpartition(".")[2].lower()
        if suffix in SUFFIXES:
            return SUFFIXES[suffix]
    return "parquet"


def _reading(kind: str) -> dict[str, str]:
    return {"inferTimestamp": "true"} if kind == "json" else {}


def _schema(spark: SparkSession, kind: str, location: Location, stream: Stream) -> StructType:
    """As declared where the files do not say it themselves."""
    said = declared(stream)
    if kind == "json" and said is not None:
        return said
    try:
        return spark.read.format(kind).options(**_reading(kind) | location.options).load(location.where).schema
    except AnalysisException:
        # An empty folder: its first files are still to come.
        if said is None:
            raise
        return said


def _kafka(spark: SparkSession, location: Location, stream: Stream, streaming: bool) -> Input:
    servers, topic = broker(location)
    options = {"startingOffsets": "earliest"} | {
        name: value for name, value in location.options.items() if name not in OURS
    }
    if streaming:
        options = bounded("kafka", options)
    reader = (spark.readStream if streaming else spark.read).format("kafka")
    raw = reader.options(**{"kafka.bootstrap.servers": servers, "subscribe": topic}, **options).load()
    return open_values(spark, raw.select("value"), location, stream)
