"""The stable 64-bit hash of a record: Spark's `xxhash64` over its columns in name order, so that Spark can check it.

Nulls leave the hash as it is, as in Spark. Types that Spark hashes otherwise (nested, decimals) are hashed as text.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from skyband.model import Ints
from skyband.model.readable import python_values

Words = NDArray[np.uint64]
SEED = 42
PIECE = 16_384
"""So many rows at once: what is made on the way to their hashes stays close to the processor."""
P1, P2, P3, P4, P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


_29, _32, _33 = np.uint64(29), np.uint64(32), np.uint64(33)
FEW = 64
"""Rows that are not worth a call of NumPy for each of their words."""
_LONG, _INT = P5 + np.uint64(8), P5 + np.uint64(4)


def hash_rows(table: pa.Table) -> Ints:
    """One hash per row of all columns."""
    if len(table) <= PIECE:
        return _hash_piece(table)
    return np.concatenate([_hash_piece(table.slice(begin, PIECE)) for begin in range(0, len(table), PIECE)])


def _hash_piece(table: pa.Table) -> Ints:
    seed = np.full(len(table), SEED, np.uint64)
    for name in sorted(table.column_names):
        column = table.column(name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        hashed = _hash_column(column, seed)
        seed = np.where(np.asarray(column.is_valid()), hashed, seed) if column.null_count else hashed
    return seed.view(np.int64)


def group_hash(named: pa.Table) -> Ints:
    """A stable hash of the columns that name a group. That of a row passes over NULLs, so where they are counts too."""
    hashed = hash_rows(named)
    if not any(column.null_count for column in named.columns):
        return hashed
    bits = np.zeros(len(named), np.int64)
    for place, column in enumerate(named.columns):
        bits |= np.asarray(column.is_null()).astype(np.int64) << place
    return np.where(bits == 0, hashed, hash_rows(pa.table({"a": hashed, "b": bits})))


def hash_column(column: pa.Array, seed: int) -> Ints:
    """One hash per value; by the seed another one."""
    return _hash_column(column, np.full(len(column), seed, np.uint64)).view(np.int64)


def _hash_column(column: pa.Array, seed: Words) -> Words:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _hash_column(column.cast(kind.value_type), seed)
    if pa.types.is_boolean(kind) or pa.types.is_date32(kind):
        return _hash_ints(_numbers(column.cast(pa.int32())), seed)
    if pa.types.is_integer(kind) and kind.bit_width <= 32 and kind != pa.uint32():
        return _hash_ints(_numbers(_cast(column, pa.int32())), seed)
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return _hash_longs(_numbers(_cast(column, pa.int64())), seed)
    if pa.types.is_timestamp(kind):
        moments = column if kind.unit == "us" else column.cast(pa.timestamp("us", kind.tz), safe=False)
        return _hash_longs(_numbers(moments.view(pa.int64())), seed)
    if pa.types.is_float32(kind):
        return _hash_ints((_numbers(column) + np.float32(0)).view(np.int32), seed)
    if pa.types.is_floating(kind):
        return _hash_longs((_numbers(_cast(column, pa.float64())) + 0.0).view(np.int64), seed)
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind):
        return _hash_bytes(column.cast(pa.large_binary()), seed)
    text = pa.array([None if value is None else repr(value) for value in python_values(column)], pa.large_string())
    return _hash_bytes(text.cast(pa.large_binary()), seed)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Asking Arrow costs more than hashing a few numbers."""
    return column if column.type == kind else column.cast(kind)


def _numbers(column: pa.Array) -> np.ndarray:
    return np.asarray(pc.fill_null(column, 0)) if column.null_count else column.to_numpy()


def _rotated(x: Words, by: int) -> Words:
    high = x << np.uint64(by)
    high |= x >> np.uint64(64 - by)
    return high


def _finished(h: Words) -> Words:
    """In the same place."""
    h ^= h >> _33
    h *= P2
    h ^= h >> _29
    h *= P3
    h ^= h >> _32
    return h


def _with_long(h: Words, value: Words) -> Words:
    mixed = _rotated(value * P2, 31)
    mixed *= P1
    mixed ^= h
    mixed = _rotated(mixed, 27)
    mixed *= P1
    mixed += P4
    return mixed


def _with_int(h: Words, value: Words) -> Words:
    return _rotated(h ^ (value * P1), 23) * P2 + P3


