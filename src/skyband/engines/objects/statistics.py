"""What the approximate engine knows about its streams: who comes where (theta sketches), when (delays), how often
(self-joins) and with which values; all of it over about one window, in panes, in a space that does not grow with it."""

from __future__ import annotations

import numpy as np

from skyband.engines.codec import damaged, pack, unpack
from skyband.engines.kernels.objects.delays import (
    BINS,
    BUCKETS,
    ROWS,
    USED,
    Delays,
    Sample,
    follow_all,
    marks,
    tally,
    thin,
)
from skyband.engines.kernels.objects.estimate import Forecast
from skyband.engines.limits import FARTHEST, MOST_SEEN, ArrayLimits, Limits, check_arrays, check_number
from skyband.engines.objects.correlation import FULL, Correlation
from skyband.model import NEVER, Floats, Ints
from skyband.model.apart import AttributeValues

KIND = "statistics"
PANES = 8
"""Panes of a window."""
LEAST = 256
"""Records that a pane should have before it is worth closing."""
FOLLOWED = 128
"""Objects whose delays are taken."""
SETS = 64
"""Sets of streams whose joins are computed; the others go by their newest stream."""
FADE = 1.0 - 1.0 / PANES
POOLED = 2.0
"""Weight of the delays of all pairs of streams together in those of one pair."""
LOOK = 12
"""The horizon of the estimate is at least the window over this."""


