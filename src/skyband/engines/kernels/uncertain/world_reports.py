"""The loop of the engine `pk_topk`: records into runs, and at each report every semantics asked of the window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.uncertain.pk_topk import Asks, ordered, scan_plain, scan_rules
from skyband.engines.kernels.uncertain.ranks import TAKEN, Ranked, Store, leave_out, new_ranked, rewind, take_in
from skyband.engines.kernels.uncertain.world_lists import likeliest_list
from skyband.engines.kernels.uncertain.world_ranks import likeliest_holders, smallest_expected_ranks
from skyband.engines.kernels.uncertain.world_sources import likeliest_sources
from skyband.engines.kernels.uncertain.worlds import new_scan
from skyband.model.types import Floats, Ints

PK_TOPK, PT_K, U_TOPK, U_KRANKS, EXPECTED_RANK, PK_STREAMS = range(6)
PASSES, SCANNED, ENTRIES, LEFT_OUT, MERGED = range(5)
"""Places in the board of work: scans of windows, records they read, distribution entries, records left out because
their rule exceeded 1, records put into runs."""


class Due(NamedTuple):
    """Reports by end; those over one window stand side by side."""

    start: Ints
    end: Ints
    k: Ints
    kind: Ints
    level: Floats


class Lists(NamedTuple):
    """Report i has `size[i]` entries from `begin[i]` on; equal asks share them."""

    slot: Ints
    value: Floats
    begin: Ints
    size: Ints


@kernel
def report_worlds(store: Store, due: Due, longest: int, likely: float, plain: bool, board: Ints) -> Lists:
    """Answer every report; `likely` is the largest p there is, `plain` that no record has a rule."""
    reports = len(due.end)
    out = Lists(np.empty(64, np.int64), np.empty(64), np.zeros(reports, np.int64), np.zeros(reports, np.int64))
    latest = np.full(len(store.total), -1)
    used = low = 0
    while low < reports:
        high = low + 1
        while high < reports and due.end[high] == due.end[low] and due.start[high] == due.start[low]:
            high += 1
        start, end = due.start[low], due.end[low]
        board[MERGED] += take_in(store, end, end - longest)
        taken = store.sizes[TAKEN]
        first = np.searchsorted(store.at[:taken], start)
        if first < taken:
            board[LEFT_OUT] += leave_out(store, first, taken)
            out, used = _top(out, used, store, due, low, high, first, taken, latest, likely, plain, board)
            out, used = _others(out, used, store, due, low, high, first, taken, latest, plain, board)
            for i in range(low, high):
                same = shares(due, low, i)
                out.begin[i], out.size[i] = out.begin[same], min(out.size[same], most_of(due, i))
        low = high
    return Lists(out.slot[:used], out.value[:used], out.begin, out.size)


@kernel
def shares(due: Due, low: int, i: int) -> int:
    """The first report of this window that has the answer to report i: one that asks the same, or of the semantics
    whose smaller answers are beginnings of larger ones, the largest. (The largest k stands first.)"""
    if due.kind[i] == U_KRANKS or due.kind[i] == EXPECTED_RANK:
        for j in range(low, i):
            if due.kind[j] == due.kind[i]:
                return j
        return i
    first = i
    for j in range(i - 1, low - 1, -1):
        if due.k[j] != due.k[i]:
            break
        if due.kind[j] == due.kind[i] and due.level[j] == due.level[i]:
            first = j
    return first


@kernel
def most_of(due: Due, i: int) -> int:
    """How many records report i may have: PT_K has no limit."""
    return 2**62 if due.kind[i] == PT_K else int(due.k[i])


@kernel
def _top(
    out: Lists, used: int, store: Store, due: Due, low: int, high: int, first: int, last: int, latest: Ints,
    likely: float, plain: bool, board: Ints,
) -> tuple[Lists, int]:  # fmt: skip
    """All of PK_TOPK and PT_K, every k, from one scan."""
    wanted = np.empty(high - low, np.int64)
    count = most = 0
    for i in range(low, high):
        if due.kind[i] <= PT_K and shares(due, low, i) == i:
            wanted[count] = i
            most = max(most, due.k[i])
            count += 1
    if count == 0:
        return out, used
    wanted = wanted[:count]
    asks = Asks(due.k[wanted], due.level[wanted])
    n = last - first
    ranked, scan = new_ranked(n), new_scan(n, most, False)
    start = due.start[low]
    if plain:
        found = scan_plain(asks, scan.tally, store, start, ranked, latest, likely, scan.work)
    else:
        found = scan_rules(asks, scan, store, start, ranked, latest)
    for a in range(count):
        place, value = ordered(found, a)
        out, used = write_list(out, used, wanted[a], ranked, place, value)
    count_pass(board, ranked, scan.work[0])
    rewind(store, ranked, latest)
    return out, used


@kernel
def _others(
    out: Lists, used: int, store: Store, due: Due, low: int, high: int, first: int, last: int, latest: Ints,
    plain: bool, board: Ints,
) -> tuple[Lists, int]:  # fmt: skip
    start, n = due.start[low], last - first
    for i in range(low, high):
        kind = due.kind[i]
        if kind <= PT_K or shares(due, low, i) < i:
            continue
        ranked = new_ranked(n)
        work = 0
        if kind == U_KRANKS:
            scan = new_scan(n, due.k[i], True)
            place, value = likeliest_holders(scan, store, start, ranked, latest, due.k[i], plain)
            work = scan.work[0]
        elif kind == PK_STREAMS:
            scan = new_scan(n, due.k[i], False)
            place, value = likeliest_sources(scan, store, start, ranked, latest, due.k[i], plain)
            work = scan.work[0]
        elif kind == EXPECTED_RANK:
            place, value = smallest_expected_ranks(store, start, first, last, ranked, latest, due.k[i])
        else:
            place, probability = likeliest_list(store, start, ranked, latest, due.k[i])
            value = np.full(len(place), probability)
        out, used = write_list(out, used, i, ranked, place, value)
        count_pass(board, ranked, work)
        rewind(store, ranked, latest)
    return out, used


@kernel
def write_list(out: Lists, used: int, report: int, ranked: Ranked, place: Ints, value: Floats) -> tuple[Lists, int]:
    size = len(place)
    if used + size > len(out.slot):
        slot, values = np.empty(2 * (used + size), np.int64), np.empty(2 * (used + size))
        slot[:used] = out.slot[:used]
        values[:used] = out.value[:used]
        out = Lists(slot, values, out.begin, out.size)
    out.slot[used : used + size] = ranked.slot[place]
    out.value[used : used + size] = value
    out.begin[report] = used
    out.size[report] = size
    return out, used + size


@kernel
def count_pass(board: Ints, ranked: Ranked, entries: int) -> None:
    board[PASSES] += 1
    board[SCANNED] += ranked.cursor[2]
    board[ENTRIES] += entries
