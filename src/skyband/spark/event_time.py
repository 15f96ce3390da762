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
    since = f"cast(cast({quoted(name)} - TIMESTAMP_NTZ'1970-01-01' as interval second) as decimal(18,6))"
    return f"cast({since} * 1000000 as bigint)"


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