def _with_byte(h: Words, value: Words) -> Words:
    return _rotated(h ^ (value * P5), 11) * P1


def _hash_longs(value: NDArray[np.int64], seed: Words) -> Words:
    return _finished(_with_long(seed + _LONG, value.view(np.uint64)))


def _hash_ints(value: np.ndarray, seed: Words) -> Words:
    return _finished(_with_int(seed + _INT, value.view(np.uint32).astype(np.uint64)))


def _hash_bytes(column: pa.Array, seed: Words) -> Words:
    """Row by row in step: all rows take their first word, then all that have one take their second, and so on."""
    _, offsets, data = column.buffers()
    cut = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    first, last = (int(cut[0]), int(cut[-1])) if len(cut) else (0, 0)
    raw = np.zeros(last - first + 8, np.uint8)  # Eight more: words are read across the end.
    if last > first:
        raw[:-8] = np.frombuffer(data, np.uint8)[first:last]
    at, length = cut[:-1] - first, np.diff(cut)
    h = _hash_stripes(raw, at, length, seed) + length.view(np.uint64)
    left = length % 32
    for size, step in ((8, _with_long), (8, _with_long), (8, _with_long), (4, _with_int), *(3 * [(1, _with_byte)])):
        rows = np.flatnonzero(left >= size)
        if not len(rows):
            continue
        h[rows] = step(h[rows], _word(raw, at[rows], size))
        at[rows] += size
        left[rows] -= size
    return _finished(h)


def _hash_stripes(raw: NDArray[np.uint8], at: Ints, length: Ints, seed: Words) -> Words:
    """The state after all whole stripes of 32 bytes; moves `at` behind them."""
    depth = length // 32
    rows = np.flatnonzero(depth)
    if not len(rows):
        return seed + P5
    # The deepest first: those that have another stripe are the first few, and nobody looks at the others.
    rows = rows[np.argsort(-depth[rows], kind="stable")]
    begun = seed[rows]
    lanes = np.stack([begun + P1 + P2, begun + P2, begun, begun - P1])
    _take_stripes(lanes, raw, at[rows], depth[rows])
    at[rows] += 32 * depth[rows]
    h = seed + P5
    h[rows] = _put_together(lanes)
    return h


def _take_stripes(lanes: Words, raw: NDArray[np.uint8], at: Ints, depth: Ints) -> None:
    """All rows in step while there are many; what the last few have beyond that each for itself."""
    stripe, rows, behind = 0, len(at), -depth
    while rows >= FEW:
        for number, lane in enumerate(lanes[:, :rows]):
            lane[:] = _rotated(lane + _word(raw, at[:rows] + (32 * stripe + 8 * number), 8) * P2, 31) * P1
        stripe += 1
        rows = int(np.searchsorted(behind, -stripe))
    for row in range(rows):
        _take_one(lanes[:, row], raw[int(at[row]) + 32 * stripe : int(at[row] + 32 * depth[row])])


def _take_one(lanes: Words, stripes: NDArray[np.uint8]) -> None:
    """One long row, word by word: a call of NumPy costs more than a few words."""
    each = 32 * FEW * FEW
    for first in range(0, len(stripes), each):
        words = stripes[first : first + each].view("<u8").reshape(-1, 4) * P2
        for lane in range(4):
            lanes[lane] = _rounds(int(lanes[lane]), words[:, lane].tolist())


def _rounds(lane: int, words: list[int]) -> int:
    prime, mask = int(P1), 2**64 - 1
    for word in words:
        lane = (lane + word) & mask
        lane = ((lane << 31 | lane >> 33) & mask) * prime & mask
    return lane


def _put_together(lanes: Words) -> Words:
    h = _rotated(lanes[0], 1) + _rotated(lanes[1], 7) + _rotated(lanes[2], 12) + _rotated(lanes[3], 18)
    for lane in lanes:
        h = (h ^ (_rotated(lane * P2, 31) * P1)) * P1 + P4
    return h


def _word(raw: NDArray[np.uint8], at: Ints, size: int) -> Words:
    """`size` bytes from each place on, little endian."""
    word: Words = raw[at].astype(np.uint64)
    for byte in range(1, size):
        word |= raw[at + byte].astype(np.uint64) << np.uint64(8 * byte)
    return word
