"""What keepers that run an engine per group share: telling rows by group, and counting the work of engines that go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.model import Ints
from skyband.runtime.packed import GROUP

NOT_WORK = ("records", "candidates", "candidates_peak", "views", "groups", "influence", "objects", "shadow_objects")
SHARE = "_ppm"
"""How names of counters end that are parts of a million: they say how things are, and cannot be added up."""


class Ledger:
    """The work of engines that are gone, and the most candidates there ever were."""

    def __init__(self) -> None:
        self._gone: Counter[str] = Counter()
        self._peak = 0

    def total(self, engines: Iterable[Counters]) -> Counters:
        """With the counters of those that are still there."""
        total = Counter(self._gone)
        for counters in engines:
            total.update(counters)
        return dict(total) | {"candidates_peak": self._peak}

    def kept(self, candidates: int) -> None:
        self._peak = max(self._peak, candidates)

    def retire(self, counters: Counters) -> None:
        """An engine goes; what it did stays counted."""
        self._gone.update(work(counters))

    def resume(self, engines: Iterable[Counters], counters: Counters, peak: int) -> None:
        """Count on from what a snapshot said: building the engines anew is not work that the stream asked for."""
        self._gone = Counter()
        self._gone.subtract(work(self.total(engines)))
        self._gone.update(counters)
        self._peak = peak


def work(counters: Counters) -> Counters:
    """What stays counted of an engine that is gone."""
    return {name: value for name, value in counters.items() if name not in NOT_WORK and not name.endswith(SHARE)}


def group_codes(rows: pa.Table) -> tuple[Ints, list[str]]:
    """The group of each row as a number, and the names by number."""
    coded = pa.chunked_array([rows.column(GROUP).combine_chunks()]).combine_chunks().dictionary_encode()
    return np.asarray(coded.indices).astype(np.int64), coded.dictionary.to_pylist()


def by_group(rows: pa.Table) -> Iterator[tuple[str, Ints]]:
    """Each group and the places of its rows, in their order; without PER there is one group, ''."""
    if not len(rows):
        return
    if GROUP not in rows.column_names:
        yield "", np.arange(len(rows))
        return
    code, names = group_codes(rows)
    order = np.argsort(code, kind="stable")
    cuts = np.flatnonzero(np.diff(code[order], prepend=-1, append=len(names))).tolist()
    for low, high in pairwise(cuts):
        yield names[code[order[low]]], order[low:high]
