"""Where a stream comes from, in the words of the command line: `trades=data/`, `trades=kafka://host:9092/topic` ..."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qsl

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as f
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import StructField, StructType

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.spark.columns import conform, declared
from skyband.spark.maven import AVRO, DELTA, KAFKA, SCALA, connector
from skyband.spark.micro_batches import bounded
from skyband.spark.session import first_line
from skyband.spark.storage import Storage

FILES = ("parquet", "csv", "json", "orc", "delta")
SUFFIXES = {"parquet": "parquet", "csv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "orc": "orc"}
SCHEMES = ("kafka", "rate", "market")
_OPTIONS = re.compile(r"\?([A-Za-z][\w.]*=[^?]*)$")
_REFUSED = (PySparkException, Py4JError)
_SOURCE = re.compile(r"([A-Za-z_]\w*)=(.+)")
_PREFIX = re.compile(rf"({'|'.join(FILES)}):(?!//)(.+)")
_ADDRESS = re.compile(r"([a-z]+)://(.*)")


@dataclass(frozen=True)
class Place:
    """A kind (`parquet`, `kafka` ... or `files`, when their names have to tell), where it is, options for Spark."""

    kind: str
    where: str
    options: dict[str, str] = field(default_factory=dict)


def place(text: str, schemes: Iterable[str]) -> Place:
    """`kind:path`, `scheme://...` or a path, with `?option=value&...` behind."""
    found = _OPTIONS.search(text)
    options = dict(parse_qsl(found[1], keep_blank_values=True)) if found else {}
    bare = text[: found.start()] if found else text
    prefixed = _PREFIX.fullmatch(bare)
    if prefixed:
        return Place(prefixed[1], prefixed[2], options)
    address = _ADDRESS.fullmatch(bare)
    if address and address[1] in schemes:
        return Place(address[1], address[2], options)
    if address and (near := get_close_matches(address[1], schemes, 1)):
        raise SkybandError(
            f"{text}: there is no scheme {address[1]}://",
            expected="a path, or one of " + ", ".join(f"{scheme}://" for scheme in schemes),
            hint=f"did you mean {near[0]}://?",
        )
    return Place("files", bare, options)


def source_places(texts: Iterable[str], streams: Iterable[Stream], format: str | None) -> dict[str, Place]:
    """`NAME=WHERE` for every stream of the workload; what is wrong is said before Spark starts."""
    names = [stream.name for stream in streams]
    found: dict[str, Place] = {}
    for text in texts:
        name, where = _named(text, names)
        if name in found:
            raise SkybandError(f"two sources for stream {name}", expected="one")
        spot = place(where, SCHEMES)
        found[name] = Place(format, spot.where, spot.options) if format and spot.kind == "files" else spot
        _check(found[name])
    missing = [name for name in names if name not in found]
    if missing:
        raise SkybandError(f"no source for stream {missing[0]}", expected=f"--source {missing[0]}=WHERE")
    return found


def _named(text: str, names: list[str]) -> tuple[str, str]:
    found = _SOURCE.fullmatch(text)
    if not found:
        raise SkybandError(f"--source {text} does not say for which stream", expected=f"{names[0]}={text}")
    if found[1] not in names:
        near = get_close_matches(found[1], names, 1)
        raise SkybandError(
            f"--source {text}: the workload has no stream {found[1]!r}",
            expected="one of " + ", ".join(names),
            hint=f"did you mean {near[0]!r}?" if near else None,
        )
    return found[1], found[2]


def _check(spot: Place) -> None:
    if spot.kind in ("files", *FILES):
        if "://" not in spot.where and not re.search(r"[*?\[{]", spot.where) and not Path(spot.where).exists():
            raise SkybandError(f"there is no {spot.where}", expected="a file, a folder or a pattern of files")
    elif spot.kind == "kafka":
        check_broker(spot)
    elif spot.kind not in SCHEMES:
        raise SkybandError(f"no format {spot.kind!r}", expected="one of " + ", ".join(FILES))


def broker(spot: Place) -> tuple[str, str]:
    """`host:port[,host:port]/topic` as servers and topic."""
    servers, _, topic = spot.where.partition("/")
    if not topic or not all(re.fullmatch(r".+:\d+", server) for server in servers.split(",")):
        raise SkybandError(f"kafka://{spot.where} is no topic of a broker", expected="kafka://host:port/topic")
    return servers, topic


def check_broker(spot: Place) -> None:
    """Some server must answer: Kafka's own client would go on trying for minutes."""
    reasons = []
    for server in broker(spot)[0].split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            return
        except OSError as error:
            reasons.append(f"{server}: {error.strerror or error}")
    raise SkybandError(f"no Kafka broker answers at {'; '.join(reasons)}", expected="a broker that runs")


def packages(places: Iterable[Place], given: Iterable[str], version: str | None = None) -> list[str]:
    """What Spark has to fetch: what was given, and what the places need unless another version of it was given."""
    wanted = [KAFKA for spot in places if spot.kind == "kafka"]
    wanted += [AVRO for spot in places if spot.options.get("format") == "avro"]
    said = list(given)
    missing = [each for each in dict.fromkeys(wanted) if not any(each in other for other in said)]
    return said + [connector(each, version) for each in missing]


