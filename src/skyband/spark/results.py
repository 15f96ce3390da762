"""The rows of one query out of a DataFrame of result rows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, functions as f
from pyspark.sql.types import DataType, TimestampNTZType, TimestampType

from skyband.planner import Plan
from skyband.runtime.results import QueryResults, Results, rows_of_query
from skyband.spark.event_time import micros_sql, quoted, without_zone_sql
from skyband.spark.inputs import Given, by_stream
from skyband.spark.pipeline import results_schema, stream_readers


def results(plan: Plan, records: Given) -> Results:
    """The result schema of a plan over these records."""
    return Results(plan, stream_readers(plan, by_stream(plan.streams, records)))


@rows_of_query.register(DataFrame)
def _rows_of_frame(rows: DataFrame, of: QueryResults) -> DataFrame:
    of.check(rows.columns)
    wanted = results_schema(of.schema)
    columns = [_column(rows, of.columns[each.name], each.dataType).alias(each.name) for each in wanted]
    return rows.where(f.col("query") == of.query).select(*columns)


def _column(rows: DataFrame, name: str, kind: DataType) -> Column:
    """In the combined table times are instants if those of any stream are; a cast would go through the session's
    zone."""
    if isinstance(kind, TimestampNTZType) and isinstance(rows.schema[name].dataType, TimestampType):
        return f.expr(without_zone_sql(micros_sql(name, TimestampType())))
    return f.col(quoted(name))
