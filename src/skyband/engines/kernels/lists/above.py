"""Records above thresholds, in the order they came: what to keep, and what a report takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import exceeds
from skyband.engines.kernels.common.pane import sort_ranked
from skyband.engines.kernels.common.run import Output, finished, first_at_or_after, grown, new_output
from skyband.engines.kernels.common.select import copy_into
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys

(KEPT, COMPARISONS, INSERTIONS, EXPIRED, PEAK) = range(5)
SIZES = 5


class Store(NamedTuple):
    """Records above the lowest threshold, oldest first; the first size[KEPT] count."""

    score: Keys
    at: Ints
    id: Ints


@kernel
def append_above(at: Ints, score: Keys, base: int, sign: float, lowest: float, store: Store, size: Ints) -> Store:
    """Add the records whose score, as the user wrote it, is above the lowest threshold."""
    more = 0
    for i in range(len(score)):
        more += exceeds(score[i], lowest, sign)
    n = size[KEPT]
    if n + more > len(store.id):
        room = 2 * n + more
        wider = Store(np.empty(room, score.dtype), np.empty(room, np.int64), np.empty(room, np.int64))
        copy_into(wider.score, store.score, n)
        copy_into(wider.at, store.at, n)
        copy_into(wider.id, store.id, n)
        store = wider
    if more:
        for i in range(len(score)):
            if exceeds(score[i], lowest, sign):
                store.score[n] = score[i]
                store.at[n] = at[i]
                store.id[n] = base + i
                n += 1
    size[KEPT] = n
    size[COMPARISONS] += len(score)
    size[INSERTIONS] += more
    size[PEAK] = max(size[PEAK], n)
    return store


@kernel
def report_above(store: Store, size: Ints, start: Ints, end: Ints, threshold: Keys, sign: float) -> Output:
    """For every report, the records of [start, end) above its threshold, best first."""
    out = new_output(len(end), store.score)
    at = store.at[: size[KEPT]]
    used = 0
    for r in range(len(end)):
        low = first_at_or_after(at, 0, start[r])
        high = first_at_or_after(at, low, end[r])
        first = used
        for i in range(low, high):
            if exceeds(store.score[i], threshold[r], sign):
                out = grown(out, used, 1)
                out.score[used] = store.score[i]
                out.id[used] = store.id[i]
                used += 1
        size[COMPARISONS] += high - low
        sort_ranked(out.score[first:used], out.id[first:used], used - first)
        out.begin[r] = first
        out.size[r] = used - first
    return finished(out, used)


@kernel
def drop_unneeded(store: Store, size: Ints, needed_from: Ints, lowest: Keys, sign: float) -> None:
    """Keep what some report to come can use: beats with a rising `needed_from`, reports of beat b and of those before
    it take records from needed_from[b] on above lowest[b]."""
    kept = 0
    beat = -1
    for i in range(size[KEPT]):
        while beat + 1 < len(needed_from) and needed_from[beat + 1] <= store.at[i]:
            beat += 1
        if beat >= 0 and exceeds(store.score[i], lowest[beat], sign):
            store.score[kept] = store.score[i]
            store.at[kept] = store.at[i]
            store.id[kept] = store.id[i]
            kept += 1
    size[EXPIRED] += size[KEPT] - kept
    size[KEPT] = kept
