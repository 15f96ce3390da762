"""Seconds since 1970 with a fraction, where JSON should have a time. Spark takes whole ones for times, and makes NULL
of these."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, functions as f
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

TEXT = "#text"
"""The column with the text of a record, where Spark could not make of it what was declared."""
READING = {"columnNameOfCorruptRecord": TEXT}


def fractional(columns: StructType) -> list[str]:
    """Columns in which there may be some, and which can be named in a path."""
    names = [each.name for each in columns if isinstance(each.dataType, TimestampType)]
    return [name for name in names if not set(name) & set(".'\"[]`\\")]


def time_of(json: str, name: str) -> Column:
    """What a field of a JSON text says, if it is such a number; text that looks like one is none. Looked at only where
    Spark found no time: it takes the text apart once more."""
    field = f"try_variant_get(try_parse_json({json}), '$[\"{name}\"]', 'variant')"
    number = f"try_variant_get({field}, '$', 'decimal(24, 9)')"
    micros = f"timestamp_micros(try_cast(floor({number} * 1000000) AS BIGINT))"
    return f.expr(f"CASE WHEN schema_of_variant({field}) RLIKE '^(DECIMAL|DOUBLE|FLOAT)' THEN {micros} END")


def with_times(read: DataFrame, columns: StructType) -> DataFrame:
    """Files that were read with the text beside the columns."""
    found = {name: f.coalesce(f.col(name), time_of(f"`{TEXT}`", name)) for name in fractional(columns)}
    return read.withColumns(found)


def records_of(
    values: DataFrame, json: str, columns: StructType, record: str, beside: list[Column], key: str | None
) -> DataFrame:
    """A column `record` of what a column of bytes says, and others beside it. `key`: a column that is NULL only where
    the value says so."""
    text = f.col(json).cast("string")
    read = values.select(*beside, text.alias(TEXT), f.from_json(text, columns).alias(record))
    found = f.col(record)
    for name in fractional(columns):
        found = found.withField(name, f.coalesce(found.getField(name), time_of(f"`{TEXT}`", name)))
    if key is not None:
        found = f.when(f.col(record).getField(key).isNotNull() | _is_null(key), found)
    return read.select(*(each for each in read.columns if each not in (TEXT, record)), found.alias(record))


def _is_null(key: str) -> Column:
    """Spark makes NULL of what is of another type. Two such records would be one to whoever goes by keys: there is
    none then."""
    return f.from_json(f.col(TEXT), StructType([StructField(key, StringType())])).getField(key).isNull()
