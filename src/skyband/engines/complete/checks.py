"""The structures of the engines for complete data check themselves: lists of views, pools, partitions, stacks."""

from __future__ import annotations

import numpy as np

from skyband.engines.checks import check_best_first, check_heap, check_rising, check_shared_out, dominators
from skyband.engines.kernels.lists import kskyband, topband, toplist
from skyband.engines.kernels.lists.kskyband import Skyband
from skyband.engines.kernels.lists.topband import TopBand
from skyband.engines.kernels.lists.toplist import TopList
from skyband.engines.kernels.sap import savl as stacks, state as sap
from skyband.engines.kernels.sap.savl import Savl
from skyband.engines.kernels.sap.state import Plan, State
from skyband.engines.kernels.shared import state as shared
from skyband.engines.kernels.shared.state import BLOCK, Shared
from skyband.model import Ints, Keys

NOBODY = -1


def check_skyband(band: Skyband, size: Ints, k: int) -> None:
    """Best first, each with the newer ones that outrank it, fewer than k."""
    n = int(size[kskyband.KEPT])
    score, id = band.score[:n], band.id[:n]
    check_best_first(score, id, "skyband")
    assert (band.dominators[:n] == dominators(score, id)).all(), "skyband: dominators are miscounted"
    assert (band.dominators[:n] < k).all(), "skyband: a record with k dominators"


# ------------------------------------------------------------------------------------------------------ lists of views


def check_band(state: TopBand) -> None:
    """The list of every view, best first; the pool counts how many refer to an object; other slots are free."""
    pool, lists, views, size = state.pool, state.lists, state.views, state.size
    n = int(size[topband.VIEWS])
    _check_views(views.start[:n], views.first_window[:n], views.last_window[:n], int(size[topband.WINDOWS]))
    referred, places = np.zeros(len(pool.id), np.int64), np.zeros(int(size[topband.PLACES]), np.int64)
    for v in range(n):
        place, length = int(views.place[v]), int(views.length[v])
        assert length <= min(int(views.room[v]), int(views.k[v])), "view: longer than its room, or than k"
        places[place : place + int(views.room[v])] += 1
        slot = lists.slot[place : place + length]
        np.add.at(referred, slot, 1)
        assert (pool.score[slot] == lists.score[place : place + length]).all(), "view: a score that is not its object's"
        check_best_first(pool.score[slot], pool.id[slot], "view")
        assert (pool.at[slot] >= views.start[v]).all(), "view: an object from before it began"
        mine = slice(int(views.first_window[v]), int(views.last_window[v]))
        assert views.k[v] == state.windows.k[mine].max(), "view: wants another k than its windows"
        assert views.due[v] == state.windows.end[mine].min(), "view: is due at another time than its windows"
    assert (places <= 1).all(), "view: two lists in one place"
    assert (referred == pool.references).all(), "pool: references are miscounted"
    used, free = np.flatnonzero(referred), pool.free[: size[topband.FREE]]
    assert len(used) == size[topband.OBJECTS], "pool: objects are miscounted"
    check_shared_out([*used.tolist(), *free.tolist()], len(pool.id), "pool: slots")


def check_list(state: TopList) -> None:
    """The list, best first, and every view's pointer to its k-th best; nothing in the list that no view wants."""
    listed, views, size = state.listed, state.views, state.size
    n, m = int(size[toplist.LISTED]), int(size[toplist.VIEWS])
    assert size[toplist.RECENT] == 0, "list: newcomers wait between two calls"
    check_best_first(listed.score[:n], listed.id[:n], "list")
    _check_views(views.start[:m], views.first_window[:m], views.last_window[:m], int(size[toplist.WINDOWS]))
    wanted = np.zeros(n, bool)
    for v in range(m):
        mine, k = np.flatnonzero(listed.at[:n] >= views.start[v]), int(views.k[v])
        full = len(mine) >= k
        assert views.low[v] == (mine[k - 1] if full else n), "list: a pointer is not at its view's k-th best"
        assert views.held[v] == min(len(mine), k), "list: a view miscounts its records"
        wanted[mine[:k]] = True
    assert wanted.all(), "list: a record that no view wants"


def _check_views(start: Ints, first: Ints, last: Ints, windows: int) -> None:
    """By start; their windows side by side, each view with one at least."""
    check_rising(start, "views: starts")
    assert (first < last).all(), "views: one without a window"
    assert [0, *last.tolist()] == [*first.tolist(), windows], "views: windows that belong to none, or to two"


# --------------------------------------------------------------------------------------------------------- partitions


