"""Event time on Spark: the watermark behind prune, where what was left out moves nothing, and as our microseconds.

Spark's watermark starts at 0, so times before 1970 would never move it: it is put on the time plus a thousand years.
It counts milliseconds; ours is the whole millisecond below.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, functions as f
from pyspark.sql.types import DataType, DateType, TimestampType

from skyband.model import NEVER, Stream

CLOCK = "clock"
"""The column of packed rows with the newest time that prune let in."""
NOW = "#now"
"""The column with what the clock says, in microseconds: of a micro-batch what the log of offsets has noted of it, so
that a replay decides alike; of a batch the start of the job."""
_NOW_SQL = "unix_micros(current_timestamp())"
SHIFT = 1_000 * 365 * 86_400_000_000
"""In microseconds. A whole number of milliseconds."""


def micros(name: str, kind: DataType) -> Column:
    """Microseconds since the epoch; a time without a zone is taken as it stands, whatever the session's zone."""
    return f.expr(micros_sql(name, kind))


def micros_sql(name: str, kind: DataType) -> str:
    """The same as text."""
    if isinstance(kind, TimestampType):
        return f"unix_micros({quoted(name)})"
    if isinstance(kind, DateType):
        return f"(cast(unix_date({quoted(name)}) as bigint) * 86400000000)"
    # A cast to TIMESTAMP would go through the session's zone, where an hour may be missing or come twice.
    # Twenty digits: eighteen end in the year 33658.
    since = f"cast(cast({quoted(name)} - TIMESTAMP_NTZ'1970-01-01' as interval second) as decimal(20,6))"
    return f"cast({since} * 1000000 as bigint)"


def clock_columns(stream: Stream) -> list[str]:
    """What a task has to be sent beside records, as SQL: what time it is, where that decides about them."""
    return [f"{_NOW_SQL} AS {quoted(NOW)}"] if stream.bounds.by_clock else []


def in_bounds_sql(stream: Stream, at: str) -> str:
    """Whether a time in microseconds is one that the stream may have."""
    first, last = stream.bounds.limits(0)
    return f"{at} BETWEEN {first} AND {last}" + (f" + {_NOW_SQL}" if stream.bounds.by_clock else "")


def without_zone_sql(micros: str) -> str:
    """The time without a zone that is so many microseconds since the epoch. Days apart: seconds of an interval have
    room for 30,000 years only."""
    day = 86_400_000_000
    return f"TIMESTAMP_NTZ'1970-01-01' + make_dt_interval(int({micros} div {day}), 0, 0, {micros} % {day} / 1e6BD)"


def with_watermark(packed: DataFrame, stream: Stream) -> DataFrame:
    """Put the watermark on what prune says is the newest record that it let in. Without that column nobody behind it
    takes rows for late but us."""
    delay = -(-stream.lateness // 1_000)
    return packed.withWatermark(CLOCK, f"{delay} milliseconds").drop(CLOCK)


def from_watermark(milliseconds: int) -> int:
    """Spark's watermark as a time of the stream."""
    return int(NEVER) if milliseconds <= 0 else milliseconds * 1_000 - SHIFT


def to_timer(moment: int) -> int:
    """The first watermark (in Spark's milliseconds) that has reached `moment`."""
    return -(-(moment + SHIFT) // 1_000)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
