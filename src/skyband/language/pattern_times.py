"""Times as text of one form, in the letters of Spark's datetime patterns that say a time and nothing else.

Every form has a few lengths, and in texts of one length every digit has its place: so columns are read digit by digit,
all texts at a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError
from skyband.model import Flags, Ints
from skyband.model.plain import raw_bytes

DAY = 86_400_000_000
LETTERS = "yyyy, MM or MMM, dd, HH, mm, ss, S to SSSSSSSSS, XXX, XX or Z, other letters in quotes"
_MEANS = {"y": "the year", "M": "the month", "d": "the day", "H": "the hour", "m": "the minute", "s": "the second"}
_MEANS |= {"S": "the fraction of a second", "X": "the zone"}
_ZONES = {"XXX": (1, 6), "XX": (1, 5), "Z": (5,)}
"""How long they may be: a Z alone, or an offset; the last is never a Z."""
_WIDTHS = {"yyyy": 4, "MM": 2, "MMM": 3, "dd": 2, "HH": 2, "mm": 2, "ss": 2}
_HINTS = {
    "h": "HH is the hour from 00 to 23",
    "D": "dd is the day of the month",
    "Y": "yyyy is the year",
    "u": "yyyy is the year",
    "T": "a letter that stands for itself is in quotes: \"yyyy-MM-dd'T'HH:mm:ss\"",
    "n": "S is a digit of the fraction of a second",
    "x": "XXX is the zone: Z or +01:00",
    "z": "XXX is the zone: Z or +01:00",
    "V": "XXX is the zone: Z or +01:00",
    "L": "MM is the month",
}
_PIECE = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<plain>[^A-Za-z'\[\]{}#]+)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LENGTHS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_ZERO, _UPPER, _AFTER_UPPER, _LOWER = ord("0"), ord("A"), ord("Z") + 1, 32
_BLOCK = 1 << 14
"""Texts that are read together: their letters stay in the cache."""
_Letters = np.ndarray
"""Of texts of one length: all that stand at the first place, then all at the second ..."""


@dataclass(frozen=True)
class Piece:
    """A few letters of a form: what they say, or what stands there as it is."""

    what: str
    text: str

    @property
    def widths(self) -> tuple[int, ...]:
        if not self.what:
            return (len(self.text.encode()),)
        if self.what == "S":
            return tuple(range(1, len(self.text) + 1))
        return _ZONES.get(self.text) or (_WIDTHS[self.text],)


@dataclass(frozen=True)
class PatternTimes:
    """Texts of one form; letter case makes no difference."""

    pieces: tuple[Piece, ...]

    @staticmethod
    def of(pattern: str) -> PatternTimes:
        """What is not understood is refused."""
        pieces, place = list[Piece](), 0
        while place < len(pattern):
            found = _PIECE.match(pattern, place)
            if found is None:
                raise _refused(pattern, pattern[place])
            pieces.append(_piece(pattern, found))
            place = found.end()
        said = [piece.what for piece in pieces if piece.what]
        for what in said:
            if said.count(what) > 1:
                raise SkybandError(f"FORMAT '{pattern}' says {_MEANS[what]} twice", expected="each part once")
        for what in "yMd":
            if what not in said:
                raise SkybandError(f"FORMAT '{pattern}' does not say {_MEANS[what]}", expected="year, month and day")
        return PatternTimes(tuple(pieces))

    @property
    def zone(self) -> bool:
        """Whether it says one."""
        return any(piece.what == "X" for piece in self.pieces)

    def rises(self, kind: pa.DataType) -> bool:
        return False

    @property
    def json(self) -> pa.DataType:
        return pa.string()

    def accepts(self, kind: pa.DataType) -> bool:
        """A number may be a text of digits."""
        return bool(pa.types.is_string(kind) or pa.types.is_integer(kind))

    def micros(self, column: pa.Array) -> tuple[Ints, Flags]:
        text = column.cast(pa.string())
        ends, data = raw_bytes(text)
        data = np.where((data >= _UPPER) & (data < _AFTER_UPPER), data + _LOWER, data)
        size, some = np.diff(ends), np.asarray(text.is_valid())
        micros, wrong = np.zeros(len(text), np.int64), some.copy()
        for widths in product(*(piece.widths for piece in self.pieces)):
            length = sum(widths)
            every = np.flatnonzero(wrong & (size == length))
            for first in range(0, len(every), _BLOCK):
                mine = every[first : first + _BLOCK]
                found, good = self._read(data[ends[mine] + np.arange(length)[:, None]], widths)
                micros[mine], wrong[mine] = np.where(good, found, 0), ~good
        return micros, wrong

    def _read(self, letters: _Letters, widths: tuple[int, ...]) -> tuple[Ints, Flags]:
        """The times of texts with pieces of these widths, and which are such."""
        parts: dict[str, Ints] = {}
        good, first = np.ones(letters.shape[1], bool), 0
        for piece, width in zip(self.pieces, widths, strict=True):
            mine = letters[first : first + width]
            if not piece.what:
                good &= _is_text(mine, piece.text)
            else:
                parts[piece.what], fits = _PARTS.get(piece.text, _number)(mine)
                good &= fits
                if piece.what == "S":
                    parts["S"] = parts["S"] * 10**9 // 10**width // 1_000
            first += width
        return _moment(parts, good)


def _piece(pattern: str, found: re.Match[str]) -> Piece:
    letters = found["letters"]
    if letters is None:
        text = found["plain"] if found["quoted"] is None else found["quoted"].replace("''", "'") or "'"
        return Piece("", text.lower())
    if letters in _WIDTHS or letters in _ZONES or re.fullmatch("S{1,9}", letters):
        return Piece("X" if letters == "Z" else letters[0], letters)
    raise _refused(pattern, letters)


def _refused(pattern: str, found: str) -> SkybandError:
    usual = next((each for each in (*_WIDTHS, *_ZONES) if each[0] == found[0]), None)
    hint = _HINTS.get(found[0]) or (f"{usual} is {_MEANS[usual[0]]}" if usual and usual[0] in _MEANS else None)
    return SkybandError(f"`{found}` in FORMAT '{pattern}'", expected=LETTERS, hint=hint)


def _moment(parts: dict[str, Ints], good: Flags) -> tuple[Ints, Flags]:
    """Microseconds of times by their parts, and which there are in the calendar."""
    year, month, day = parts["y"], parts["M"], parts["d"]
    good &= (month >= 1) & (month <= 12) & (day >= 1)
    month = np.where(good, month, 1)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    good &= day <= _LENGTHS[month] + (leap & (month == 2))
    seconds = np.zeros(len(year), np.int64)
    for what, most in (("H", 23), ("m", 59), ("s", 59)):
        part = parts.get(what, 0)
        good &= part <= most
        seconds = seconds * 60 + part
    seconds -= parts.get("X", 0)
    return _days(year, month, day) * DAY + seconds * 1_000_000 + parts.get("S", 0), good


def _days(year: Ints, month: Ints, day: Ints) -> Ints:
    """Since 1970: years that begin in March have their leap day at the end."""
    year = year - (month <= 2)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719_468


def _number(letters: _Letters) -> tuple[Ints, Flags]:
    value = np.zeros(letters.shape[1], np.int64)
    good = np.ones(len(value), bool)
    for digit in letters - np.uint8(_ZERO):  # of anything before a zero this is large: there are no signs
        good &= digit <= 9
        value *= 10
        value += digit
    return value, good


def _month_name(letters: _Letters) -> tuple[Ints, Flags]:
    value = np.zeros(letters.shape[1], np.int64)
    for number, name in enumerate(_MONTHS, 1):
        value[_is_text(letters, name)] = number
    return value, value > 0


def _offset(letters: _Letters) -> tuple[Ints, Flags]:
    """Seconds ahead of UTC."""
    if len(letters) == 1:
        return np.zeros(letters.shape[1], np.int64), _is_text(letters, "z")
    hours, good = _number(letters[1:3])
    minutes, mine = _number(letters[-2:])
    minus = _is_text(letters[:1], "-")
    good &= mine & (minus | _is_text(letters[:1], "+")) & (minutes <= 59) & (hours * 60 + minutes <= 18 * 60)
    good &= _is_text(letters[3:-2], ":" * (len(letters) - 5))
    seconds = (hours * 60 + minutes) * 60
    return np.where(minus, -seconds, seconds), good


def _is_text(letters: _Letters, text: str) -> Flags:
    good = np.ones(letters.shape[1], bool)
    for found, letter in zip(letters, text.encode(), strict=True):
        good &= found == letter
    return good


_PARTS = {"MMM": _month_name} | dict.fromkeys(_ZONES, _offset)
