"""PK_STREAMS over one window (uncertain-tkde §9): the sources with the highest summed top-k probability of records."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.uncertain.heap import best_first
from skyband.engines.kernels.uncertain.pk_topk import all_probabilities
from skyband.engines.kernels.uncertain.ranks import Ranked, Store, fetch
from skyband.engines.kernels.uncertain.rule_codes import FREE, encode
from skyband.engines.kernels.uncertain.worlds import Scan
from skyband.model.types import Floats, Ints


@kernel
def likeliest_sources(
    scan: Scan, store: Store, start: int, ranked: Ranked, latest: Ints, k: int, plain: bool
) -> tuple[Ints, Floats]:
    """The place of the best record of each of the k likeliest sources, and their sums; equals by that place."""
    value = all_probabilities(scan, store, start, ranked, latest, k, plain)
    place, total = _summed(store.source[ranked.slot[: ranked.cursor[2]]], value)
    if len(place) < k:
        # What was not scanned is as good as impossible, but there may be room for it.
        n = fetch(store, start, ranked, latest, len(ranked.slot))
        place, total = _summed(store.source[ranked.slot[:n]], value)
    order = best_first(total, place)[:k]
    return place[order], total[order]


@kernel
def _summed(source: Ints, value: Floats) -> tuple[Ints, Floats]:
    """The first place of every source, and the sum of its values; records without a source are one together."""
    size = 4
    while size < 2 * len(source):
        size *= 2
    keys, codes = np.empty(size, np.int64), np.empty(size, np.int64)
    code, known = encode(source, keys, codes, np.zeros(size, np.bool_), 0)
    place, total = np.full(known + 1, -1), np.zeros(known + 1)
    for i in range(len(source)):
        number = known if code[i] == FREE else code[i]
        if place[number] < 0:
            place[number] = i
        total[number] += value[i]
    used = known + (place[known] >= 0)
    return place[:used], total[:used]