def open_source(spark: SparkSession, spot: Place, stream: Stream, streaming: bool) -> DataFrame:
    """The stream's records; of declared columns those and no others."""
    try:
        return conform(_open(spark, spot, stream, streaming), stream)
    except _REFUSED as error:
        raise SkybandError(f"stream {stream.name}: {first_line(error)}") from error


def _open(spark: SparkSession, spot: Place, stream: Stream, streaming: bool) -> DataFrame:
    if spot.kind == "kafka":
        return _kafka(spark, spot, stream, streaming)
    if spot.kind == "rate":
        if not streaming:
            raise SkybandError("rate:// never ends", expected="--stream with it")
        rows = spot.where.strip("/") or "1"
        return spark.readStream.format("rate").options(rowsPerSecond=rows, **spot.options).load()
    if spot.kind in SCHEMES:
        if not streaming and "seconds" not in spot.options:
            raise SkybandError(f"{spot.kind}:// never ends", expected=f"{spot.kind}://?seconds=3600, or --stream")
        reader = spark.readStream if streaming else spark.read
        return reader.format(spot.kind).options(**spot.options).load()
    return _files(spark, spot, stream, streaming)


def _files(spark: SparkSession, spot: Place, stream: Stream, streaming: bool) -> DataFrame:
    storage = Storage(spark, spot.where)
    if not storage.matches():
        raise SkybandError(f"nothing matches {spot.where}", expected="a file, a folder or a pattern of files")
    kind = _kind(spot, storage)
    if kind == "delta":
        return _delta(spark, spot, streaming)
    schema = _schema(spark, kind, spot, stream)
    options = _reading(kind) | spot.options
    if not streaming:
        return spark.read.schema(schema).format(kind).options(**options).load(spot.where)
    return spark.readStream.schema(schema).format(kind).options(**bounded(kind, options)).load(spot.where)


def _delta(spark: SparkSession, spot: Place, streaming: bool) -> DataFrame:
    options = bounded("delta", spot.options) if streaming else spot.options
    reader = (spark.readStream if streaming else spark.read).format("delta").options(**options)
    try:
        return reader.load(spot.where)
    except _REFUSED as error:
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
        raise SkybandError(
            f"{spot.where} is a Delta table, and Spark cannot read those by itself",
            hint=f"--package {DELTA}_{SCALA}:VERSION, in a version made for Spark {spark.version}",
        ) from None


def _kind(spot: Place, storage: Storage) -> str:
    """What the files' names say, unless it was said; Parquet where they say nothing."""
    if spot.kind != "files":
        return spot.kind
    if "_delta_log" in storage.names():
        return "delta"
    for name in (Path(spot.where).name, *storage.names()):
        suffix = name.removesuffix(".gz").rpartition(".")[2].lower()
        if suffix in SUFFIXES:
            return SUFFIXES[suffix]
    return "parquet"


def _reading(kind: str) -> dict[str, str]:
    return {"csv": {"header": "true"}, "json": {"inferTimestamp": "true"}}.get(kind, {})


def _schema(spark: SparkSession, kind: str, spot: Place, stream: Stream) -> StructType:
    """As declared where the files do not say it themselves; CSV has its own order of columns."""
    said = declared(stream)
    if kind == "json" and said is not None:
        return said
    options = _reading(kind) | {"inferSchema": str(said is None).lower()}
    try:
        found = spark.read.format(kind).options(**options).load(spot.where).schema
    except AnalysisException:
        # An empty folder: its first files are still to come.
        if said is None:
            raise
        return said
    if kind != "csv" or said is None:
        return found
    kinds = {column.name: column.dataType for column in said}
    return StructType([StructField(column.name, kinds.get(column.name, column.dataType)) for column in found])


def _kafka(spark: SparkSession, spot: Place, stream: Stream, streaming: bool) -> DataFrame:
    servers, topic = broker(spot)
    options = {"startingOffsets": "earliest"} | spot.options
    format, path = options.pop("format", "json"), options.pop("schema", "")
    if streaming:
        options = bounded("kafka", options)
    reader = (spark.readStream if streaming else spark.read).format("kafka")
    raw = reader.options(**{"kafka.bootstrap.servers": servers, "subscribe": topic}, **options).load()
    schema = declared(stream)
    if format == "avro":
        if not path:
            raise SkybandError("Avro without a schema", expected=f"kafka://{spot.where}?format=avro&schema=FILE.avsc")
        record = from_avro(f.col("value"), Storage(spark, path).read(), {"mode": "PERMISSIVE"})
    elif format != "json":
        raise SkybandError(f"Kafka values in {format!r}", expected="format=json or format=avro")
    elif schema is None:
        raise SkybandError(
            f"stream {stream.name} comes from Kafka and does not declare its columns",
            expected=f"CREATE STREAM {stream.name} (column TYPE, ...) WITH (...)",
        )
    else:
        record = f.from_json(f.col("value").cast("string"), schema)
    return raw.select(record.alias("record")).select("record.*")
