"""Text ↔ model: workloads in SQL, and expressions compiled to NumPy and to Spark SQL."""

from skyband.language.compiled import Filter, Score, canonical, columns, compile_filter, compile_score
from skyband.language.ranking import check_ranking
from skyband.language.shape import shape
from skyband.language.types import declared_schema
from skyband.language.workload_text import parse

__all__ = [
    "Filter",
    "Score",
    "canonical",
    "check_ranking",
    "columns",
    "compile_filter",
    "compile_score",
    "declared_schema",
    "parse",
    "shape",
]
