"""Records with something in them that breaks programs: a small stream, and what one such record may not change."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import skyband as sb

SECOND = 1_000_000
FAR = 1_200_000_000 * 1_000 * SECOND
"""The year 39996."""
LEAST, MOST = -(2**63), 2**63 - 1
ALONE = 500
"""The second of the poisoned record: no other one is in any window of it."""
MOMENT = pa.timestamp("us")
SCHEMA = pa.schema(
    {
        "ts": MOMENT,
        "id": pa.int64(),
        "n": pa.int64(),
        "small": pa.int32(),
        "x": pa.float64(),
        "amount": pa.decimal128(18, 6),
        "at": MOMENT,
        "zoned": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "name": pa.string(),
    }
)
DECLARED = (
    "ts TIMESTAMP_NTZ, id BIGINT, n BIGINT, small INT, x DOUBLE, amount DECIMAL(18, 6), at TIMESTAMP_NTZ, "
    "zoned TIMESTAMP, day DATE, name STRING"
)
ODD = ["a\0b", "[/x]", "[link=http://a.example]b[/link]", "\x1b[2J\x1b]0;t\x07", "\u202eabc", "x" * 20_000, ""]
FIGURES: dict[str, list[Any]] = {
    "id": [LEAST, MOST, None],
    "n": [LEAST, MOST, None],
    "small": [-(2**31), 2**31 - 1],
    "x": [float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, -0.0],
    "amount": [Decimal("999999999999.999999"), Decimal("-999999999999.999999")],
    "at": [LEAST, MOST, FAR, -FAR, None],
    "zoned": [LEAST, MOST, FAR, -FAR],
    "day": [-(2**31), 2**31 - 1, 3_000_000, -800_000],
    "name": [*ODD, None],
}
POISON = [(column, value) for column, values in FIGURES.items() for value in values]
TIMES = [("ts", value) for value in (LEAST, MOST, 2**61 + 1, FAR, None)]
"""Those of the record itself: behind every window, or ahead of all others."""
STREAM = f"CREATE STREAM s ({DECLARED}) WITH (TIME = ts, KEY = id);\n"
WINDOW = "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]"
QUERIES = {
    "whole": f"SELECT TOP 2 id, n, at, zoned, day, name, amount {WINDOW} ORDER BY n DESC",
    "doubled": f"SELECT TOP 2 id, n * 2 AS twice, abs(n) AS size, -n AS less {WINDOW} ORDER BY n * 2 + small DESC",
    "small": f"SELECT TOP 2 id {WINDOW} WHERE n - 1 < 90 ORDER BY abs(small) - 1 ASC, n DESC",
    "real": f"SELECT TOP 2 id, x {WINDOW} ORDER BY x * x DESC",
    "amounts": f"SELECT TOP 2 id, amount {WINDOW} ORDER BY amount DESC",
    "moments": f"SELECT TOP 2 id, at, hour(at) AS h, date_trunc('month', at) AS m {WINDOW} ORDER BY at DESC",
    "zones": f"SELECT TOP 2 id, year(zoned) AS y {WINDOW} WHERE at < TIMESTAMP '2027-01-01' ORDER BY zoned DESC",
    "days": f"SELECT TOP 2 id, day {WINDOW} ORDER BY day DESC",
    "micros": f"SELECT TOP 2 id {WINDOW} ORDER BY unix_micros(at) - unix_micros(zoned) DESC",
    "dated": f"SELECT TOP 2 id {WINDOW} WHERE day < TIMESTAMP '2027-01-01' OR at < TIMESTAMP '2027-01-01' ORDER BY n",
    "parts": f"SELECT TOP 2 id {WINDOW} WHERE hour(at) < 24 AND year(zoned) < 2100 AND month(at) < 13 "
    "AND date_trunc('month', zoned) < TIMESTAMP '2027-01-01' AND date_trunc('hour', at) < zoned ORDER BY n",
    "sums": f"SELECT TOP 2 id {WINDOW} WHERE n + small < 1000 AND -n < 1000 AND abs(n) < 1000 AND n * n < 1000000 "
    "AND n % 7 < 7 AND small / 0 IS NULL AND round(x) < 1000 AND pow(n, 3) > -1 ORDER BY floor(x / 7) + n",
    "per": f"SELECT TOP 1 PER name id, name {WINDOW} ORDER BY n DESC",
    "groups": f"SELECT TOP 2 name, SUM(n) AS total, AVG(x) AS mean, MAX(at) AS last {WINDOW} GROUP BY name "
    "ORDER BY SUM(n) + SUM(small) DESC WITH REST",
    "longest": f"SELECT TOP 2 id, length(name) AS size {WINDOW} ORDER BY length(upper(name)) DESC",
    "rows": "SELECT TOP 2 id, name, day FROM s [ROWS 10 SLIDE 5] ORDER BY n DESC",
    "changes": f"SELECT TOP 2 id, name {WINDOW} ORDER BY small DESC EMIT CHANGES",
    "lately": f"SELECT TOP 2 id, n {WINDOW} ORDER BY n DESC DECAY HALF LIFE 3 SECONDS",
}
TEXT = STREAM + "\n".join(f"CREATE QUERY {name} AS {query};" for name, query in QUERIES.items())


def workload(text: str = TEXT) -> sb.Workload:
    return sb.Workload.from_sql(text)


def record(number: int, at: int) -> dict[str, Any]:
    moment = at * SECOND
    return {
        "ts": moment,
        "id": number,
        "n": number * 37 % 101,
        "small": number * 17 % 23,
        "x": number * 1.5,
        "amount": Decimal(number),
        "at": moment - number,
        "zoned": moment + number,
        "day": (date(2026, 1, 1) - date(1970, 1, 1)).days - number % 7,
        "name": "abc"[number % 3],
    }


def table(records: list[dict[str, Any]]) -> pa.Table:
    """Times and days are given as numbers: Python has no others for these."""
    columns = []
    for field in SCHEMA:
        values = [each[field.name] for each in records]
        width = pa.int32() if pa.types.is_date32(field.type) else pa.int64()
        timed = pa.types.is_timestamp(field.type) or pa.types.is_date32(field.type)
        columns.append(pa.array(values, width).view(field.type) if timed else pa.array(values, field.type))
    return pa.table(columns, schema=SCHEMA)


def clean() -> pa.Table:
    return table([record(number, number) for number in range(40)])


def poisoned(figures: list[tuple[str, Any]]) -> pa.Table:
    """A record for each, so far apart that no two share a window."""
    return table(
        [record(1_000 + place, ALONE + 100 * place) | {name: value} for place, (name, value) in enumerate(figures)]
    )


def others(rows: pa.Table) -> pa.Table:
    """Rows of windows in which the poisoned record is not."""
    end = rows.column("window_end").cast(pa.int64())
    apart = np.asarray(pc.fill_null(pc.and_(pc.greater(end, 0), pc.less(end, (ALONE - 50) * SECOND)), False))
    counted = np.asarray(pc.fill_null(pc.less_equal(rows.column("row_end"), 40), False))
    return rows.filter(pa.array(apart | counted))


def no_utf8() -> pa.Table:
    """Two records whose texts no program can read, with different ones."""
    found = poisoned([("n", 3), ("n", 4)])
    _, ends, data = pa.array([b"a\xff", b"a\xfe("]).buffers()
    return found.set_column(SCHEMA.get_field_index("name"), "name", pa.StringArray.from_buffers(2, ends, data))
