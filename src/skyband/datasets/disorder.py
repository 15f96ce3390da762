"""Out-of-order arrival with a bound on lateness, and records that break it on purpose.

Lateness is what SEMANTICS measures: how far a record's time lies behind the largest time that arrived before it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.datasets._draw import at_least, generator
from skyband.errors import SkybandError
from skyband.model import Ints


def arrival_order(time: Ints, bound: int, seed: int = 0, late: float = 0.0) -> Ints:
    """An order (indices into `time`) in which no record is later than `bound`, save the share `late` that truly is.

    A late record arrives after one whose time exceeds its own by more than the bound; it is one of those that can be:
    nothing is late at the very end of a stream.
    """
    at_least("bound", bound, 0)
    if not 0.0 <= late <= 1.0:
        raise SkybandError(f"a share of {late} late records", expected="a number from 0 to 1")
    # On time: i arrives at time[i] + delay[i]. If j came before it, time[j] - time[i] <= delay[i] - delay[j] <= bound.
    arrival = time + generator(seed).integers(0, bound, size=len(time), endpoint=True)
    rank = np.zeros(len(time), np.int64)
    chosen = np.flatnonzero(generator(seed, 1).random(len(time)) < late)
    if len(chosen):
        _delay(time, arrival, rank, chosen, bound, seed)
    return np.lexsort((rank, arrival))


def _delay(time: Ints, arrival: Ints, rank: Ints, chosen: Ints, bound: int, seed: int) -> None:
    """Put each chosen record directly behind a punctual one that is more than the bound newer."""
    punctual = np.ones(len(time), bool)
    punctual[chosen] = False
    ahead = np.flatnonzero(punctual)
    ahead = ahead[np.argsort(time[ahead], kind="stable")]
    first = np.searchsorted(time[ahead], time[chosen] + bound, side="right")
    can = first < len(ahead)
    chosen, first = chosen[can], first[can]
    last = np.maximum(np.searchsorted(time[ahead], time[chosen] + 4 * bound, side="right"), first + 1)
    witness = ahead[generator(seed, 2).integers(first, last)]
    arrival[chosen] = arrival[witness]
    rank[chosen] = 1


def disordered(table: pa.Table, time: str, bound: int, seed: int = 0, late: float = 0.0) -> pa.Table:
    """The rows of `table` in an `arrival_order` of its column `time`; the bound is in microseconds."""
    return table.take(pa.array(arrival_order(_microseconds(table, time), bound, seed, late)))


def lateness(time: Ints) -> Ints:
    """How late each record is, given times in the order of arrival; 0 for one that is not behind any before it."""
    newest = np.maximum.accumulate(time)
    return newest - time


def _microseconds(table: pa.Table, time: str) -> Ints:
    if time not in table.column_names:
        raise SkybandError(f"there is no column {time!r}", expected="one of " + ", ".join(table.column_names))
    column = table[time]
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz))
    values: Ints = column.cast(pa.int64()).to_numpy()
    return values
