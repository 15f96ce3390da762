"""Columns of a Parquet file as Arrow reads them against the types that Spark gives them."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

_DIGITS = {"int8": 3, "int16": 5, "int32": 10, "int64": 19, "uint8": 3, "uint16": 5, "uint32": 10, "uint64": 20}


def is_exact(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a cast gives each value that Spark would have read. What is not known for sure is left to Spark."""
    if types.is_dictionary(found):
        return is_exact(found.value_type, wanted)
    if found == wanted:
        return True
    if types.is_nested(wanted):
        return _nested(found, wanted)
    return any(exact(found, wanted) for exact in (_time, _text, _whole, _fraction))


def _time(found: pa.DataType, wanted: pa.DataType) -> bool:
    """A time without a zone may be read as an instant, as of INT96: its number stays. Spark refuses the reverse."""
    if types.is_timestamp(found) and types.is_timestamp(wanted):
        return found.unit in ("ms", "us") and wanted.unit == "us" and not (found.tz and not wanted.tz)
    return bool(types.is_date64(found) and types.is_date32(wanted))


def _text(found: pa.DataType, wanted: pa.DataType) -> bool:
    if types.is_string(wanted):
        return bool(types.is_large_string(found) or types.is_string_view(found))
    return bool(types.is_binary(wanted) and (types.is_large_binary(found) or types.is_binary_view(found)))


def _whole(found: pa.DataType, wanted: pa.DataType) -> bool:
    if not types.is_integer(found):
        return False
    if types.is_decimal(wanted):
        return bool(wanted.scale == 0 and wanted.precision >= _DIGITS[str(found)])
    if not types.is_signed_integer(wanted):
        return bool(types.is_float64(wanted) and found.bit_width <= 32)
    signless = types.is_unsigned_integer(found)
    return bool(found.bit_width < wanted.bit_width or (found.bit_width == wanted.bit_width and not signless))


def _fraction(found: pa.DataType, wanted: pa.DataType) -> bool:
    if types.is_decimal(found) and types.is_decimal(wanted):
        more = wanted.scale - found.scale
        return bool(more >= 0 and wanted.precision - found.precision >= more)
    return bool(types.is_float32(found) and types.is_float64(wanted))


def _nested(found: pa.DataType, wanted: pa.DataType) -> bool:
    if types.is_map(wanted):
        keys = types.is_map(found) and is_exact(found.key_type, wanted.key_type)
        return keys and is_exact(found.item_type, wanted.item_type)
    if types.is_struct(wanted):
        names = types.is_struct(found) and [each.name for each in found] == [each.name for each in wanted]
        return names and all(is_exact(one.type, other.type) for one, other in zip(found, wanted, strict=True))
    listed = types.is_list(found) or types.is_large_list(found)
    return bool(listed and types.is_list(wanted) and is_exact(found.value_type, wanted.value_type))
