"""Values for Python and for people, whatever is in a column."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

import skyband as sb
from skyband.cli.lists import Lists
from skyband.cli.row_files import row_writer
from skyband.model.readable import moment_text, python_rows, python_values, shown_rows, visible, visible_lines
from skyband.runtime.hashing import hash_rows
from tests import poisoned


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01 00:00:00.000000"),
        (253_402_300_799_999_999, "9999-12-31 23:59:59.999999"),
        (253_402_300_800_000_000, "+10000-01-01 00:00:00.000000"),
        (poisoned.FAR, "+39996-06-26 21:20:00.000000"),
        (poisoned.MOST, "+294247-01-10 04:00:54.775807"),
        (poisoned.LEAST, "-290308-12-21 19:59:05.224192"),
        (-62_167_219_200_000_000, "0000-01-01 00:00:00.000000"),
    ],
)
def test_times_of_all_years_have_a_text(micros: int, text: str) -> None:
    """Spark writes the same."""
    assert moment_text(micros) == text


def test_columns_have_python_values_whatever_is_in_them() -> None:
    far = pa.array([0, poisoned.MOST], pa.int64()).view(pa.timestamp("us"))
    nested = pa.StructArray.from_arrays([far, pa.array([[1], None])], ["at", "list"])
    raw = _text([b"plain", b"a\xff"])
    assert python_values(far)[1] == "+294247-01-10 04:00:54.775807"
    assert python_values(nested)[1] == {"at": "+294247-01-10 04:00:54.775807", "list": None}
    assert python_values(pa.array([[0], [poisoned.MOST]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us"))))[
        1
    ] == ["+294247-01-10 04:00:54.775807"]
    assert python_values(raw) == ["plain", "a\ufffd"]
    assert python_rows(pa.table({"day": pa.array([2**31 - 1], pa.int32()).view(pa.date32())})) == [
        {"day": "+5881580-07-11"}
    ]
    assert len(hash_rows(pa.table({"x": nested}))) == 2, "hashed as text"


def _text(values: list[bytes]) -> pa.Array:
    _, ends, data = pa.array(values).buffers()
    return pa.StringArray.from_buffers(len(values), ends, data)


def test_text_for_people_obeys_nobody() -> None:
    assert visible("\x1b[2Ja\0\u202e\n") == r"\x1b[2Ja\x00\u202e\n"
    assert visible("é [/x] 日本") == "é [/x] 日本"
    assert visible("x" * 1_000) == "x" * 200 + "… (1,000 characters)"
    assert visible_lines("a\tb\n\x07" + "x" * 999) == "a\tb\n\\x07" + "x" * 999


def test_a_console_shows_what_records_say_as_it_stands() -> None:
    """No markup, no escape sequence, no link; and times after the year 9999."""
    text = poisoned.STREAM + "".join(f"CREATE QUERY {name} AS {poisoned.QUERIES[name]};" for name in ("per", "moments"))
    running, lists = sb.Monitor(poisoned.workload(text)), Lists()
    lists.take(running.push(poisoned.poisoned([*poisoned.POISON, ("at", poisoned.MOST)])))
    lists.take(running.close())
    console = Console(width=400, force_terminal=True, color_system=None)
    with console.capture() as said:
        console.print(lists.page())
    text = said.get()
    assert "+294247-01-10 04:00:54" in text
    assert r"\x1b[2J\x1b]0;t\x07" in text
    assert "[/x]" in text
    assert "[link=http://a.example]b[/link]" in text
    assert re.sub(r"\x1b\[[0-9;]*m|\n", "", text).isprintable(), "but for Rich's own styles"


def test_a_bad_record_is_logged_as_text(caplog: pytest.LogCaptureFixture) -> None:
    running = sb.Monitor(poisoned.workload())
    odd = poisoned.record(7, 1) | {"ts": None, "at": poisoned.MOST, "day": 2**31 - 1, "name": "\x1b[2J" + "x" * 10**6}
    with caplog.at_level(logging.WARNING, "skyband"):
        running.push(poisoned.table([odd]))
    (said,) = [record.getMessage() for record in caplog.records]
    assert "+294247-01-10 04:00:54.775807" in said
    assert r"\x1b[2Jx" in said
    assert said.isprintable()
    assert len(said) < 2_000
    assert shown_rows(pa.table({"b": [b"\0" * 500]})) == ["{'b': " + repr(b"\0" * 200) + "… (500 bytes)}"]


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_rows_of_poisoned_records_are_written(kind: str, tmp_path: Path) -> None:
    running = sb.Monitor(poisoned.workload())
    rows = [running.push(poisoned.clean()), running.push(poisoned.poisoned(poisoned.POISON)), running.close()]
    table = pa.concat_tables(rows)
    writer = row_writer(tmp_path / "out", kind, table.schema)
    writer.write(table)
    writer.close()
    (file,) = (tmp_path / "out").glob("part-*")
    assert file.stat().st_size
    if kind == "json":
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert len(lines) == len(table)
        assert "+294247-01-10T04:00:54.775807" in {line.get("at") for line in lines}
