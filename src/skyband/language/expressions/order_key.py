"""What ranks a score of some type, and how it is shown."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.language.expressions.tree import Bound, Field
from skyband.language.expressions.types import Type
from skyband.model import Flags, Ints, ScoreType

DIGITS_OF_DOUBLE, DIGITS_OF_INTEGER = 15, 18
"""So many decimal digits always fit."""
_SHOWN = {
    Type.BIGINT: pa.int64(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
    Type.TIMESTAMP_NTZ: pa.timestamp("us"),
}


def arrow_type(root: Bound) -> pa.DataType:
    """How a score is shown. A DECIMAL is one only as a column: what is computed of it is a DOUBLE."""
    decimal = _decimal(root)
    return _SHOWN.get(root.type, pa.float64()) if decimal is None else decimal


def score_type(root: Bound) -> ScoreType:
    """What ranks it: a double, where that tells all values of the type apart."""
    decimal = _decimal(root)
    if decimal is not None:
        name = f"DECIMAL({decimal.precision}, {decimal.scale})"
        whole = decimal.precision > DIGITS_OF_DOUBLE
        return ScoreType(name, whole, decimal.scale if whole else 0)
    narrow = isinstance(root, Field) and pa.types.is_integer(root.arrow) and root.arrow.bit_width < 64
    return ScoreType(root.type, root.type in _SHOWN and root.type is not Type.DATE and not narrow)


def unscaled(column: pa.ChunkedArray | pa.Array) -> tuple[Ints, Flags]:
    """Decimals of at most 18 digits as whole numbers of their last digit, and which are NULL."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = pa.decimal128(whole.type.precision, whole.type.scale)
    plain = whole if whole.type == kind else whole.cast(kind)
    # 16 bytes each, the lower half first.
    halves = np.frombuffer(plain.buffers()[1], np.int64).reshape(-1, 2)
    missing = np.asarray(plain.is_null())
    return np.where(missing, 0, halves[plain.offset : plain.offset + len(plain), 0]), missing


def _decimal(root: Bound) -> pa.DataType | None:
    """The type of a column of decimals that 64-bit integers can rank."""
    if not isinstance(root, Field) or not pa.types.is_decimal(root.arrow):
        return None
    kind = root.arrow
    small = 0 <= kind.scale <= kind.precision <= DIGITS_OF_INTEGER
    return pa.decimal128(kind.precision, kind.scale) if small else None
