"""Real streams, read from a directory the caller names. The project neither contains nor needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from skyband.errors import SkybandError
from skyband.model import Stream


@dataclass(frozen=True)
class RealStream:
    """A Parquet file sorted by its time column, and what one would rank it by."""

    stream: Stream
    rank_by: str
    stands_for: str
    arrival: str | None = None
    """The column that says in which order the records arrived, where that is not the order of time."""


def _real(name: str, rank_by: str, stands_for: str, key: str | None = None) -> RealStream:
    return RealStream(Stream(name, time="ts", key=key), rank_by, stands_for)


_ALL = [
    _real("flights", "delay_min", "many parallel streams"),
    _real("taxi_yellow", "distance_mi / duration_s", "the TRIP set of SAP, a sample"),
    _real("taxi_green", "distance_mi / duration_s", "the TRIP set of SAP, one month"),
    _real("air_quality", "pm25", "objects whose values arrive apart"),
    RealStream(
        Stream("honeypot", time="ts", key="arrival_seq", lateness="25 minutes"),
        "dst_port",
        "late data",
        arrival="arrival_seq",
    ),
    _real("earthquakes", "mag", "uncertain scores, ties", key="id"),
    _real("icebergs", "length_m", "uncertain records"),
    _real("wiki_edits", "added", "TOP k PER"),
    _real("web_log", "bytes", "a web log"),
    _real("worldcup98_sample", "bytes", "the WorldCup98 format"),
]
REAL: dict[str, RealStream] = {real.stream.name: real for real in _ALL}
"""The streams by name."""


def available(directory: str | Path) -> list[str]:
    """Names of the real streams that have a file in `directory`."""
    return [name for name in REAL if _path(directory, name).is_file()]


def load(directory: str | Path, name: str, columns: Sequence[str] | None = None, *, arrival: bool = True) -> pa.Table:
    """The stream `name`, in the order its records arrived (`arrival=False`: by time)."""
    if name not in REAL:
        raise SkybandError(f"there is no real stream called {name!r}", expected="one of " + ", ".join(REAL))
    path = _path(directory, name)
    if not path.is_file():
        raise SkybandError(
            f"there is no file {path}",
            expected=f"the stream {name} as Parquet",
            hint="name the directory that holds the real streams",
        )
    order = REAL[name].arrival if arrival else None
    wanted = None if columns is None else list(columns)
    extra = [order] if order and wanted is not None and order not in wanted else []
    table = pq.read_table(path, columns=None if wanted is None else wanted + extra)
    if order:
        table = table.sort_by(order)
    return table if wanted is None else table.select(wanted)


def _path(directory: str | Path, name: str) -> Path:
    return Path(directory) / f"{name}.parquet"
