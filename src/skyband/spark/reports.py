"""Result rows and the lines of reports, out of one DataFrame that holds both."""

from __future__ import annotations

import json

import pyarrow as pa
from pyspark.sql import DataFrame, functions as f

from skyband.runtime.reports import FRAME, Stretch, lines_schema, report_lines
from skyband.runtime.results import Results
from skyband.spark.pipeline import results_schema


def result_rows(rows: DataFrame) -> DataFrame:
    """Without the stretches that `over(..., lines=True)` sends along: those have no group."""
    return rows.where("group_key is not null")


def lines_of(rows: DataFrame, results: Results, final: bool) -> DataFrame:
    """The lines of all reports. What is held at once is the reports of one query, not its rows."""
    counted = result_rows(rows).groupBy(*FRAME).agg(f.count(f.lit(1)).alias("rows"))
    counted = counted.withColumn("stretch", f.lit(None).cast("string"))
    due = rows.where("group_key is null").select(*FRAME, f.lit(0).cast("bigint"), "change")

    def lines(found: pa.Table) -> pa.Table:
        of_rows = found.filter(found.column("stretch").is_null()).drop_columns(["stretch"])
        texts = found.column("stretch").drop_null().to_pylist()
        return report_lines(results, of_rows, [Stretch(*json.loads(text)) for text in texts], final)

    return counted.union(due).groupBy("query").applyInArrow(lines, results_schema(lines_schema(results)))
