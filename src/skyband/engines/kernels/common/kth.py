"""The k-th best score of every stretch of a sequence of cells: what a sample proves about windows."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.order_key import least
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys


@kernel
def kth_best_of_runs(score: Keys, order: Ints, begin: Ints, length: int, k: int) -> Keys:
    """Run r covers the cells r - length .. r - 1 (those beyond the ends are empty), and cell c holds
    score[begin[c]:begin[c + 1]]. The k-th best score of every run from 0 on; the least there is where a run has fewer
    than k. `order` are the places of scores from the worst up.

    Scores are numbered from the worst up. Which of them a run holds is counted in a Fenwick tree over these numbers, so
    that a score that enters or leaves and the search for the k-th cost log n each.
    """
    n, cells = len(score), len(begin) - 1
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    top = 1
    while 2 * top <= n:
        top *= 2
    tree = np.zeros(n + 1, np.int64)
    held = 0
    found = np.full(cells + length + 1, least(score))
    for run in range(1, cells + length):
        if run <= cells:
            for i in range(begin[run - 1], begin[run]):
                _add(tree, number[i] + 1, 1)
            held += begin[run] - begin[run - 1]
        gone = run - length - 1
        if gone >= 0:
            for i in range(begin[gone], begin[gone + 1]):
                _add(tree, number[i] + 1, -1)
            held -= begin[gone + 1] - begin[gone]
        if held >= k:
            found[run] = score[order[_select(tree, top, held - k)]]
    return found


@kernel
def _add(tree: Ints, place: int, change: int) -> None:
    while place < len(tree):
        tree[place] += change
        place += place & -place


@kernel
def _select(tree: Ints, step: int, before: int) -> int:
    """The number of the score that has `before` worse ones in the tree."""
    place = 0
    while step > 0:
        if place + step < len(tree) and tree[place + step] <= before:
            place += step
            before -= tree[place]
        step //= 2
    return place
