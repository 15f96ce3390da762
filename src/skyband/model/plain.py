"""Columns as they lie in memory: nothing is copied where Arrow holds what NumPy wants."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.model.types import Floats, Ints


def plain_ints(column: pa.ChunkedArray) -> Ints | None:
    """Times, or 64-bit integers, of a column in one piece without NULLs, to be read only; None if it is not such."""
    if column.num_chunks != 1 or column.null_count:
        return None
    numbers: Ints = column.chunk(0).view(pa.int64()).to_numpy()
    return numbers


def plain_floats(column: pa.ChunkedArray | pa.Array) -> Floats | None:
    """The same of DOUBLEs."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            return None
        column = column.chunk(0)
    if column.null_count or column.type != pa.float64():
        return None
    numbers: Floats = column.to_numpy()
    return numbers


def readable(values: np.ndarray) -> np.ndarray:
    """The same array, to be read only: kernels that do no more are compiled once, for such."""
    view = values.view()
    view.flags.writeable = False
    return view
