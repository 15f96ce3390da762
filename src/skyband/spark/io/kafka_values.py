"""What the values of a Kafka topic are: the words behind `kafka://host:port/topic?format=`, checked before Spark
starts, and who reads such values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession, functions as f
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import StructType

from skyband.errors import SkybandError
from skyband.language import written_columns
from skyband.model import Stream
from skyband.model.names import did_you_mean
from skyband.runtime.locations import Location, local
from skyband.spark.columns import conform, declared
from skyband.spark.decoded import AvroRecords, DecodedRecords
from skyband.spark.inputs import Input, SparkRows
from skyband.spark.io.avro_values import need_fastavro
from skyband.spark.io.frames import AvroFrame, ProtobufFrame
from skyband.spark.io.protobuf_values import described
from skyband.spark.io.registered_values import Opened, by_one_schema, by_registry
from skyband.spark.io.registry import PATIENCE, Registry
from skyband.spark.io.storage import Storage
from skyband.spark.io.value_schemas import AVRO, BARE, PROTOBUF, OneSchema, ValueFormat
from skyband.spark.values import JsonRecords

SCAN = "scan"
"""The option of ours that says whether tasks may read the records."""
AS_SAID = "to be read by Spark, as scan=false says"
STARTING = 10.0
"""Seconds that a registry has to answer before anything has started."""
OURS = ("format", "schema", "framed", "registry", "subject", "registryTimeout", "descriptor", "message", SCAN)
"""Options of which Spark's reader hears nothing."""
Read = Callable[[str], bytes]
"""The content of a file."""


@dataclass(frozen=True)
class Values:
    """A topic, the options of ours behind it, and its stream."""

    topic: str
    options: Mapping[str, str]
    stream: Stream

    @property
    def format(self) -> str:
        return self.options.get("format", "json")

    @property
    def framed(self) -> bool:
        return self.options.get("framed", "false").lower() == "true"

    @property
    def by_tasks(self) -> bool:
        return self.options.get(SCAN, "true").lower() != "false"

    @property
    def subject(self) -> str:
        return self.options.get("subject", f"{self.topic}-value")

    def registry(self, patience: float | None = None) -> Registry:
        said = self.options.get("registryTimeout", f"{PATIENCE:g}")
        if not re.fullmatch(r"\d{1,6}(\.\d+)?", said):
            raise SkybandError(f"registryTimeout={said}", expected="seconds, as registryTimeout=60")
        seconds = float(said)
        return Registry.at(self.options["registry"], seconds if patience is None else min(patience, seconds))

    @staticmethod
    def of(location: Location, stream: Stream) -> Values:
        mine = {name: value for name, value in location.options.items() if name in OURS}
        return Values(location.where.partition("/")[2], mine, stream)


class Format(Protocol):
    """One kind of values."""

    @property
    def words(self) -> tuple[str, ...]:
        """The options that it knows."""
        ...

    def check(self, values: Values) -> None:
        """All that can be found wrong without Spark."""
        ...

    def open(self, spark: SparkSession, raw: DataFrame, values: Values) -> Input:
        """`raw`: one column of bytes."""
        ...


class Json:
    words = (SCAN,)

    def check(self, values: Values) -> None:
        if not values.stream.columns:
            raise SkybandError(
                f"stream {values.stream.name} comes from Kafka and does not declare its columns",
                expected=f"CREATE STREAM {values.stream.name} (column TYPE, ...) WITH (...)",
            )

    def open(self, spark: SparkSession, raw: DataFrame, values: Values) -> Input:
        stream = values.stream
        records = JsonRecords(raw, declared(stream) or StructType(), written_columns(stream.columns), stream.key)
        return records if values.by_tasks else SparkRows(conform(records.frame, stream), f"they are {AS_SAID}")


class AvroFormat:
    words = ("schema", "framed", "registry", "subject", "registryTimeout", SCAN)

    def check(self, values: Values) -> None:
        options = values.options
        if ("schema" in options) == ("registry" in options):
            raise SkybandError(
                "Avro with both a schema and a registry" if "schema" in options else "Avro without a schema",
                expected="format=avro&schema=FILE.avsc, or format=avro&registry=http://host:8081",
            )
        if "registry" not in options and not values.framed:
            _check_file(options["schema"], "an Avro schema")
            return
        need_fastavro()
        _check_only_tasks(values)
        if "registry" in options:
            _registered(AVRO, values, STARTING)
        elif _check_file(options["schema"], "an Avro schema"):
            self._with_file(values, _read_local)

    def open(self, spark: SparkSession, raw: DataFrame, values: Values) -> Input:
        if "registry" in values.options:
            return _decoded(raw, values, _registered(AVRO, values))
        if values.framed:
            return _decoded(raw, values, self._with_file(values, _reading(spark)))
        return self._plain(spark, raw, values)

    def _with_file(self, values: Values, read: Read) -> Opened:
        path = values.options["schema"]
        schemas = OneSchema(AVRO, (read(path),))
        return by_one_schema(
            schemas, AvroFrame(), values.stream, path, f"the Avro values, all with the schema in {path}"
        )

    def _plain(self, spark: SparkSession, raw: DataFrame, values: Values) -> Input:
        """Spark can read them too, and says what is in them."""
        schema = Storage(spark, values.options["schema"]).read()
        record = from_avro(f.col("value"), schema, {"mode": "PERMISSIVE"})
        read = raw.select(record.alias("record")).select("record.*")
        frame = conform(read, values.stream)
        return AvroRecords(raw, schema, read, frame) if values.by_tasks else SparkRows(frame, f"they are {AS_SAID}")


