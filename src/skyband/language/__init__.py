"""Text ↔ model: workloads in SQL, and expressions compiled to NumPy and to Spark SQL."""

from skyband.language.clauses.workload import parse, parse_workload
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
from skyband.language.expressions.ranking import check_ranking
from skyband.language.expressions.shape import shape
from skyband.language.expressions.types import declared_schema
from skyband.language.written_times import WrittenColumn, written_columns

__all__ = [
    "Filter",
    "Score",
    "WrittenColumn",
    "canonical",
    "check_ranking",
    "columns",
    "compile_filter",
    "compile_number",
    "compile_score",
    "declared_schema",
    "parse",
    "parse_workload",
    "score_types",
    "shape",
    "written_columns",
]
