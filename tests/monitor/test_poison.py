"""One poisoned record costs one record: a Monitor goes on, and no row of another window changes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import skyband as sb
from skyband.runtime.arrow_files import ArrowFiles
from skyband.runtime.locations import read_location
from tests import poisoned


@cache
def undisturbed() -> pa.Table:
    running = sb.Monitor(poisoned.workload())
    return pa.concat_tables([running.push(poisoned.clean()), poisoned.others(running.close())])


@pytest.mark.parametrize("column", poisoned.FIGURES)
def test_poisoned_records_change_no_other_row(column: str) -> None:
    figures = [(column, value) for value in poisoned.FIGURES[column]]
    running = sb.Monitor(poisoned.workload())
    rows = [running.push(poisoned.clean()), running.push(poisoned.poisoned(figures))]
    again = sb.Monitor.restore(poisoned.workload(), running.snapshot())
    rows.append(again.close())
    assert poisoned.others(pa.concat_tables(rows)).equals(undisturbed())
    assert again.counters["records"] == 40 + len(figures)


def test_times_out_of_range_are_counted() -> None:
    running = sb.Monitor(poisoned.workload())
    rows = [running.push(poisoned.clean()), running.push(poisoned.poisoned(poisoned.TIMES)), running.close()]
    assert poisoned.others(pa.concat_tables(rows)).equals(undisturbed())
    assert dict(running.counters["bad"]) == {"null time": 1, "time out of range": 3}


def test_text_that_is_no_utf8_is_a_text() -> None:
    """Each such name is a group of its own, and is told as escapes."""
    running = sb.Monitor(poisoned.workload())
    rows = [running.push(poisoned.clean()), running.push(poisoned.no_utf8())]
    again = sb.Monitor.restore(poisoned.workload(), running.snapshot())
    rows.append(again.close())
    told = pa.concat_tables(rows)
    assert poisoned.others(told).equals(undisturbed())
    assert {r"a\xff", r"a\xfe("} <= set(told.column("group_key").to_pylist())


TEXT = """CREATE STREAM s (ts TIMESTAMP_NTZ, id BIGINT, x DOUBLE, name STRING) WITH (TIME = ts, KEY = id);
CREATE QUERY q AS SELECT TOP 3 id, name FROM s [RANGE 10 SECONDS] ORDER BY x;"""
LATE = "1970-01-01T00:01:40"
LINES = {
    "csv": (
        "ts,id,x,name\n",
        "1970-01-01T00:00:{0:02},{0},{0}.5,a\n",
        ["nonsense,1,1,a", f"{LATE},x,1,a", f"{LATE},1,much,a", "1,2,3,4,5,6", f"{LATE},1e99,1,a"],
    ),
    "json": (
        "",
        '{{"ts": "1970-01-01T00:00:{0:02}", "id": {0}, "x": {0}.5, "name": "a"}}\n',
        ['{"ts": 5, "id": 1}', f'{{"ts": "{LATE}", "id": "x", "x": 1}}', f'{{"ts": "{LATE}", "id": 1, "x": []}}',
         '{"ts": "1970-01-01T', f'{{"ts": "{LATE}", "id": 99999999999999999999}}'],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", LINES)
def test_values_of_other_types_in_files_cost_a_record_each(kind: str, tmp_path: Path) -> None:
    """A time, a key, a score, a whole line, and a number that is too large. Only the score leaves a record."""
    first, line, odd = LINES[kind]
    lines = [line.format(second) for second in range(40)]

    def told(lines: list[str]) -> tuple[pa.Table, dict[str, int], int]:
        path = tmp_path / f"{len(lines)}.{kind}"
        path.write_text(first + "".join(lines))
        workload = sb.Workload.from_sql(TEXT)
        running = sb.Monitor(workload)
        rows = [running.push(table) for table in ArrowFiles(read_location(str(path), ()), workload.streams[0]).tables()]
        unranked = running.counters["queries"]["q"]["unranked"]
        return pa.concat_tables([*rows, running.close()]), dict(running.counters["bad"]), unranked

    rows, bad, unranked = told([*lines[:20], *(f"{each}\n" for each in odd), *lines[20:]])
    assert rows.equals(told(lines)[0])
    assert (bad, unranked) == ({"null time": 4}, 1)
