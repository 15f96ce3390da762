"""A simulated stock market: an endless stream of trades with price walks, heavy-tailed sizes and bursts.

Time runs in ticks of a second (shorter at high rates). Now and then one symbol has a burst: it is traded several times
as often, in larger sizes, and its price moves faster. All random numbers are drawn tick by tick, so the trades depend
on the seed and the market's settings alone, never on how many rows a table holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count, takewhile

import numpy as np
import pyarrow as pa

from skyband.datasets._draw import at_least, generator
from skyband.errors import SkybandError
from skyband.model import Flags, Floats, Ints

SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "trade_id": pa.int64(),
        "symbol": pa.string(),
        "price": pa.float64(),
        "size": pa.int64(),
        "change": pa.float64(),
    }
)
# fmt: off
NAMES = [
    "ACORN", "BRASS", "CEDAR", "DELTA", "EMBER", "FJORD", "GLADE", "HERON",
    "INLET", "JUNPR", "KELPS", "LILAC", "MAPLE", "NORTH", "OCHRE", "PEARL",
    "QUILL", "RIVER", "SPRUC", "TIDAL", "UMBRA", "VELLM", "WREN", "YARRW",
]
# fmt: on

TICK_TRADES = 100_000
BURST_EVERY_SECONDS = 30.0
BURST_SECONDS = 4.0
BURST_ACTIVITY = 3.0
BURST_SIZE = 8
SIZE_TAIL = 1.3
LARGEST_SIZE = 10_000_000
WANDER = 0.002
"""Standard deviation of a symbol's relative price change in a second."""
HOMING = 2e-4
"""How strongly a price is drawn back, per second: an endless walk must not end at a cent."""


def market(
    seconds: float | None = None,
    rate: float = 1_000.0,
    symbols: int | Sequence[str] = 20,
    seed: int = 0,
    *,
    rows: int | None = None,
    start: datetime = datetime(2026, 1, 5, 14, 30, tzinfo=UTC),
) -> Iterator[pa.Table]:
    """Trades of `seconds` of event time (without: for ever), `rate` a second outside bursts.

    Tables hold exactly `rows` rows (the last one what is left); without `rows`, a tick each. Columns: ts (microseconds,
    UTC, not falling), trade_id (1, 2, 3 …), symbol, price (whole cents), size, change (the price's relative change
    against the symbol's trade before; 0 for its first).
    """
    at_least("rate", rate, 1e-3)
    names = _names(symbols)
    if start.tzinfo is None:
        raise SkybandError(f"a start of {start} without a time zone", expected="a datetime with one")
    if rows is not None:
        at_least("rows", rows, 1)
    origin = (start - datetime(1970, 1, 1, tzinfo=UTC)) // datetime.resolution
    ticks = _Market(names, rate, seed, origin).tables(seconds)
    return ticks if rows is None else _of_size(ticks, rows)


