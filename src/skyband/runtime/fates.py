"""What becomes of the records that a stream lets in, for each query: the first that applies of bad (to this query
alone), dropped, filtered, unranked and ranked. Who is pruned was ranked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skyband.model import NEVER, Flags, Ints, MetaQuery

RANKED, UNRANKED, FILTERED, BAD = range(4)
FATES = ("bad", "future", "dropped", "filtered", "unranked", "ranked")
"""What a record can be to a query: the first of these that applies."""
Fates = NDArray[np.int8]
"""Of each record, as far as its time does not matter."""


class Lost(NamedTuple):
    """By query: records that were late, those of which all windows had been reported, those that a filter turned away,
    and those without a score."""

    late: Ints
    dropped: Ints
    filtered: Ints
    unranked: Ints


def fates_of(passes: Flags | None, missing: Flags | None, sound: Flags | None = None) -> Fates | None:
    """Of records that pass a filter (None: all), have no score (None: none), are not bad; None if all are ranked."""
    told = [each for each in (passes, missing, sound) if each is not None]
    if not told:
        return None
    found = np.zeros(len(told[0]), np.int8)
    if sound is not None:
        found[~sound] = BAD
    if missing is not None:
        found[missing] = UNRANKED
    if passes is not None:
        found[~passes] = FILTERED
    return found


def lost_in_time(meta: MetaQuery, at: Ints, watermark: int, fates: Fates | None) -> Lost:
    """A record is late to a query if some window of it was reported by the watermark, dropped if all were."""
    queries = int(meta.query.max(initial=-1)) + 1
    if watermark == NEVER:
        return lost_of(queries, fates)
    old = at < watermark
    first, last = meta.window_ends(at[old])
    if len(meta.query) and len(meta.query) != queries:
        # Several beats make up a query's reports.
        begin = np.searchsorted(meta.query, np.arange(queries))
        first, last = np.minimum.reduceat(first, begin), np.maximum.reduceat(last, begin)
    mine = None if fates is None else fates[old]
    return lost_by(first <= watermark, last <= watermark, lost_of(queries, fates), mine)


def lost_of(queries: int, fates: Fates | None) -> Lost:
    """Where nothing is late."""
    each = np.zeros(4, np.int64) if fates is None else np.bincount(fates, minlength=4)
    none = np.zeros(queries, np.int64)
    return Lost(none, none, np.full(queries, each[FILTERED]), np.full(queries, each[UNRANKED]))


def lost_by(late: Flags, gone: Flags, whole: Lost, fates: Fates | None) -> Lost:
    """`late` and `gone`: by query, which of some records are so; the others are not. `whole`: if none was."""
    if fates is None:
        return whole._replace(late=late.sum(axis=1), dropped=gone.sum(axis=1))
    gone = gone & (fates != BAD)
    counted = (late & (fates != BAD)).sum(axis=1), gone.sum(axis=1)
    filtered, unranked = ((gone & (fates == each)).sum(axis=1) for each in (FILTERED, UNRANKED))
    return Lost(*counted, whole.filtered - filtered, whole.unranked - unranked)