class ProtobufFormat:
    words = ("descriptor", "message", "framed", "registry", "subject", "registryTimeout", SCAN)

    def check(self, values: Values) -> None:
        options = values.options
        if ("descriptor" in options) == ("registry" in options) or not {"message", "registry"} & options.keys():
            raise SkybandError(
                "Protobuf needs a registry, or a descriptor and the name of its message",
                expected="format=protobuf&registry=http://host:8081, or "
                "format=protobuf&descriptor=FILE.desc&message=pkg.Trade",
            )
        _check_only_tasks(values)
        if "registry" in options:
            _registered(PROTOBUF, values, STARTING)
        elif _check_file(options["descriptor"], "a set of Protobuf descriptors"):
            self._with_file(values, _read_local)

    def open(self, spark: SparkSession, raw: DataFrame, values: Values) -> Input:
        if "registry" in values.options:
            return _decoded(raw, values, _registered(PROTOBUF, values))
        return _decoded(raw, values, self._with_file(values, _reading(spark)))

    def _with_file(self, values: Values, read: Read) -> Opened:
        path, name = values.options["descriptor"], values.options["message"]
        schemas = OneSchema(PROTOBUF, *described(read(path), name, path))
        framing = ProtobufFrame() if values.framed else BARE
        how = f"the Protobuf values, all as {name} in {path}"
        return by_one_schema(schemas, framing, values.stream, path, how)


FORMATS: dict[str, Format] = {"json": Json(), "avro": AvroFormat(), "protobuf": ProtobufFormat()}


def check_values(location: Location, stream: Stream) -> None:
    """What Kafka holds is bytes: something has to say what they mean."""
    values = Values.of(location, stream)
    if values.format not in FORMATS:
        raise SkybandError(
            f"Kafka values in {values.format!r}",
            expected=" or ".join(f"format={name}" for name in FORMATS),
            hint=did_you_mean(values.format, list(FORMATS)),
        )
    format = FORMATS[values.format]
    for name in values.options:
        if name not in ("format", *format.words):
            raise SkybandError(f"{name}= with format={values.format}", expected="of ours " + ", ".join(format.words))
    if "framed" in values.options and (values.options["framed"].lower() not in ("true", "false")):
        raise SkybandError(f"framed={values.options['framed']}", expected="framed=true or framed=false")
    if "registry" in values.options and "framed" in values.options and not values.framed:
        raise SkybandError("framed=false with a registry", hint="the frame says which schema of the registry it is")
    format.check(values)


def open_values(spark: SparkSession, raw: DataFrame, location: Location, stream: Stream) -> Input:
    """The records of a topic; `raw` has its values."""
    values = Values.of(location, stream)
    return FORMATS[values.format].open(spark, raw, values)


def needs_spark_avro(location: Location) -> bool:
    """Whether Spark may have to read the values."""
    options = location.options
    framed = options.get("framed", "").lower() == "true"
    return options.get("format") == "avro" and "registry" not in options and not framed


def _registered(format: ValueFormat, values: Values, patience: float | None = None) -> Opened:
    return by_registry(format, values.registry(patience), values.subject, values.options.get("message"), values.stream)


def _decoded(raw: DataFrame, values: Values, opened: Opened) -> Input:
    return DecodedRecords(raw, values.stream.name, opened.decoding, opened.how)


def _check_only_tasks(values: Values) -> None:
    if not values.by_tasks:
        raise SkybandError(
            "scan=false with values that Spark cannot read", hint="leave scan=false out: tasks read them"
        )


def _check_file(where: str, what: str) -> bool:
    """Whether it is on this machine, where it has to be there."""
    path = local(where)
    if path is not None and not path.is_file():
        raise SkybandError(f"there is no {where}", expected=f"a file with {what}")
    return path is not None


def _read_local(where: str) -> bytes:
    path = local(where)
    assert path is not None
    return Path(path).read_bytes()


def _reading(spark: SparkSession) -> Read:
    return lambda where: Storage(spark, where).content()