def check_stacks(savl: Savl, ranked: bool) -> None:
    """Every record on one stack; on it the better above the worse, and (unless `ranked`) the older above the newer;
    the tops of finished stacks are a heap, those under construction stand worst first."""
    mark = savl.mark
    nodes, heap, fresh = int(mark[stacks.NODES]), savl.heap[: mark[stacks.HEAP]], savl.fresh[: mark[stacks.FRESH]]
    met = list[int]()
    for top in [*heap.tolist(), *fresh.tolist()]:
        node = top
        while node != NOBODY:
            met.append(node)
            under = int(savl.below[node])
            if under != NOBODY:
                above, below = _rank(savl, node), _rank(savl, under)
                assert above > below, "stacks: a worse record on a better one"
                assert ranked or (above[0] > below[0] and above[1] < below[1]), "stacks: a newer record on an older one"
            node = under
    assert len(set(met)) == len(met), "stacks: a record is on two"
    assert len(met) == nodes - mark[stacks.POPPED], "stacks: records are miscounted"
    assert not met or max(met) < nodes, "stacks: a record that was never pushed"
    check_heap(savl.score, savl.seq, heap, "stacks: tops")
    check_rising(savl.score[fresh], "stacks: tops under construction")


def _rank(savl: Savl, node: int) -> tuple[float, int]:
    return savl.score[node].item(), int(savl.seq[node])


def check_sap(state: State, plan: Plan) -> None:
    """Candidates best first, partitions and units one behind the other, the stacks of the front."""
    size, parts, units = state.size, state.parts, state.units
    n, u, first, next_ = int(size[sap.PARTS]), int(size[sap.UNITS]), int(size[sap.FIRST]), int(size[sap.NEXT])
    assert size[sap.BASE] <= first <= next_ <= size[sap.FILLED], "window: its ends are out of order"
    low, high = first - int(size[sap.BASE]), next_ - int(size[sap.BASE])
    check_rising(state.at[low:high], "window: times")
    for name, ranked, length in (
        ("best of the open partition", state.best, sap.BEST),
        ("best of its finished units", state.past, sap.PAST),
        ("front", state.front, sap.FRONT),
    ):
        _check_candidates(state, ranked.score[: size[length]], ranked.seq[: size[length]], name)
    rest = slice(0, int(size[sap.REST]))
    _check_candidates(state, state.rest.score[rest], state.rest.seq[rest], "candidates")
    assert (state.rest.dominators[rest] < plan.k).all(), "candidates: one with k dominators"
    assert size[sap.BEST] == min(plan.k, next_ - int(size[sap.OPEN])), "best of the open partition: not its best k"
    assert (parts.lo[1:n] == parts.hi[: n - 1]).all() if n else True, "partitions: a gap between two"
    assert not n or parts.hi[n - 1] == size[sap.OPEN], "partitions: a gap before the open one"
    assert (units.lo[1:u] == units.hi[: u - 1]).all() if u else True, "units: a gap between two"
    check_stacks(state.savl, not plan.stacks)
    check_stacks(state.coming, not plan.stacks)


def _check_candidates(state: State, score: Keys, seq: Ints, what: str) -> None:
    """Best first; a number stands for the record that has it."""
    check_best_first(score, seq, what)
    alive = seq >= state.size[sap.FIRST]
    assert (seq < state.size[sap.NEXT]).all(), f"{what}: a record that never came"
    own = state.score[seq[alive] - state.size[sap.BASE]]
    assert (own == score[alive]).all(), f"{what}: a score that is not its record's"


def check_shared(state: Shared, most: int) -> None:
    """Runs inside the pool, apart from each other and in order; the best K from each partition on; the open one."""
    pool, parts, number = state.pool, state.parts, state.number
    n = int(number[shared.PARTS])
    taken = np.zeros(len(pool.score), np.int64)
    for p in range(n):
        begin, size = int(parts.begin[p]), int(parts.size[p])
        assert begin % BLOCK == 0, "pool: a run that begins inside a block"
        assert begin + size <= len(pool.score), "pool: a run that leaves it"
        taken[begin : begin + -(-size // BLOCK) * BLOCK] += 1
        _check_run(state, p, slice(begin, begin + size))
        for low in range(0, size, BLOCK):
            inside = pool.at[begin + low : begin + min(low + BLOCK, size)]
            if parts.ordered[p]:
                assert pool.newest[(begin + low) // BLOCK] >= inside.max(), "pool: a block is newer than it says"
        held = slice(int(parts.suffix[p]), int(parts.suffix[p] + parts.suffix_size[p]))
        assert held.stop - held.start <= most, "suffix: more than K"
        check_best_first(state.suffix.score[held], state.suffix.id[held], "suffix")
    assert (taken <= 1).all(), "pool: two runs in one place"
    check_rising(parts.first[:n], "partitions: first times")
    assert (parts.first[:n] <= parts.last[:n]).all(), "partitions: one ends before it begins"
    assert (parts.last[: n - 1] <= parts.first[1:n]).all() if n else True, "partitions: one begins before another ends"
    check_rising(state.tail.at[: number[shared.TAIL]], "open partition: times")
    front = slice(0, int(number[shared.FRONT]))
    check_best_first(state.front.score[front], state.front.id[front], "open partition: its best")


def _check_run(state: Shared, p: int, part: slice) -> None:
    pool, parts, at = state.pool, state.parts, state.pool.at[part]
    if parts.ordered[p]:
        check_best_first(pool.score[part], pool.id[part], "run")
    else:
        check_rising(-pool.id[part], "run: newest first", strictly=True)
    assert ((at >= parts.first[p]) & (at <= parts.last[p])).all(), "run: a record from outside its partition"