class _Market:
    """Prices and the burst under way: what one tick hands to the next."""

    def __init__(self, names: Sequence[str], rate: float, seed: int, origin: int) -> None:
        self.names = pa.array(names, pa.string())
        self.tick = min(1.0, TICK_TRADES / rate)
        self.rate = rate
        self.origin = origin
        self.draw = generator(seed)
        m = len(names)
        weight = 1.0 / np.sqrt(1.0 + np.arange(m))
        self.popular = np.cumsum(weight / weight.sum())
        self.home = np.log(5.0 * 100.0 ** self.draw.random(m))
        self.walk = self.home.copy()
        self.price = np.full(m, np.nan)
        self.step = WANDER / np.sqrt(rate / m)
        self.traded = 0
        self.burst_symbol = 0
        self.burst_left = 0

    def tables(self, seconds: float | None) -> Iterator[pa.Table]:
        begins = (i * self.tick for i in count())
        for begin in begins if seconds is None else takewhile(lambda begin: begin < seconds, begins):
            table = self._table(begin, np.inf if seconds is None else seconds)
            if len(table):
                yield table

    def _table(self, begin: float, end: float) -> pa.Table:
        self._weather()
        bursting = self.burst_left > 0
        n = int(self.draw.poisson(self.rate * self.tick * (BURST_ACTIVITY if bursting else 1.0)))
        time = begin + self.tick * self._arrivals(n)
        symbol = np.minimum(np.searchsorted(self.popular, self.draw.random(n)), len(self.popular) - 1)
        if bursting:
            symbol[self.draw.random(n) < 1.0 - 1.0 / BURST_ACTIVITY] = self.burst_symbol
        in_burst = (symbol == self.burst_symbol) & bursting
        volume = 1.0 + 100.0 * self.draw.pareto(SIZE_TAIL, n)
        volume[in_burst] *= BURST_SIZE
        size = np.minimum(volume, LARGEST_SIZE).astype(np.int64)
        price, change = self._prices(symbol, in_burst)
        ids = self.traded + 1 + np.arange(n)
        self.traded += n
        table = pa.table(
            {
                "ts": pa.array(self.origin + (time * 1e6).astype(np.int64)).cast(SCHEMA.field("ts").type),
                "trade_id": ids,
                "symbol": self.names.take(pa.array(symbol)),
                "price": price,
                "size": size,
                "change": change,
            },
            schema=SCHEMA,
        )
        return table.slice(0, int(np.searchsorted(time, end)))

    def _weather(self) -> None:
        """Begin or go on with a burst, and draw prices home."""
        self.walk += HOMING * self.tick * (self.home - self.walk)
        begins, symbol, length = self.draw.random(), self.draw.integers(len(self.home)), self.draw.exponential()
        if self.burst_left > 0:
            self.burst_left -= 1
        elif begins < self.tick / BURST_EVERY_SECONDS:
            self.burst_symbol = int(symbol)
            self.burst_left = 1 + int(length * BURST_SECONDS / self.tick)

    def _arrivals(self, n: int) -> Floats:
        """n uniform instants of [0, 1), sorted: exponential gaps, scaled."""
        gaps: Floats = np.cumsum(self.draw.standard_exponential(n + 1))
        instants: Floats = gaps[:-1] / gaps[-1]
        return instants

    def _prices(self, symbol: Ints, in_burst: Flags) -> tuple[Floats, Floats]:
        """Each symbol's walk goes on trade by trade: sums of steps inside the runs of a stable sort by symbol."""
        n, m = len(symbol), len(self.home)
        steps = self.step * self.draw.standard_normal(n)
        steps[in_burst] *= BURST_ACTIVITY
        order = np.argsort(symbol.astype(np.int16 if m < 2**15 else np.int64), kind="stable")
        begin = np.searchsorted(symbol[order], np.arange(m + 1))
        traded = np.flatnonzero(np.diff(begin))
        first, last = begin[traded], begin[traded + 1] - 1

        total = np.concatenate(([0.0], np.cumsum(steps[order])))
        walk = total[1:] + np.repeat(self.walk[traded] - total[first], last - first + 1)
        price = np.maximum(np.round(np.exp(walk), 2), 0.01)
        before = np.concatenate(([np.nan], price[:-1]))[:n]
        before[first] = self.price[traded]
        self.walk[traded], self.price[traded] = walk[last], price[last]

        change = price / before - 1.0
        change[np.isnan(before)] = 0.0
        back = np.empty(n, np.int64)
        back[order] = np.arange(n)
        return price[back], change[back]


def _of_size(tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of `rows` each."""
    held: list[pa.Table] = []
    n = 0
    for table in tables:
        held.append(table)
        n += len(table)
        if n < rows:
            continue
        whole = pa.concat_tables(held).combine_chunks()
        for i in range(0, n - n % rows, rows):
            yield whole.slice(i, rows)
        held, n = [whole.slice(n - n % rows)], n % rows
    if n:
        yield pa.concat_tables(held).combine_chunks()


def _names(symbols: int | Sequence[str]) -> list[str]:
    if isinstance(symbols, int):
        at_least("symbols", symbols, 1)
        return [*NAMES, *(f"S{i}" for i in range(len(NAMES), symbols))][:symbols]
    names = list(symbols)
    if not names or len(set(names)) < len(names):
        raise SkybandError(f"symbols {names}", expected="at least one symbol, and none twice")
    return names
