"""Declared columns against those that came."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as f
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from skyband.errors import SkybandError
from skyband.language import written_columns
from skyband.model import Stream
from skyband.model.names import did_you_mean
from skyband.spark.compatible import to_arrow_schema
from skyband.spark.event_time import quoted

_WHOLE: tuple[type[DataType], ...] = (ByteType, ShortType, IntegerType, LongType)
_TIMES: tuple[type[DataType], ...] = (DateType, TimestampNTZType, TimestampType)


def arrow_schema(df: DataFrame) -> pa.Schema:
    """The columns as prune will see them: instants in UTC, times without a zone without one."""
    return to_arrow_schema(df.schema).remove_metadata()


def declared(stream: Stream) -> StructType | None:
    """The columns of CREATE STREAM as Spark knows them; None where it declares none. Times that are written in some way
    are text to it: the tasks read them."""
    if not stream.columns:
        return None
    written = written_columns(stream.columns)
    fields = [(name, StringType() if name in written else DataType.fromDDL(kind)) for name, kind in stream.columns]
    return StructType([StructField(*each) for each in fields])


def conform(df: DataFrame, stream: Stream) -> DataFrame:
    """The declared columns in their order and type; all as they are where none are declared."""
    schema = declared(stream)
    return df if schema is None else df.select(*(_column(df.schema, each, stream) for each in schema))


def _column(found: StructType, wanted: StructField, stream: Stream) -> Column:
    if wanted.name not in found.names:
        raise SkybandError(
            f"stream {stream.name}: the data has no column {wanted.name!r}",
            expected="one of " + ", ".join(found.names),
            hint=did_you_mean(wanted.name, found.names),
        )
    kind = found[wanted.name].dataType
    column = f.col(quoted(wanted.name))
    if kind == wanted.dataType or wanted.name in written_columns(stream.columns):
        return column
    if not _widens(kind, wanted.dataType):
        raise SkybandError(
            f"stream {stream.name}: column {wanted.name!r} is declared {wanted.dataType.simpleString().upper()}, "
            f"and the data has {kind.simpleString().upper()}",
            expected="a type that the data's fits into",
        )
    return column.cast(wanted.dataType).alias(wanted.name)


def _widens(kind: DataType, wanted: DataType) -> bool:
    """A cast that loses nothing a score would see; zoneless times count as UTC, the session's zone."""
    if isinstance(kind, _TIMES) and isinstance(wanted, TimestampType | TimestampNTZType):
        return True
    if isinstance(wanted, DoubleType):
        return isinstance(kind, (*_WHOLE, FloatType, DecimalType))
    if isinstance(kind, _WHOLE) and isinstance(wanted, _WHOLE):
        return _WHOLE.index(type(kind)) <= _WHOLE.index(type(wanted))
    return False
