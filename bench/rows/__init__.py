"""The rows, one file per topic; importing this package registers them."""

from bench.rows import (
    incomplete,
    incomplete_approximate,
    many_queries,
    many_scores,
    monitor,
    one_query,
    planning,
    sap,
    shared,
    spark,
    spark_stream,
    time_u,
    uncertain,
    uncertain_live,
    uncertain_load,
    uncertain_more,
)

__all__ = [
    "incomplete",
    "incomplete_approximate",
    "many_queries",
    "many_scores",
    "monitor",
    "one_query",
    "planning",
    "sap",
    "shared",
    "spark",
    "spark_stream",
    "time_u",
    "uncertain",
    "uncertain_live",
    "uncertain_load",
    "uncertain_more",
]
