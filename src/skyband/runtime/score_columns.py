"""Scores as they are shown: each in its own type; and how rows of several types stand in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.language import compile_score
from skyband.model import Flags, Ints, Keys, Query
from skyband.model.arrays import turned

SCORE = "score"
DOUBLE = pa.float64()
OWN = ("score_bigint", "score_decimal", "score_date", "score_timestamp", "score_timestamp_ntz")
"""Where scores of a type stand that not all have."""


def score_type(query: Query, schema: pa.Schema | None, stream: str) -> pa.DataType:
    """What a query's scores are shown as. What is computed of them is a DOUBLE, and so is what is not known yet."""
    if schema is None or query.computed:
        return DOUBLE
    try:
        return compile_score(query.by, schema, stream=stream).arrow
    except SkybandError:
        return DOUBLE


class ScoreColumns:
    """The columns of a table of rows that shows scores of these types: `score` alone, where all are of one type.

    Otherwise `score` is the nearest DOUBLE, NULL of a time, and scores of another type stand in a column of their own
    as well: `score_bigint`, `score_decimal`, `score_date`, `score_timestamp`.
    """

    def __init__(self, kinds: Sequence[pa.DataType]) -> None:
        self.alone = (kinds or (DOUBLE,))[0] if len(set(kinds)) <= 1 else None
        self.schema: dict[str, pa.DataType] = {SCORE: self.alone or DOUBLE}
        if self.alone is None:
            for kind in kinds:
                if kind != DOUBLE:
                    name = column_name(kind)
                    self.schema[name] = _wider(self.schema.get(name, kind), kind)

    def source(self, kind: pa.DataType) -> str:
        """The column that has scores of this type."""
        return SCORE if self.alone is not None or kind == DOUBLE else column_name(kind)

    def of(
        self, keys: Keys, none: Flags | None, falling: Flags, kinds: Sequence[pa.DataType], which: Ints
    ) -> Mapping[str, pa.Array]:
        """The columns of rows: `keys` rank them, higher first, but for those with `none`. Row i is of query `which[i]`:
        whether lower scores are better there, `falling`, and of which type they are, `kinds`."""
        if falling.any():
            keys = _written(keys, falling[which])
        if len(keys) and self.alone is None:
            return self._mixed(keys, none, kinds, which)
        return {SCORE: typed(keys, self.schema[SCORE], none)}

    def _mixed(
        self, written: Keys, none: Flags | None, kinds: Sequence[pa.DataType], which: Ints
    ) -> Mapping[str, pa.Array]:
        columns = {name: pa.nulls(len(written), kind) for name, kind in self.schema.items()}
        for kind in dict.fromkeys(kinds):
            mine = np.array([each == kind for each in kinds])[which]
            own = typed(written, kind, ~mine if none is None else ~mine | none)
            if kind != DOUBLE:
                name = column_name(kind)
                columns[name] = pc.coalesce(columns[name], own.cast(self.schema[name]))
            columns[SCORE] = pc.coalesce(columns[SCORE], _nearest(own))
        return columns


def column_name(kind: pa.DataType) -> str:
    """The one of `OWN` for a type."""
    whole, decimal, date, instant, plain = OWN
    if pa.types.is_decimal(kind):
        return decimal
    if pa.types.is_date(kind):
        return date
    if pa.types.is_timestamp(kind):
        return instant if kind.tz else plain
    return whole


def typed(written: Keys, kind: pa.DataType, left_out: Flags | None = None) -> pa.Array:
    """Scores as values of a type, NULL where there is none."""
    if kind == DOUBLE and left_out is None:
        return pa.array(written + 0.0, DOUBLE, from_pandas=True)
    missing = np.isnan(written) if written.dtype == np.float64 else np.zeros(len(written), bool)
    if left_out is not None:
        missing |= left_out
    if kind == DOUBLE:
        return pa.array(written.astype(np.float64) + 0.0, mask=missing)
    whole = np.where(missing, 0, written)
    if whole.dtype == np.float64:
        # A double ranks these where it tells them all apart; of a decimal it is the value itself.
        whole = np.rint(whole * 10 ** (kind.scale if pa.types.is_decimal(kind) else 0)).astype(np.int64)
    if pa.types.is_decimal(kind):
        return _decimals(whole, missing, kind)
    number = pa.array(whole, mask=missing)
    return number.cast(pa.int32()).cast(kind) if pa.types.is_date(kind) else number.cast(kind)


def _written(keys: Keys, falling: Flags) -> Keys:
    """Scores as the user wrote them: for ASC the sign of doubles was turned, and all bits of integers."""
    return np.where(falling, turned(keys), keys)


def _decimals(unscaled: Ints, missing: Flags, kind: pa.DataType) -> pa.Array:
    """16 bytes each, the lower half first."""
    halves = np.stack((unscaled, unscaled >> 63), axis=1)
    found = pa.Array.from_buffers(kind, len(unscaled), [None, pa.py_buffer(np.ascontiguousarray(halves))])
    return pc.if_else(pa.array(missing), pa.scalar(None, kind), found)


def _nearest(own: pa.Array) -> pa.Array:
    if pa.types.is_temporal(own.type):
        return pa.nulls(len(own), DOUBLE)
    # Arrow's own cast of a decimal is off by an ulp now and then, and that of a large integer is refused.
    return (own.cast(pa.string()) if pa.types.is_decimal(own.type) else own).cast(DOUBLE, safe=False)


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds both; only decimals differ."""
    if one == other:
        return one
    scale = max(one.scale, other.scale)
    return pa.decimal128(max(one.precision - one.scale, other.precision - other.scale) + scale, scale)
