"""JSON values of which Spark's tasks make records themselves, instead of rows that Spark hands them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql import DataFrame, functions as f
from pyspark.sql.types import StructType, TimestampType

from skyband.language import WrittenColumn
from skyband.spark.columns import arrow_schema
from skyband.spark.event_time import clock_columns
from skyband.spark.inputs import ReadByTasks
from skyband.spark.io.json_seconds import records_of
from skyband.spark.io.json_values import JsonValues, is_known
from skyband.spark.stages.prune import ENCODED_DDL, Prune
from skyband.spark.stages.values import LEFT, LEFT_DDL, RECORD, PruneLeft, ReadValues


class JsonRecords(ReadByTasks):
    """Records that are JSON in a column of bytes."""

    def __init__(
        self,
        values: DataFrame,
        schema: StructType,
        written: Mapping[str, WrittenColumn] = MappingProxyType({}),
        key: str | None = None,
    ) -> None:
        """`values`: one column. `written`: columns of times that Spark takes for text. `key`: a column that is NULL
        only where the value says so."""
        self._values, self._schema, self._written, self._key = values, schema, written, key
        (name,) = values.columns
        self.frame = records_of(values, name, schema, RECORD, [], key).select(f"{RECORD}.*")

    def _read_by_tasks(self, prune: Prune) -> DataFrame:
        clock = [f.expr(said) for said in clock_columns(prune.reader.stream)]
        values = in_few_tasks(self._values).select("*", *clock)
        read = values.mapInArrow(ReadValues(prune, JsonValues(self._read_by_arrow)), LEFT_DDL)
        told = records_of(read, LEFT, self._schema, RECORD, [*map(f.col, read.columns), *clock], self._key)
        return told.mapInArrow(PruneLeft(prune), ENCODED_DDL)

    def _how(self, prune: Prune) -> str:
        return "the JSON values with Arrow, and Spark those of which Arrow might make something else"

    @property
    def _read_by_arrow(self) -> pa.Schema:
        """Numbers as numbers, which is faster; where there are others Arrow leaves the value to Spark."""
        kinds = {name: each.written.json for name, each in self._written.items()}
        return pa.schema([each.with_type(kinds.get(each.name, each.type)) for each in arrow_schema(self.frame)])

    @cached_property
    def _unfit(self) -> str | None:
        return next(self._reasons(), None)

    def _reasons(self) -> Iterator[str]:
        conf = self.frame.sparkSession.conf
        for each, arrow in zip(self._schema, arrow_schema(self.frame), strict=True):
            if not is_known(arrow.type):
                yield f"column {each.name!r} is {each.dataType.simpleString().upper()}"
        zone = conf.get("spark.sql.session.timeZone")
        if zone != "UTC" and any(isinstance(each.dataType, TimestampType) for each in self._schema):
            yield f"times without a zone are in that of the session, {zone}"
        if str(conf.get("spark.sql.legacy.timeParserPolicy")).upper() == "LEGACY":
            yield "spark.sql.legacy.timeParserPolicy is set"
        if conf.get("spark.sql.columnNameOfCorruptRecord") in self._schema.names:
            yield "a column is to hold the values that cannot be read"


def in_few_tasks(values: DataFrame) -> DataFrame:
    """A task pays for a Python worker, or two: on one machine not more tasks than cores, however many partitions there
    are. How many cores a cluster will have is not known beforehand."""
    context = getattr(values.sparkSession, "_sc", None)  # none with Spark Connect
    if context is None or not context.master.startswith("local["):
        return values
    return values.coalesce(context.defaultParallelism)
