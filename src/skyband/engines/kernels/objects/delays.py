"""How long objects take from one stream to the next, and how often they come back, learnt from the stream as it goes.

Delays are taken from a sample of objects by hash, of bounded size: an object of the sample is followed through every
stream, so that both who comes and who stays away is seen. Occurrences are the self-join sizes of the streams, by the
sketch of Alon, Matias and Szegedy with its buckets hashed (one change per row and record).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skyband.engines.kernels.jit import bare, inlined, kernel
from skyband.model.types import Floats, Ints

Words = NDArray[np.uint64]
BINS = 32
"""Stretches of delay up to the window's width, the shortest first: their ends grow with the square."""
ROWS, BUCKETS = 3, 96
NOBODY = -1
UNSEEN = -(2**62)
USED, TAKEN = 0, 1


class Sample(NamedTuple):
    """Objects of the sample: key, hash, when each was last seen in each stream (UNSEEN: not yet) and anywhere. `table`
    finds one by its hash. `sizes` counts them and the sightings of theirs that were taken."""

    key: Ints
    mark: Words
    last: Ints
    newest: Ints
    table: Ints
    sizes: Ints


class Delays(NamedTuple):
    """Decayed counts: objects first seen in stream j a while after stream i (by bin; i = j: seen again), and those
    that had been in j before."""

    after: Floats
    before: Floats


@inlined
def mixed(key: np.int64) -> np.uint64:
    """A hash of 64 bits; every bit of it depends on every bit of the key."""
    x = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def marks(keys: Ints) -> Words:
    """The hash of every key, in 63 bits, never 0: what theta sketches hold."""
    out = np.empty(len(keys), np.uint64)
    for i in range(len(keys)):
        out[i] = max(mixed(keys[i]) >> np.uint64(1), np.uint64(1))
    return out


@inlined
def bin_of(delay: int, width: int) -> int:
    return min(int(BINS * np.sqrt(max(delay, 0) / width)), BINS - 1)


@inlined
def slot_of(sample: Sample, mark: np.uint64) -> np.int64:
    """Where the table has the object, or where it would put it."""
    wrap = len(sample.table) - 1
    place = np.int64(mark & np.uint64(wrap))
    while sample.table[place] != NOBODY and sample.mark[sample.table[place]] != mark:
        place = (place + 1) & wrap
    return place


@bare
def thin(sample: Sample, limit: np.uint64, oldest: int) -> None:
    """Keep the objects of the sample whose hash is below the limit and that were seen since `oldest`."""
    n = 0
    for i in range(sample.sizes[USED]):
        if sample.mark[i] < limit and sample.newest[i] >= oldest:
            sample.key[n] = sample.key[i]
            sample.mark[n] = sample.mark[i]
            sample.newest[n] = sample.newest[i]
            for j in range(sample.last.shape[1]):
                sample.last[n, j] = sample.last[i, j]
            n += 1
    sample.sizes[USED] = n
    for place in range(len(sample.table)):
        sample.table[place] = NOBODY
    for i in range(n):
        sample.table[slot_of(sample, sample.mark[i])] = i


@bare
def follow(sample: Sample, delays: Delays, mark: np.uint64, stream: int, at: int, width: int) -> None:
    """A sighting of an object of the sample; there is room for it."""
    place = slot_of(sample, mark)
    who = sample.table[place]
    if who == NOBODY:
        who = sample.sizes[USED]
        sample.sizes[USED] += 1
        sample.table[place] = who
        sample.mark[who] = mark
        for j in range(sample.last.shape[1]):
            sample.last[who, j] = UNSEEN
    sample.sizes[TAKEN] += 1
    own = sample.last[who, stream]
    if own != UNSEEN and at - own < width:
        delays.after[stream, stream, bin_of(at - own, width)] += 1.0
    else:
        for j in range(sample.last.shape[1]):
            other = sample.last[who, j]
            if j != stream and other != UNSEEN and at - other < width:
                delays.after[j, stream, bin_of(at - other, width)] += 1.0
                delays.before[stream, j] += 1.0
    sample.last[who, stream] = at
    sample.newest[who] = at


@bare
def follow_all(
    sample: Sample, delays: Delays, found: Words, stream: Ints, at: Ints, width: int, limit: np.uint64
) -> np.uint64:
    """Every sighting whose object is in the sample; returns the limit, halved whenever the sample was full."""
    for i in range(len(at)):
        if found[i] >= limit:
            continue
        if sample.sizes[USED] == len(sample.key):
            thin(sample, limit, at[i] - width)
            while sample.sizes[USED] > len(sample.key) // 2:
                limit = limit >> np.uint64(1)
                thin(sample, limit, at[i] - width)
            if found[i] >= limit:
                continue
        follow(sample, delays, found[i], stream[i], at[i], width)
    return limit


@bare
def tally(found: Words, stream: Ints, sums: Floats) -> None:
    """Add sightings to the self-join sketches, `sums[stream, row, bucket]`; sketches of panes can be added up."""
    for i in range(len(stream)):
        for row in range(ROWS):
            bits = mixed(np.int64(found[i]) + np.int64(row) * np.int64(0x51ED27F8A3))
            sign = 1.0 if bits & np.uint64(1) else -1.0
            sums[stream[i], row, np.int64((bits >> np.uint64(1)) % np.uint64(BUCKETS))] += sign
