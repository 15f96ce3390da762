"""Times that are declared to be written as numbers or text: read exactly, or told apart as none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import floor, inf, nan
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.language.written_times import written_column
from tests.drawn import examples

MICROS = {"SECONDS": Fraction(10**6), "MILLIS": Fraction(10**3), "MICROS": Fraction(1), "NANOS": Fraction(1, 1_000)}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WRONG = "wrong"


def read(declared: str, values: list[Any], kind: pa.DataType | None = None) -> list[Any]:
    """Microseconds (days of a DATE), None where nothing is written, WRONG where that is no time."""
    column = written_column("ts", declared)
    assert column is not None
    times, wrong = column.read(pa.array(values, kind))
    assert times.type == column.kind
    numbers = times.cast(pa.int32() if pa.types.is_date(times.type) else pa.int64()).to_pylist()
    assert not any(is_wrong and number is not None for is_wrong, number in zip(wrong, numbers, strict=True))
    return [WRONG if is_wrong else number for is_wrong, number in zip(wrong, numbers, strict=True)]


def micros(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


def exactly(number: Fraction | Decimal | int, unit: str) -> int | str:
    found = floor(Fraction(number) * MICROS[unit])
    return found if abs(found) < 2**63 else WRONG


units = st.sampled_from(list(MICROS))


@examples(100)
@given(units, st.lists(st.none() | st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-(10**13), 10**13), max_size=9))
def test_whole_numbers_are_rounded_down_and_never_overflow(unit: str, numbers: list[int | None]) -> None:
    expected = [None if number is None else exactly(number, unit) for number in numbers]
    declared = f"TIMESTAMP FROM UNIX_{unit}"
    assert read(declared, numbers, pa.int64()) == expected
    assert read(declared, [None if number is None else str(number) for number in numbers], pa.string()) == expected


@examples(100)
@given(
    units, st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=7, min_value=-(10**20), max_value=10**20))
)
def test_fractions_are_exact(unit: str, numbers: list[Decimal]) -> None:
    expected = [exactly(number, unit) for number in numbers]
    declared = f"timestamp from unix_{unit.lower()}"
    assert read(declared, [f"{number:f}" for number in numbers], pa.string()) == expected
    assert read(declared, [f" {number:E}" for number in numbers], pa.string()) == expected
    assert read(declared, numbers, pa.decimal128(38, 7)) == expected


@examples(100)
@given(st.integers(-(4 * 10**15), 4 * 10**15))
def test_a_double_says_what_was_written(moment: int) -> None:
    """Though hardly any fraction of ten is a DOUBLE."""
    assert read("TIMESTAMP FROM UNIX_SECONDS", [moment / 10**6]) == [moment]
    assert read("TIMESTAMP FROM UNIX_MILLIS", [moment / 10**3]) == [moment]


def test_what_is_no_number_is_no_time() -> None:
    declared = "TIMESTAMP FROM UNIX_MILLIS"
    assert read(declared, [nan, inf, -inf, 1e300, None, -0.0]) == [WRONG] * 4 + [None, 0]
    texts = [
        "",
        "x",
        "nan",
        "Infinity",
        "0x10",
        "1_000",
        "1e999999999",
        "9" * 40,
        "१",
        "1" * 101,
        "1e-99999",
        "-1e-99999",
    ]
    assert read(declared, texts) == [WRONG] * 10 + [0, -1]
    assert read(declared, [2**64 - 1, 7], pa.uint64()) == [WRONG, 7_000]
    assert read("TIMESTAMP FROM UNIX_NANOS", [2**64 - 1, 7_000], pa.uint64()) == [WRONG, 7]
    assert read(declared, [None, None]) == [None, None]


@examples(100)
@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)), st.integers(-1080, 1080))
def test_texts_say_their_moment(moment: datetime, minutes: int) -> None:
    local = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    day, clock = f"{moment:%m-%d}", f"{moment:%H:%M:%S}"
    offset = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    text = f"{moment.year:04}-{day}T{clock}.{moment.microsecond:06}"
    form = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
    utc = micros(moment.replace(tzinfo=UTC))
    assert read(f'TIMESTAMP FORMAT "{form}"', [text, None, text + "Z"]) == [utc, None, WRONG]
    assert read(f'TIMESTAMP_NTZ FORMAT "{form}"', [text]) == [utc]
    assert read(f'TIMESTAMP FORMAT "{form}XXX"', [text + offset, text + "Z", text]) == [micros(local), utc, WRONG]
    assert read(f'TIMESTAMP FORMAT "{form}XX"', [text + offset.replace(":", ""), text + offset]) == [
        micros(local),
        WRONG,
    ]
    days = utc // 86_400_000_000
    assert read("DATE FORMAT 'yyyyMMdd'", [f"{moment.year:04}{moment:%m%d}", text]) == [days, WRONG]
    log = f"{moment:%d}/{moment:%b}/{moment.year:04}:{clock} {offset.replace(':', '')}"
    assert (
        read("TIMESTAMP FORMAT 'dd/MMM/yyyy:HH:mm:ss Z'", [log, log.upper()])
        == [micros(local.replace(microsecond=0))] * 2
    )


def test_what_is_not_in_the_calendar_is_no_time() -> None:
    form = "TIMESTAMP FORMAT 'yyyy-MM-dd HH:mm:ss'"
    leap = ["2024-02-29 00:00:00", "2000-02-29 00:00:00", "1900-02-29 00:00:00", "2023-02-29 00:00:00"]
    assert [each == WRONG for each in read(form, leap)] == [False, False, True, True]
    wrong = ["2024-13-01 00:00:00", "2024-00-01 00:00:00", "2024-01-00 00:00:00", "2024-04-31 00:00:00"]
    wrong += ["2024-01-01 24:00:00", "2024-01-01 00:60:00", "2024-01-01 00:00:60", "2024-1-01 00:00:000"]
    wrong += ["+024-01-01 00:00:00", "2024-01-01T00:00:00", " 2024-01-01 00:00:00", "", "२०24-01-01 00:00:00"]
    assert read(form, wrong) == [WRONG] * len(wrong)
    assert read(form, ["0001-01-01 00:00:00", "9999-12-31 23:59:59"]) == [
        micros(datetime(1, 1, 1, tzinfo=UTC)),
        micros(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ]
    assert read("DATE FORMAT 'yyyyMMdd'", [19700103, 19700230], pa.int64()) == [2, WRONG]
    zones = ["2024-01-01+18:00", "2024-01-01+18:01", "2024-01-01+01:60", "2024-01-01z", "2024-01-01 01:00"]
    assert [each == WRONG for each in read("TIMESTAMP FORMAT 'yyyy-MM-ddXXX'", zones)] == [
        False,
        True,
        True,
        False,
        True,
    ]


def test_a_fraction_may_be_shorter_than_its_letters_and_is_rounded_down() -> None:
    form = 'TIMESTAMP FORMAT "yyyy-MM-dd HH:mm:ss.SSSSSSSSSXXX"'
    texts = [f"1970-01-01 00:00:00.{digits}Z" for digits in ("5", "25", "123456789", "1234567891", "")]
    assert read(form, texts) == [500_000, 250_000, 123_456, WRONG, WRONG]
    # As long as one with a longer fraction and a Z.
    assert read(form, ["1970-01-01 00:00:00.5+00:01"]) == [500_000 - 60_000_000]


def test_slices_and_dictionaries_are_read_as_what_they_hold() -> None:
    column = written_column("ts", "TIMESTAMP FORMAT 'yyyy-MM-dd'")
    assert column is not None
    values = pa.array(["1970-01-02", "x", "1970-01-03", None, "1970-01-04"])
    days = [1, 2]
    for each in (
        values.slice(1, 3),
        values.slice(1, 3).dictionary_encode(),
        values.slice(1, 3).cast(pa.large_string()),
    ):
        times, wrong = column.read(pa.chunked_array([each, each.slice(3)]))
        assert wrong.tolist() == [True, False, False]
        assert times.cast(pa.int64()).to_pylist() == [None, days[1] * 86_400_000_000, None]


@pytest.mark.parametrize(
    ("declared", "message", "hint"),
    [
        ("TIMESTAMP FROM UNIX_MILIS", "`UNIX_MILIS` is no count of time since 1970", "UNIX_MILLIS"),
        ("DOUBLE FROM UNIX_MILLIS", "DOUBLE FROM", None),
        ("BIGINT FORMAT 'yyyy-MM-dd'", "BIGINT FORMAT", None),
        ("TIMESTAMP FORMAT 'yyyy-MM-ddTHH:mm'", "`T` in FORMAT", "in quotes"),
        ("TIMESTAMP FORMAT 'yyyy-MM-dd hh:mm'", "`hh` in FORMAT", "HH is the hour"),
        ("TIMESTAMP FORMAT 'yy-MM-dd'", "`yy` in FORMAT", "yyyy is the year"),
        ("TIMESTAMP FORMAT 'yyyy-MM-dd[ HH:mm]'", "`[` in FORMAT", None),
        ("TIMESTAMP FORMAT 'yyyy-MM-dd EEE'", "`EEE` in FORMAT", None),
        ("TIMESTAMP FORMAT 'yyyy-MM-dd yyyy'", "says the year twice", None),
        ("TIMESTAMP FORMAT 'HH:mm'", "does not say the year", None),
        ("TIMESTAMP FORMAT yyyy", "FORMAT yyyy", None),
        ("TIMESTAMP FORMAT", "FORMAT", None),
        ("TIMESTAMP FORMAT ''", "FORMAT ''", None),
        ("TIMESTAMP_NTZ FORMAT 'yyyy-MM-ddXXX'", "a format with a zone", None),
        ("WHATEVER FROM UNIX_MILLIS", "`WHATEVER` is not a type", None),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place(declared: str, message: str, hint: str | None) -> None:
    text = f"CREATE STREAM s (ts {declared}, x DOUBLE) WITH (TIME = ts); SELECT TOP 1 FROM s [ROWS 2] ORDER BY x;"
    with pytest.raises(sb.SkybandError) as refused:
        sb.Workload.from_sql(text)
    assert message in refused.value.message
    assert refused.value.expected
    assert refused.value.span is not None
    assert refused.value.span.source[refused.value.span.start : refused.value.span.end] == declared
    assert hint is None or hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    "how", ["FROM UNIX_NANOS", "FORMAT 'yyyy-MM-dd''T''HH, mm'", "FORMAT \"yyyy-MM-dd'T'HH (mm)\""]
)
def test_text_and_python_say_the_same(how: str) -> None:
    query = "SELECT TOP 1 FROM s [ROWS 2] ORDER BY x;"
    workload = sb.Workload.from_sql(f"CREATE STREAM s (ts TIMESTAMP {how}, x DOUBLE) WITH (TIME = ts); {query}")
    assert sb.Workload.from_sql(str(workload)) == workload
    stream = sb.Stream("s", time="ts", columns=[("ts", f"TIMESTAMP {how}"), ("x", "DOUBLE")])
    assert workload.streams == (stream,)


def test_python_is_refused_before_anything_runs() -> None:
    query = sb.TopK("q", k=1, by="x", window="2 rows")
    with pytest.raises(sb.SkybandError, match="`UNIX` is no count of time"):
        sb.Workload([query], stream=sb.Stream("s", time="ts", columns=[("ts", "TIMESTAMP FROM UNIX"), ("x", "DOUBLE")]))
