"""Rules and sources of uncertain records as whole numbers, which is how engines know them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.model import Ints
from skyband.runtime.hashing import hash_rows


def numbered(table: pa.Table, name: str | None) -> Ints:
    """One number per value of the column: integers as they stand, else a stable 64-bit hash (two of a million values
    share one with a chance of 3e-8). NO_RULE where the column is NULL, or there is none."""
    if name is None:
        return np.full(len(table), NO_RULE)
    column = table.column(name)
    missing = np.asarray(column.is_null())
    if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
        number = np.asarray(pc.fill_null(column, 0)).astype(np.int64)
    else:
        number = hash_rows(table.select([name])).astype(np.int64)
    return np.where(missing, NO_RULE, number)
