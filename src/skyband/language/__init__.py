"""Text ↔ model: workloads in SQL, and expressions compiled to NumPy and to Spark SQL."""

from skyband.language.clauses.workload import parse, parse_workload
from skyband.language.expressions.aggregates import OverAggregates, over_aggregates
from skyband.language.expressions.bind import find_column
from skyband.language.expressions.compiled import (
    Filter,
    Score,
    canonical,
    columns,
    compile_filter,
    compile_number,
    compile_score,
    score_types,
)
from skyband.language.expressions.group_conditions import of_groups
from skyband.language.expressions.order_key import DIGITS_OF_DOUBLE, DIGITS_OF_INTEGER, unscaled
from skyband.language.expressions.ranking import check_ranking
from skyband.language.expressions.shape import shape
from skyband.language.expressions.shown import Shown, compile_shown
from skyband.language.expressions.types import declared_schema
from skyband.language.settled import settled
from skyband.language.written_times import WrittenColumn, written_columns

__all__ = [
    "DIGITS_OF_DOUBLE",
    "DIGITS_OF_INTEGER",
    "Filter",
    "OverAggregates",
    "Score",
    "Shown",
    "WrittenColumn",
    "canonical",
    "check_ranking",
    "columns",
    "compile_filter",
    "compile_number",
    "compile_score",
    "compile_shown",
    "declared_schema",
    "find_column",
    "of_groups",
    "over_aggregates",
    "parse",
    "parse_workload",
    "score_types",
    "settled",
    "shape",
    "unscaled",
    "written_columns",
]
