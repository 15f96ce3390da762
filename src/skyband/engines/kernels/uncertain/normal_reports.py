"""The loop of the engine `pk_normal`: records into runs, and at each report one integration for every k asked."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.uncertain.normal_scores import Normal, normal_answer, normal_top
from skyband.engines.kernels.uncertain.pk_topk import Asks
from skyband.engines.kernels.uncertain.ranks import TAKEN, Store, leave_out, new_ranked, rewind, take_in
from skyband.engines.kernels.uncertain.world_reports import (
    LEFT_OUT,
    MERGED,
    Due,
    Lists,
    count_pass,
    most_of,
    shares,
    write_list,
)
from skyband.model.types import Ints


@kernel
def report_normals(store: Store, normal: Normal, due: Due, longest: int, board: Ints) -> Lists:
    """Answer every report; all ask for top-k probabilities."""
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
            out, used = _answer(out, used, store, normal, due, low, high, taken - first, latest, board)
            for i in range(low, high):
                same = shares(due, low, i)
                out.begin[i], out.size[i] = out.begin[same], min(out.size[same], most_of(due, i))
        low = high
    return Lists(out.slot[:used], out.value[:used], out.begin, out.size)


@kernel
def _answer(
    out: Lists, used: int, store: Store, normal: Normal, due: Due, low: int, high: int, n: int, latest: Ints,
    board: Ints,
) -> tuple[Lists, int]:  # fmt: skip
    wanted = np.empty(high - low, np.int64)
    count = 0
    for i in range(low, high):
        if shares(due, low, i) == i:
            wanted[count] = i
            count += 1
    wanted = wanted[:count]
    asks, start, ranked = Asks(due.k[wanted], due.level[wanted]), due.start[low], new_ranked(n)
    work = np.zeros(1, np.int64)
    value = normal_top(asks, store, normal, start, ranked, latest, work)
    for a in range(count):
        place, figure = normal_answer(value[a], asks.k[a], asks.level[a], store, normal, start, ranked, latest)
        out, used = write_list(out, used, wanted[a], ranked, place, figure)
    count_pass(board, ranked, work[0])
    rewind(store, ranked, latest)
    return out, used
