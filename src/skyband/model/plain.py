"""Columns as they lie in memory: nothing is copied where Arrow holds what NumPy wants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from skyband.model.types import Floats, Ints

WORD = pa.int64()
LARGE = 16_384
"""Rows that are put together no faster than some of them are looked up piece by piece."""


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


def raw_bytes(values: pa.Array) -> tuple[Ints, np.ndarray]:
    """Where texts begin and end, and what they are made of."""
    _, ends, data = values.buffers()
    if not len(values):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    places = np.frombuffer(ends, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return places - places[0], np.frombuffer(data or b"", np.uint8)[places[0] : places[-1]]


def taken(table: pa.Table, places: Ints) -> pa.Table:
    """The rows at these places, in their order."""
    if len(places) == len(table) and bool((places == np.arange(len(table))).all()):
        return table
    index = pa.array(places)
    return pa.table([_taken(column, places, index) for column in table.columns], schema=table.schema)


def _taken(column: pa.ChunkedArray, places: Ints, index: pa.Array) -> pa.ChunkedArray | pa.Array:
    """Of words without NULLs NumPy takes some in a fraction of the time that Arrow needs to begin."""
    kind = column.type
    if column.num_chunks > 1 and len(column) > max(8 * len(places), LARGE):
        return _from_chunks(column.chunks, places)
    if not column.num_chunks or column.null_count or not pa.types.is_primitive(kind) or kind.bit_width != 64:
        return column.take(index)
    words = [chunk.view(WORD).to_numpy() for chunk in column.chunks]
    some = (words[0] if len(words) == 1 else np.concatenate(words))[places]
    return pa.Array.from_buffers(kind, len(places), [None, pa.py_buffer(some)])


def _from_chunks(chunks: Sequence[pa.Array], places: Ints) -> pa.Array:
    """Chunk by chunk: Arrow would put all of them together first."""
    ends = np.cumsum([len(chunk) for chunk in chunks])
    chunk = np.searchsorted(ends, places, side="right")
    order = np.argsort(chunk, kind="stable")
    cuts = np.searchsorted(chunk[order], np.arange(len(chunks) + 1))
    parts = [
        each.take(pa.array(places[order[low:high]] - (end - len(each))))
        for each, end, low, high in zip(chunks, ends.tolist(), cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        if high > low
    ]
    back = np.empty(len(places), np.int64)
    back[order] = np.arange(len(places))
    return pa.concat_arrays(parts).take(pa.array(back)) if parts else pa.array([], chunks[0].type)


def readable(values: np.ndarray) -> np.ndarray:
    """The same array, to be read only: kernels that do no more are compiled once, for such."""
    view = values.view()
    view.flags.writeable = False
    return view