class Statistics:
    """Fed with every sighting; `close` at the end of a pane makes the next forecast."""

    def __init__(self, streams: int, width: int) -> None:
        self.width = width
        self.correlation = Correlation(streams)
        self._limit = FULL
        self.sample = _sample(streams, FOLLOWED)
        self.delays = Delays(np.zeros((streams, streams, BINS)), np.zeros((streams, streams)))
        self._open = _pane(streams)
        self._closed: list[tuple[int, tuple[Floats, Floats]]] = []
        self._seen = 0
        self._began = int(NEVER)
        self.forecast: Forecast | None = None

    @property
    def streams(self) -> int:
        return self.correlation.streams

    @property
    def _horizon(self) -> int:
        """How far to look ahead: as long as half of the objects take to another stream. An object that is likely to
        come at some time is not worth more memory than one that is likely to come soon."""
        forward = self.delays.after[~np.eye(self.streams, dtype=bool)].sum(axis=0)
        half = int(np.searchsorted(np.cumsum(forward), forward.sum() / 2)) + 1 if forward.any() else 0
        return max(int(self.width * (half / BINS) ** 2), self.width // LOOK, 1)

    @property
    def pane(self) -> int:
        return max(self.width // PANES, 1)

    def observe(self, values: AttributeValues) -> None:
        if not len(values):
            return
        most = int(values.stream.max()) + 1
        if most > self.streams:
            self._grow(most)
        if self._began == NEVER:
            self._began = int(values.at[0])
        found, stream = marks(values.object), np.ascontiguousarray(values.stream)
        self.correlation.observe(found, stream)
        at = np.ascontiguousarray(values.at)
        self._limit = follow_all(self.sample, self.delays, found, stream, at, self.width, self._limit)
        sums, totals = self._open
        tally(found, stream, sums)
        value = values.value
        for row, each in enumerate((np.ones(len(value)), value, value * value)):
            totals[:, row] += np.bincount(stream, each, self.streams)
        self._seen += len(values)

    def close(self, end: int, sets: Ints) -> bool:
        """A pane may end here; `sets` are the sets of streams of the objects kept. Whether there is a new forecast."""
        if not self._seen or (self._seen < LEAST and end - self._began < self.width):
            return False
        self.correlation.close(end, end - self.width)
        self._closed = [(at, pane) for at, pane in [*self._closed, (end, self._open)] if at > end - self.width]
        self._open = _pane(self.streams)
        self._seen, self._began = 0, int(NEVER)
        self.forecast = self._foreseen(sets)
        for each in self.delays:
            each *= FADE
        if self.sample.sizes[USED] < FOLLOWED // 4:
            thin(self.sample, self._limit, end - self.width)
            self._limit = np.uint64(min(int(self._limit) * 2 + 1, int(FULL)))
        return True

    def occurrences(self) -> Floats:
        """How often the object of a value occurs in each stream: the self-join over the number of values."""
        sums = np.sum([pane[0] for _, pane in self._closed], axis=0)
        join = np.median((sums * sums).sum(axis=2), axis=1)
        return np.asarray(np.maximum(join / np.maximum(self._totals()[:, 0], 1.0), 1.0))

    def state(self) -> bytes:
        """Everything, for a snapshot; the forecast too, for it is older than what was seen since."""
        sketches, ends = self.correlation.state()
        arrays = [*self.sample, *self.delays, *self._open]
        arrays += [each for _, pane in self._closed for each in pane]
        arrays += [] if self.forecast is None else list(self.forecast[:6])
        blobs = sketches + [_as_bytes(each) for each in arrays]
        numbers = {"width": self.width, "streams": self.streams, "limit": int(self._limit), "seen": self._seen}
        numbers |= {"began": self._began, "panes": len(ends), "foreseen": int(self.forecast is not None)}
        if self.forecast is not None:
            # It may be older than the last stream that was seen.
            numbers |= {"horizon": self.forecast.horizon, "known": len(self.forecast.pair)}
        numbers |= {f"end{n}": end for n, end in enumerate(ends)}
        return pack(KIND, {"part": blobs}, numbers)

    @staticmethod
    def resumed(state: bytes, streams: int, width: int) -> Statistics:
        """Over so many streams, or more where they are not declared (0), and windows of this width."""
        columns, numbers = unpack(KIND, state)
        parts, d, panes = list(columns["part"]), numbers["streams"], numbers["panes"]
        check_number(KIND, "the number of its streams", d, streams, streams or len(parts))
        check_number(KIND, "the width of its windows", numbers["width"], width, width)
        check_number(KIND, "the number of its panes", panes, 0, 2 * PANES)
        check_number(KIND, "its limit", numbers["limit"], 0, int(FULL))
        check_number(KIND, "what it has seen", numbers["seen"], 0, 2**62)
        check_number(KIND, "its beginning", numbers["began"], int(NEVER), FARTHEST)
        ends = [numbers[f"end{n}"] for n in range(panes)]
        for end in ends:
            check_number(KIND, "the end of a pane", end, -FARTHEST, FARTHEST)
        made = Statistics(d, numbers["width"])
        made._limit, made._seen, made._began = np.uint64(numbers["limit"]), numbers["seen"], numbers["began"]
        made.correlation.resume(parts[: d * (panes + 1)], ends)
        arrays = [_from_bytes(part) for part in parts[d * (panes + 1) :]]
        limits = [*_sample_limits(d), *_delay_limits(d), *_pane_limits(d) * (panes + 1)]
        if numbers["foreseen"]:
            check_number(KIND, "its horizon", numbers["horizon"], 1, FARTHEST)
            known = numbers.get("known", d)
            check_number(KIND, "the number of streams that it knew", known, 1, d)
            limits += _forecast_limits(known)
        check_arrays(KIND, zip(arrays, limits, strict=True))
        _check_sample(Sample(*arrays[:6]))
        made.sample, made.delays, arrays = Sample(*arrays[:6]), Delays(*arrays[6:8]), arrays[8:]
        made._open = arrays[0], arrays[1]
        made._closed = [(end, (arrays[2 * n + 2], arrays[2 * n + 3])) for n, end in enumerate(ends)]
        if numbers["foreseen"]:
            pair, sets, given, reached, amount, many = arrays[2 * panes + 2 :]
            if len(given) != len(sets):
                raise damaged(KIND, "it does not foresee each of its sets")
            made.forecast = Forecast(pair, sets, given, reached, amount, many, numbers["horizon"], made.width, True)
        return made

    def _totals(self) -> Floats:
        """Of each stream the number of values, their sum and the sum of their squares."""
        return np.asarray(np.sum([pane[1] for _, pane in self._closed], axis=0))

    def _foreseen(self, sets: Ints) -> Forecast:
        totals = self._totals()
        n = np.maximum(totals[:, 0], 1.0)
        mean = totals[:, 1] / n
        deviation = np.sqrt(np.maximum(totals[:, 2] / n - mean * mean, 0.0))
        pair = self.correlation.pair.copy()
        # A value is followed by another of its object unless it is the object's last.
        np.fill_diagonal(pair, np.clip(1.0 - self.correlation.distinct() / n, 0.0, 1.0))
        found, often = np.unique(sets, return_counts=True)
        several = (found & (found - 1)) != 0
        found, often = found[several], often[several]
        found = np.sort(found[np.argsort(-often, kind="stable")[:SETS]])
        given = [self.correlation.given(each) for each in found.tolist()]
        table = np.array(given).reshape(len(found), self.streams)
        return Forecast(
            pair,
            found,
            table,
            self._reached(),
            mean + 2 * deviation,
            self.occurrences(),
            self._horizon,
            self.width,
            True,
        )

    def _reached(self) -> Floats:
        """Shares of objects that have come by the end of each bin; a pair seen rarely goes by all pairs together."""
        after, before = self.delays
        own = np.eye(self.streams, dtype=bool)
        out = np.empty((self.streams, self.streams, BINS + 1))
        for alike in (own, ~own):
            pooled = np.append(before[alike].sum(), after[alike].sum(axis=0))
            pooled = pooled / max(pooled.sum(), 1e-9)
            each = np.concatenate((before[alike][:, None], after[alike]), axis=1) + POOLED * pooled
            out[alike] = np.cumsum(each, axis=1) / np.maximum(each.sum(axis=1, keepdims=True), 1e-9)
        return out

    def _grow(self, streams: int) -> None:
        more = streams - self.streams
        self.correlation.grow(streams)
        old = self.sample
        last = np.pad(old.last, ((0, 0), (0, more)), constant_values=-(2**62))
        self.sample = Sample(old.key, old.mark, last, old.newest, old.table, old.sizes)
        wide = ((0, more), (0, more))
        self.delays = Delays(np.pad(self.delays.after, (*wide, (0, 0))), np.pad(self.delays.before, wide))
        self._open = _wider(self._open, more)
        self._closed = [(end, _wider(pane, more)) for end, pane in self._closed]


def _sample_limits(d: int) -> list[ArrayLimits]:
    size, times = (FOLLOWED,), Limits(-(2**62), FARTHEST)
    return [
        ArrayLimits("key", np.int64, size),
        ArrayLimits("mark", np.uint64, size),
        ArrayLimits("last", np.int64, (FOLLOWED, d), times),
        ArrayLimits("newest", np.int64, size, times),
        ArrayLimits("table", np.int64, (4 * FOLLOWED,), Limits(-1, FOLLOWED - 1)),
        ArrayLimits("sizes", np.int64, (2,), Limits(0)),
    ]


def _check_sample(sample: Sample) -> None:
    """The table finds everyone of the sample once, and where it finds nobody a search ends."""
    used = int(sample.sizes[USED])
    found = np.sort(sample.table[sample.table >= 0])
    if used > FOLLOWED or not np.array_equal(found, np.arange(used)):
        raise damaged(KIND, "its sample is not what its table says")


def _delay_limits(d: int) -> list[ArrayLimits]:
    counts = Limits(0.0, MOST_SEEN)
    return [ArrayLimits("after", np.float64, (d, d, BINS), counts), ArrayLimits("before", np.float64, (d, d), counts)]


def _pane_limits(d: int) -> list[ArrayLimits]:
    any_number = Limits(-MOST_SEEN, MOST_SEEN)
    sums = ArrayLimits("a pane's sums", np.float64, (d, ROWS, BUCKETS), any_number)
    return [sums, ArrayLimits("a pane's totals", np.float64, (d, 3), any_number)]


def _forecast_limits(d: int) -> list[ArrayLimits]:
    share, any_number = Limits(0.0, 1.0 + 1e-6), Limits(-MOST_SEEN, MOST_SEEN)
    return [
        ArrayLimits("pair", np.float64, (d, d), share),
        ArrayLimits("sets", np.int64, (-1,), rising=True),
        ArrayLimits("given", np.float64, (-1, d), share),
        ArrayLimits("reached", np.float64, (d, d, BINS + 1), share),
        ArrayLimits("amount", np.float64, (d,), any_number),
        ArrayLimits("many", np.float64, (d,), any_number),
    ]


def _sample(streams: int, size: int) -> Sample:
    whole = np.zeros((2, size), np.int64)
    last = np.zeros((size, streams), np.int64)
    return Sample(whole[0], np.zeros(size, np.uint64), last, whole[1], np.full(4 * size, -1), np.zeros(2, np.int64))


def _pane(streams: int) -> tuple[Floats, Floats]:
    return np.zeros((streams, ROWS, BUCKETS)), np.zeros((streams, 3))


def _wider(pane: tuple[Floats, Floats], more: int) -> tuple[Floats, Floats]:
    return np.pad(pane[0], ((0, more), (0, 0), (0, 0))), np.pad(pane[1], ((0, more), (0, 0)))


def _as_bytes(array: np.ndarray) -> bytes:
    """Type, shape and content."""
    head = np.array([*array.shape, array.ndim, ord(array.dtype.kind)], np.int64)
    return np.ascontiguousarray(array).tobytes() + head.tobytes()


def _from_bytes(part: bytes) -> np.ndarray:
    dims, kind = np.frombuffer(part[-16:], np.int64)
    shape = np.frombuffer(part[-16 - 8 * dims : -16], np.int64)
    types = {ord("i"): np.int64, ord("u"): np.uint64, ord("f"): np.float64}
    return np.frombuffer(part[: -16 - 8 * dims], types[int(kind)]).reshape(shape).copy()
