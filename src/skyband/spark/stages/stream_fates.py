"""What became of the records of a stream, by query. Prune sees every record and no watermark: it sends along how many
were filtered, had no score or were bad, and when. The state key that sees every micro-batch knows the watermark, and so
who of them was dropped before that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import NEVER, Flags, Ints
from skyband.planner import PlannedFamily
from skyband.runtime.encoder import Encoded
from skyband.runtime.fates import BAD, FATES, FILTERED, UNRANKED
from skyband.runtime.lateness import Lateness

FUTURE = 4
WHOSE, FATE = "whose", "fate"
SENT = pa.schema({"at": pa.int64(), "records": pa.int64(), WHOSE: pa.string(), FATE: pa.int8()})
"""As `Lateness` tells times, of one fate; `whose`: nobody's for the stream, or a family's, or a query's."""
NOBODY = ""


def times_of(times: pa.Table, whose: str = NOBODY, fate: int = 0) -> pa.Table:
    """How many records there were, and when."""
    count = len(times)
    return pa.table([*times.columns, pa.array([whose] * count), pa.array([fate] * count, pa.int8())], schema=SENT)


def counted_once(records: int, fate: int) -> pa.Table:
    """Records that no query saw."""
    return pa.table([[0], [records], [NOBODY], pa.array([fate], pa.int8())], schema=SENT)


def fates_in(encoded: Encoded, at: Ints, planned: PlannedFamily, lateness: Lateness) -> Iterator[pa.Table]:
    """Those of a family that are not ranked."""
    for fate in (FILTERED, UNRANKED, BAD) if encoded.fates is not None else ():
        yield from _told(at[encoded.fates == fate], planned.family.fingerprint, fate, lateness)
    for query, mine in encoded.unranked_at.items():
        yield from _told(mine, planned.family.queries[query].name, UNRANKED, lateness)


def _told(at: Ints, whose: str, fate: int, lateness: Lateness) -> Iterator[pa.Table]:
    if len(at):
        found = lateness.times(at)
        # Without windows of time nobody is dropped, whenever it was.
        yield times_of(pa.table({"at": [0], "records": [len(at)]}) if found is None else found, whose, fate)


def of_stream(sent: pa.Table | None) -> pa.Table | None:
    """The times of all records."""
    if sent is None:
        return None
    mine = sent.filter((pc.field(WHOSE) == NOBODY) & (pc.field(FATE) == 0))
    return mine if len(mine) else None


class StreamFates:
    """Of one stream."""

    def __init__(self, families: Iterable[PlannedFamily]) -> None:
        # Buckets of one family have the same queries, or each its own.
        distinct = {(each.family.fingerprint, each.family.queries): each for each in families}
        self._planned = list(distinct.values())

    def count(self, sent: pa.Table | None, watermark: int, records: int) -> dict[str, dict[str, int]]:
        """By query. `records`: how many were let in."""
        told = _Told(SENT.empty_table() if sent is None else sent, watermark)
        found: dict[str, dict[str, int]] = {}
        for planned in self._planned:
            fates = told.of(planned, records)
            by_query = zip(*(each.tolist() for each in fates), strict=True)
            for query, counts in zip(planned.family.queries, by_query, strict=True):
                found[query.name] = dict(zip(FATES, counts, strict=True))
        return found


class _Told:
    """What was sent, as arrays."""

    def __init__(self, sent: pa.Table, watermark: int) -> None:
        self._watermark = watermark
        self._at, self._count = sent.column("at").to_numpy(), sent.column("records").to_numpy()
        self._fate = sent.column(FATE).to_numpy()
        self._whose = np.asarray(sent.column(WHOSE).to_pylist(), object)
        self._known = set(self._whose.tolist())
        self._old = np.flatnonzero(self._at < watermark)

    def of(self, planned: PlannedFamily, records: int) -> tuple[Ints, ...]:
        """By query, in the order of `FATES`."""
        family = planned.family
        gone, each = self._gone(planned), np.ones(len(family.queries), np.int64)
        bad, late_bad = self._split(gone, family.fingerprint, BAD)
        filtered, late_filtered = self._split(gone, family.fingerprint, FILTERED)
        unranked, late_unranked = self._split(gone, family.fingerprint, UNRANKED)
        own = [self._split(gone[[n]], query.name, UNRANKED) for n, query in enumerate(family.queries)]
        mine = np.array([total - int(late[0]) for total, late in own], np.int64)
        dropped = self._split(gone, NOBODY, 0)[1] - late_bad
        turned, missing = filtered - late_filtered, unranked - late_unranked + mine
        left_out, future = (self._split(gone, NOBODY, fate)[0] for fate in (BAD, FUTURE))
        ranked = records - bad - dropped - turned - missing
        return (left_out + bad) * each, future * each, dropped, turned, missing, ranked

    def _split(self, gone: Flags, whose: str, fate: int) -> tuple[int, Ints]:
        """How many there are; and by query, how many of them had been reported in all their windows."""
        if whose not in self._known:
            return 0, np.zeros(len(gone), np.int64)
        count = self._count * ((self._whose == whose) & (self._fate == fate))
        late: Ints = gone @ count[self._old]
        return int(count.sum()), late

    def _gone(self, planned: PlannedFamily) -> Flags:
        """By query, which of the old times had been reported in all their windows."""
        meta, at, queries = planned.meta, self._at[self._old], len(planned.family.queries)
        if planned.family.kind == "rows" or self._watermark == NEVER or not len(at):
            return np.zeros((queries, len(at)), bool)
        last = meta.window_ends(at)[1]
        if len(meta.query) != queries:
            last = np.maximum.reduceat(last, np.searchsorted(meta.query, np.arange(queries)))
        return last <= self._watermark
