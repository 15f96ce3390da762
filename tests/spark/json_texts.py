"""JSON values as they come and as they should not come, drawn at random; `COLUMNS` are those that readers look for."""

from __future__ import annotations

import random
from collections.abc import Callable

COLUMNS = {
    "a": "BIGINT", "i": "INT", "i8": "TINYINT", "d": "DOUBLE", "f": "FLOAT", "s": "STRING", "t": "TIMESTAMP",
    "n": "TIMESTAMP_NTZ", "b": "BOOLEAN", "dt": "DATE", "dec": "DECIMAL(10,2)",
}  # fmt: skip
NUMBERS = [
    "0", "7", "-12", "127", "128", "200", "255", "256", "-129", "2147483648", "9007199254740993", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "123456789", "1.0", "1.5", "1.555", "-1.005", "99999999.995", "1e2",
    "1E+2", "1e-1", "1e400", "-1e400", "1e-400", "2.5e-324", "1.7976931348623157e308", "1.7976931348623159e308",
    "16777217.00000000000001", "16777217.0000001", "-0", "-0.0", "0e0", "01", "-01", "1.", ".5", "-.5", "+1", "NaN",
    "-NaN", "Inf", "-Inf", "Infinity", "-Infinity", "INF", "-INF", "+INF", "nan", "0x1", "1" * 999, "1" * 1001,
    "0." + "1" * 1500,
]  # fmt: skip
TEXTS = [
    "", "x", "red", "a}b", "{a} b", "a},{b", "} null", "]} {", "a: NaN", "x, Inf", "null", "é", "😀", "true", "1.5",
    "+1", "1,000.5", "NaN", "-INF", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\udc00", "\\ud83dx", "\\n", "\\/", "\\'",
    "\\q", "\\", "\\u0000", "\\u12G4", '\\"', "\\\\", "'", '"', "\x01", "\x7f", "\x00", "\n", "\t", "a" * 1_100,
    "{" * 600,
]  # fmt: skip
DAYS = [
    "2024-01-01", "2024-02-29", "2023-02-29", "2024-1-1", "2024", "2024-13-01", "0000-01-01", "0001-01-01",
    "1582-10-10", "9999-12-31", "10000-01-01", "20240101", "+2024-01-01", "-0001-01-01", " 2024-01-01", "2024-01-01 ",
]  # fmt: skip
HOURS = ["", "T", "T00", "T0000", "T00:00", "T12:34:56", "T1:2:3", "T12:34:60", "T24:00:00", " 12:34:56", "t12:34:56"]
PARTS = ["", "", ".", ".1", ".123456", ".1234567", ".123456789", ".1234567890", ",5"]
ZONES = [
    "", "", "Z", "z", "UTC", "+01:00", "+0100", "+01", "-01:30", "+18:00", "+1800", "+18", "+18:01", "+19:00", "-18",
    "-23:59", "+1", "+1:00", "+01:60", "+25:00", "+01:00:30", "-00:00", "[UTC]", " UTC", " Z", " Europe/Berlin",
]  # fmt: skip
BEHIND = [
    b" null", b"\nnull\n{}", b" null {}", b"{}", b",{}", b" {}", b"}", b"]", b" 5", b" x", b"\n", b" \t ", b"\x00",
    b"[]{}",
]  # fmt: skip
BEFORE = [b" ", b"\n", b"\xef\xbb\xbf", b"[", b"null ", b"5 ", b"{", b"\x00", b"{} null {}"]
INSIDE = [
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\n", b"\x0b", b"{", b"}", b"]", b",", b'"', b"\\", b"'", b"/*c*/",
]  # fmt: skip
ALONE = [b"", b"null", b"5", b"true", b"[]", b'"x"', b" ", b"{", b"}", b"[{}]", b"{}", b"{ }", b"{'a':1}", b'{"a":1,}']


