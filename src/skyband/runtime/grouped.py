"""All PER groups in one table: no group costs a Python call, however many there are.

Candidates of all groups lie in arrays, by group and feed order. Each feed is one merge, one pass that makes the
reports, and one that keeps what may still be needed (a k-skyband per group).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.engines.kernels.common.grouped import Beats, report_groups, still_needed
from skyband.model import NEVER, Ints, MetaQuery
from skyband.runtime.keeper import Reports, Take
from skyband.runtime.packed import AT, GROUP, SCORE, feed_order, floats, ints

FOREVER = 2**61


class Grouped:
    """Candidates as arrays; a group is a number, and forgotten when it has none."""

    def __init__(self, meta: MetaQuery, linger: Ints | None) -> None:
        self.meta = meta
        none = np.zeros(len(meta), np.int64)
        threshold = np.zeros(len(meta)) if meta.threshold is None else meta.threshold
        sign = -1.0 if meta.ascending else 1.0
        self._beats = Beats(
            meta.width, meta.period, meta.phase, meta.k, none if linger is None else linger, threshold, sign
        )
        self._names: list[str] = []
        self._code: dict[str, int] = {}
        self._group = np.empty(0, np.int64)
        self._at = np.empty(0, np.int64)
        self._score = np.empty(0)
        self._id = np.empty(0, np.int64)
        self._until = np.empty(0, np.int64)
        self._work = {"records": 0, "insertions": 0, "comparisons": 0}
        self._peak = 0

    def advance(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> Reports:
        if len(ids):
            self._append(take(ids), ids)
        return self._report(self._moments(until, seen))

    def admit(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> None:
        self._append(take(ids), ids)
        order = feed_order(take(self._id))
        self._reorder(order[np.argsort(self._group[order], kind="stable")])
        self._until = self._moments(until, seen)
        self._forget()

    def close(self, until: int) -> Reports:
        return self._report(np.full(len(self._names), until))

    def candidates(self) -> Ints:
        return np.sort(self._id)

    def next_report(self, until: int) -> int | None:
        if not len(self._at):
            return None
        last = int(self._at.max())
        return self.meta.next_moment(last, until, self._beats.linger)

    @property
    def counters(self) -> Counters:
        return self._work | {
            "groups": len(np.unique(self._group)),
            "candidates": len(self._id),
            "candidates_peak": self._peak,
        }

    def resume(self, counters: Counters, peak: int) -> None:
        self._work = {name: counters.get(name, 0) for name in self._work}
        self._peak = peak

    def _append(self, rows: pa.Table, ids: Ints) -> None:
        """Rows behind those of their groups: they are newer than all of them, or will be put in order."""
        coded = pa.chunked_array([rows.column(GROUP).combine_chunks()]).combine_chunks().dictionary_encode()
        codes = np.array([self._number(name) for name in coded.dictionary.to_pylist()], np.int64)
        fresh = len(self._names) - len(self._until)
        self._until = np.concatenate((self._until, np.full(fresh, NEVER)))
        self._group = np.concatenate((self._group, codes[np.asarray(coded.indices)]))
        self._at = np.concatenate((self._at, ints(rows, AT)))
        self._score = np.concatenate((self._score, floats(rows, SCORE)))
        self._id = np.concatenate((self._id, ids))
        self._reorder(np.argsort(self._group, kind="stable"))
        self._work["records"] += len(ids)
        self._work["insertions"] += len(ids)

    def _number(self, name: str) -> int:
        code = self._code.setdefault(name, len(self._names))
        if code == len(self._names):
            self._names.append(name)
        return code

    def _reorder(self, order: Ints) -> None:
        self._group, self._at = self._group[order], self._at[order]
        self._score, self._id = self._score[order], self._id[order]

    def _moments(self, until: int, seen: Mapping[str, int] | None) -> Ints:
        """How far each group's clock goes."""
        if seen is None:
            return np.full(len(self._names), until)
        return np.array(
            [seen.get(name, before) for name, before in zip(self._names, self._until.tolist(), strict=True)], np.int64
        )

    def _report(self, until: Ints) -> Reports:
        begin = np.searchsorted(self._group, np.arange(len(self._names) + 1))
        thresholds = self.meta.threshold is not None
        found = report_groups(begin, self._at, self._score, self._until, until, self._beats, thresholds)
        reports = Reports(
            self.meta.query[found.beat],
            found.start,
            found.end,
            found.group,
            found.size,
            self._id[found.row],
            self._names,
        )
        self._work["comparisons"] += len(self._at)
        self._until = until
        self._forget()
        return reports

    def _forget(self) -> None:
        """Keep what may still be needed; number the groups anew when most of them are gone."""
        self._peak = max(self._peak, len(self._id))
        begin = np.searchsorted(self._group, np.arange(len(self._names) + 1))
        keep = still_needed(
            begin, self._at, self._score, self._until, self._beats, self.meta.most, self.meta.threshold is not None
        )
        self._reorder(np.flatnonzero(keep | self._lingering()))
        live = np.unique(self._group)
        if len(self._names) > 2 * len(live) + 1_000:
            self._names = [self._names[code] for code in live.tolist()]
            self._code = {name: code for code, name in enumerate(self._names)}
            self._until = self._until[live]
            self._group = np.searchsorted(live, self._group)

    def _lingering(self) -> np.ndarray:
        """In changes mode a group's last record stays until the empty window after it was reported."""
        if not self._beats.linger.any():
            return np.zeros(len(self._group), bool)
        reach = int((self.meta.width + self._beats.linger).max())
        last = np.append(self._group[1:] != self._group[:-1], True) if len(self._group) else np.empty(0, bool)
        stays: np.ndarray = last & (self._at + reach > self._until[self._group])
        return stays
