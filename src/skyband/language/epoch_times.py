"""Times as numbers since 1970."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import Flags, Floats, Ints

UNITS = {
    "UNIX_SECONDS": Fraction(1_000_000),
    "UNIX_MILLIS": Fraction(1_000),
    "UNIX_MICROS": Fraction(1),
    "UNIX_NANOS": Fraction(1, 1_000),
}
"""How many microseconds each is."""
MOST = 2**63 - 1
_EXACT = pa.decimal128(28, 9)
"""What has room for every 64-bit integer, and a billionth of each unit."""
_USUAL = r"^[+-]?[0-9]{1,19}(\.[0-9]{0,9})?$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?$"
_LONGEST = 100
"""Characters of a number."""


@dataclass(frozen=True)
class EpochTimes:
    """Numbers of one unit, with or without a fraction, or the same as text."""

    unit: str

    def rises(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_integer(kind))

    @property
    def json(self) -> pa.DataType:
        return _EXACT if self.unit == "UNIX_SECONDS" else pa.int64()

    def accepts(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or _is_exact(kind))

    def micros(self, column: pa.Array) -> tuple[Ints, Flags]:
        if pa.types.is_integer(column.type):
            return self._of_integers(column)
        if pa.types.is_floating(column.type):
            return self._of_floats(np.asarray(column.cast(pa.float64()).fill_null(0.0)))
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.string())
        return self._of_text(column)

    def _of_integers(self, column: pa.Array) -> tuple[Ints, Flags]:
        column, beyond = column.fill_null(0), np.zeros(len(column), bool)
        if pa.types.is_uint64(column.type):
            beyond = np.asarray(column) > MOST
            column = pc.if_else(pa.array(beyond), pa.scalar(0, pa.uint64()), column)
        number, unit = np.asarray(column.cast(pa.int64())), UNITS[self.unit]
        if unit.denominator > 1:
            return number // unit.denominator, beyond
        most = MOST // unit.numerator
        wrong = beyond | (number > most) | (number < -most)
        return np.where(wrong, 0, number) * unit.numerator, wrong

    def _of_floats(self, number: Floats) -> tuple[Ints, Flags]:
        """What a number says that was written with up to six digits of a second, though no DOUBLE is exactly that."""
        unit = UNITS[self.unit]
        up, down = float(unit.numerator), float(unit.denominator)
        with np.errstate(over="ignore", invalid="ignore"):
            micros = number * up / down
            nearest = np.rint(micros)
            found = np.where(nearest * down / up == number, nearest, np.floor(micros))
            wrong = ~(np.abs(found) < 2.0**63)
        return np.where(wrong, 0.0, found).astype(np.int64), wrong

    def _of_text(self, text: pa.Array) -> tuple[Ints, Flags]:
        text = pc.ascii_trim_whitespace(text)
        usual = pc.match_substring_regex(text, _USUAL)
        exact = pc.if_else(usual, text, None).cast(_EXACT)
        micros, wrong = self._of_decimals(exact)
        for place in np.flatnonzero(~np.asarray(usual.fill_null(True))).tolist():
            found = self._of_one(text[place].as_py())
            micros[place], wrong[place] = found or 0, found is None
        return micros, wrong

    def _of_decimals(self, number: pa.Array) -> tuple[Ints, Flags]:
        unit = UNITS[self.unit]
        times = Decimal(unit.numerator) / unit.denominator
        micros = pc.floor(pc.multiply(number, pa.scalar(times)))
        wrong = pc.greater(pc.abs(micros), pa.scalar(Decimal(MOST))).fill_null(False)
        whole = pc.if_else(wrong, None, micros).cast(pa.int64()).fill_null(0)
        return np.array(whole), np.array(wrong)

    def _of_one(self, text: str) -> int | None:
        """A number that is written in an unusual way."""
        if len(text) > _LONGEST or not pc.match_substring_regex(pa.scalar(text), _NUMBER).as_py():
            return None
        number = Decimal(text)
        if number and number.adjusted() > 30:
            return None
        if number.adjusted() < -_LONGEST:
            return -1 if number < 0 else 0
        found = floor(Fraction(number) * UNITS[self.unit])
        return found if abs(found) <= MOST else None


def _is_exact(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind) or pa.types.is_string(kind))