class Draw:
    """Values, most of them in order."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        draw = self._draw
        self._usual: dict[str, Callable[[], str]] = {
            "a": lambda: str(draw.randrange(10**12)),
            "i": lambda: str(draw.randrange(-1_000, 1_000)),
            "i8": lambda: str(draw.randrange(-128, 128)),
            "d": lambda: repr(draw.uniform(-1, 1) * 10.0 ** draw.randrange(-300, 300)),
            "f": lambda: repr(draw.uniform(-1, 1) * 10.0 ** draw.randrange(-30, 30)),
            "s": lambda: f'"{draw.choice(["red", "blue", "é"])}"',
            "t": lambda: f'"2024-01-01T12:{draw.randrange(10, 60)}:00{draw.choice(["Z", ".5Z", "+02:00", ""])}"',
            "n": lambda: f'"2024-01-01 12:00:{draw.randrange(10, 60)}{draw.choice(["", ".25", ".123456789"])}"',
            "b": lambda: draw.choice(["true", "false"]),
            "dt": lambda: f'"2024-01-{draw.randrange(10, 30)}"',
            "dec": lambda: f"{draw.randrange(10**7)}.{draw.randrange(100):02}",
        }

    def usual(self) -> bytes:
        """What every reader should make a record of."""
        space = self._draw.choice(["", " ", "\n  "])
        fields = [f'{space}"{name}":{space}{value()}' for name, value in self._usual.items()]
        self._draw.shuffle(fields)
        more = self._draw.choice(["", f',{space}"more":{{"x":[1, {{"y":"z"}}]{space}}}', ',"a_":null'])
        return f"{{{','.join(fields)}{more}{space}}}".encode()

    def any(self) -> bytes:
        if self._draw.random() < 0.7:
            return self._object(0).encode(errors="surrogatepass")
        value, alone = self._object(0).encode(), self._draw.random() < 0.1
        place = self._draw.randrange(len(value) + 1)
        choice = self._draw.choice
        torn = [value[:place], value[:place] + value[place + 1 :], value[:place] + choice(INSIDE) + value[place:]]
        return choice(ALONE) if alone else choice([*torn, value + choice(BEHIND), choice(BEFORE) + value])

    def _object(self, depth: int) -> str:
        names = self._draw.sample(list(COLUMNS), self._draw.randrange(5))
        if self._draw.random() < 0.2:
            names.append(self._draw.choice(["x", "x}", "A", "\\u0061", "a\\u0000", *COLUMNS]))
        space = self._draw.choice(["", "", "", " ", "\n", "\t", "\r\n", "\x0b"])
        fields = [f'"{name}"{space}:{space}{self._value(name, depth)}{space}' for name in names]
        return f"{{{space}{','.join(fields)}}}"

    def _value(self, name: str, depth: int) -> str:
        chance = self._draw.random()
        if name in self._usual and chance < 0.75:
            return self._usual[name]()
        if chance < 0.95:
            return self._of_its_kind(name)
        return self._other(depth + 1)

    def _of_its_kind(self, name: str) -> str:
        choice = self._draw.choice
        if name in ("t", "n"):
            return f'"{choice(DAYS)}{choice(HOURS)}{choice(PARTS)}{choice(ZONES)}"'
        if name == "dt":
            return f'"{choice(DAYS)}{choice(["", "", "T10:00:00Z", " x"])}"'
        return f'"{choice(TEXTS)}"' if name == "s" else choice(NUMBERS)

    def _other(self, depth: int) -> str:
        choice = self._draw.choice
        simple = ["null", "true", "nul", "truex", "{}", "[]", choice(NUMBERS), f'"{choice(TEXTS)}"', "'q'", "[1,]"]
        if depth > 3:
            return choice(simple)
        return choice([*simple, f"[{self._other(depth + 1)}, {self._other(depth + 1)}]", self._object(depth + 1)])


def times() -> list[bytes]:
    """Every form of a time, as an instant and without a zone."""
    days = [day + hour for day in DAYS for hour in ("", "T12:34:56", "T12:34:56Z")]
    hours = [f"2024-01-01{hour}{part}{zone}" for hour in HOURS for part in PARTS[1:] for zone in ZONES[1:]]
    return [f'{{"{name}":"{text}"}}'.encode() for name in ("t", "n") for text in days + hours]


def too_much() -> list[bytes]:
    """Deeper and longer than Spark's parser goes, and not quite so."""
    deep = [b'{"x":' + b"[" * depth + b"]" * depth + b',"a":1}' for depth in (10, 499, 998, 999, 1_000, 5_000)]
    return deep + [b'{"' + b"k" * size + b'":1,"a":1}' for size in (900, 49_000, 50_001, 60_000)]
