"""Which points of a stretch can be among the best of some query, by what the stretch itself proves.

Points are taken one after the other, forwards or backwards; one that enters no query's k best of those taken before it
has k better ones on that side. Weighted sums are asked all at once (`dense`), other scores one by one.
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.grid.cells import is_odd
from skyband.engines.kernels.grid.dense import Dense, lower, mark
from skyband.engines.kernels.grid.result_lists import insert_ranked
from skyband.engines.kernels.grid.score import merit, qualifies
from skyband.engines.kernels.grid.state import Lists, Queries
from skyband.engines.kernels.jit import bare, inlined
from skyband.model.types import Floats, Ints

LONGEST = 4_096
"""Points after which floors are brought up to date, at the latest; at first, while they rise fast, far sooner."""


@bare
def mark_wanted(
    queries: Queries,
    lists: Lists,
    dense: Dense,
    others: Ints,
    x: Floats,
    reach: Floats,
    begin: int,
    end: int,
    backwards: bool,
    bit: Ints,
    wanted: Ints,
) -> None:
    """Set bit[q] in wanted[i] for points i in [begin, end) and queries q that might report i. `others` are the queries
    without a lane; values that are ordinary numbers lie within `reach`."""
    for q in range(len(lists.size)):
        lists.size[q] = 0
        lists.floor[q] = -np.inf
        lists.whole[q] = True
        lists.stale[q] = False
    due = 1
    for step in range(end - begin):
        i = end - 1 - step if backwards else begin + step
        if step == due:
            lower(dense, queries, lists, reach)
            due += min(due, LONGEST)
        if step == 0 or is_odd(x, i):
            for q in range(len(lists.size)):
                if queries.alive[q] and enters(queries, lists, q, x, i, step):
                    wanted[i] |= bit[q]
            continue
        if len(dense.floor) and mark(dense, x, i):
            for lane in range(len(dense.hit)):
                if dense.hit[lane] and enters(queries, lists, dense.query[lane], x, i, step):
                    wanted[i] |= bit[dense.query[lane]]
        for q in others:
            if enters(queries, lists, q, x, i, step):
                wanted[i] |= bit[q]


@inlined
def enters(queries: Queries, lists: Lists, q: int, x: Floats, i: int, number: int) -> bool:
    """Whether the point counts for the query and fewer than k better ones were taken before it. Equal scores do not
    count against each other: which is better may hang on more than can be seen here."""
    score = merit(queries, q, x, i)
    if queries.threshold[q] == queries.threshold[q]:
        return bool(score > queries.threshold[q] and qualifies(queries, q, x, i))
    if not score >= lists.floor[q] or not qualifies(queries, q, x, i):
        return False
    insert_ranked(lists, q, queries.k[q], score, number)
    last = lists.begin[q] + lists.size[q] - 1
    if lists.size[q] == queries.k[q]:
        lists.whole[q] = False
        lists.floor[q] = lists.score[last]
    return True
