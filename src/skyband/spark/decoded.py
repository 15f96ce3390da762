"""Avro and Protobuf values of which Spark's tasks make records themselves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from skyband.spark.columns import arrow_schema
from skyband.spark.event_time import clock_columns
from skyband.spark.inputs import ReadByTasks
from skyband.spark.io.avro_values import MISSING, avro_reader, has_fastavro
from skyband.spark.io.decoding import Decoding, absent_record
from skyband.spark.io.value_reader import Unread
from skyband.spark.io.value_schemas import AVRO, BARE, OneSchema
from skyband.spark.stages.decoded import DecodedRows, PruneDecoded
from skyband.spark.stages.prune import ENCODED_DDL, Prune
from skyband.spark.values import in_few_tasks

REBASE = "spark.sql.avro.datetimeRebaseModeInRead"


def _timed(values: DataFrame, prune: Prune) -> DataFrame:
    """Values, and what time it is."""
    return in_few_tasks(values).selectExpr("*", *clock_columns(prune.reader.stream))


class DecodedRecords(ReadByTasks):
    """Records in a column of bytes that only our tasks can read: where Spark has to see rows, they make them."""

    def __init__(self, values: DataFrame, stream: str, decoding: Decoding, how: str) -> None:
        """`values`: one column. `how`: the tasks make records of them, in words."""
        self._values, self._decoding, self._said = values, decoding, how
        schema = from_arrow_schema(decoding.schema, prefer_timestamp_ntz=True)
        self.frame = values.mapInArrow(DecodedRows(stream, decoding), schema)

    def way(self, prune: Prune) -> str:
        why = self._why_not(prune)
        return super().way(prune) if why is None else f"tasks read {self._said}, and Spark has the rows: {why}"

    def _read_by_tasks(self, prune: Prune) -> DataFrame:
        return _timed(self._values, prune).mapInArrow(PruneDecoded(prune, self._decoding), ENCODED_DDL)

    def _how(self, prune: Prune) -> str:
        return self._said

    @cached_property
    def _unfit(self) -> str | None:
        return None


class AvroRecords(ReadByTasks):
    """Records in a column of bytes, plain Avro of one schema: Spark can read them as well."""

    def __init__(self, values: DataFrame, schema: str, read: DataFrame, frame: DataFrame) -> None:
        """`read`: what Spark makes of the values; `frame`: the declared columns of that."""
        self._values, self._schema, self._read, self.frame = values, schema.encode(), read, frame

    def _read_by_tasks(self, prune: Prune) -> DataFrame:
        schema = arrow_schema(self.frame)
        decoding = Decoding(schema, BARE, OneSchema(AVRO, (self._schema,)), absent_record(schema, None))
        return _timed(self._values, prune).mapInArrow(PruneDecoded(prune, decoding), ENCODED_DDL)

    def _how(self, prune: Prune) -> str:
        return "the Avro values with fastavro"

    @cached_property
    def _unfit(self) -> str | None:
        return next(self._reasons(), None)

    def _reasons(self) -> Iterator[str]:
        if not has_fastavro():
            yield MISSING
            return
        conf, wanted = self.frame.sparkSession.conf, arrow_schema(self.frame)
        reader = avro_reader((self._schema,), None)
        if isinstance(reader, Unread):
            yield reader.refusal
            return
        for each in arrow_schema(self._read.select(*wanted.names)):
            found = reader.columns.field(each.name).type if each.name in reader.columns.names else None
            if found != each.type:
                yield f"column {each.name!r} is {self._read.schema[each.name].dataType.simpleString().upper()}"
        if (zone := conf.get("spark.sql.session.timeZone")) != "UTC" and self._moves(wanted):
            yield f"times without a zone are in that of the session, {zone}"
        if str(conf.get(REBASE, "CORRECTED")).upper() != "CORRECTED":
            yield f"{REBASE} is set"

    def _moves(self, wanted: pa.Schema) -> bool:
        """Whether times are given a zone, or lose it."""
        read = arrow_schema(self._read)
        return any(pa.types.is_timestamp(each.type) and read.field(each.name).type != each.type for each in wanted)
