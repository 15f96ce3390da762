"""What PySpark 4.1, 4.2 and 4.3 do not have in common: here and nowhere else."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas import types
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """Instants are in UTC: 4.1 knows nothing else, later releases want to be told."""
    zoned = "timezone" in inspect.signature(types.to_arrow_schema).parameters
    told: dict[str, Any] = {"timezone": "UTC"} if zoned else {}
    return types.to_arrow_schema(schema, **told)


def most_rows(rows: int) -> ReadLimit:
    """A bound for a micro-batch of a data source in Python; 4.1 has none and does not ask."""
    from pyspark.sql.streaming.datasource import ReadMaxRows

    return ReadMaxRows(rows)


def is_everything(limit: ReadLimit | None) -> bool:
    """Whether all there is was asked for: with 4.1, which names no limit, always."""
    if limit is None:
        return True
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    return isinstance(limit, ReadAllAvailable)
