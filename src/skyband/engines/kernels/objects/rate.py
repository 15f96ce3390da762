"""An approximate report against the exact one of a sample of objects."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.model.types import Floats, Ints


@kernel
def rate(
    begin: Ints, size: Ints, who: Ints, score: Floats, k: Ints,
    true_begin: Ints, true_size: Ints, true_who: Ints, true_score: Floats, weight: float, usual: float,
) -> tuple[Floats, Ints, Floats]:  # fmt: skip
    """Per report: how long the true list is, how many of its objects were missed, by how much its scores are above
    those reported, and their sum. And the objects that were missed, with how many each stands for.

    An object of the sample that was not reported stands for `weight` objects, if it is among the true best k: the
    objects ahead of it are those reported ahead of it and those missed. The sample knows the missed ones if it is
    everybody; otherwise they are as many as the `usual` precision says."""
    n = len(begin)
    board = np.zeros((n, 4))
    room = 0
    for r in range(n):
        room += true_size[r]
    missed, stands = np.empty(room, np.int64), np.empty(room)
    found = 0
    for r in range(n):
        first, length = begin[r], size[r]
        ahead, before, lost, above, reported = 0, 0.0, 0.0, 0.0, 0.0
        for x in range(length):
            reported += score[first + x]
        for j in range(true_begin[r], true_begin[r] + true_size[r]):
            own = -1
            for x in range(length):
                if who[first + x] == true_who[j]:
                    own = x
                    break
            if own >= 0:
                # Reported: only what it was reported too low by is lost.
                above += weight * max(true_score[j] - score[first + own], 0.0)
                continue
            while ahead < length and score[first + ahead] > true_score[j]:
                ahead += 1
            level = ahead
            while level < length and score[first + level] == true_score[j]:
                level += 1
            # Of those with the same score half are newer.
            middle = 0.5 * (ahead + level)
            others = before if weight == 1.0 else middle * (1.0 - usual) / usual
            part = weight * min(max(k[r] - middle - others, 0.0), 1.0)
            if part <= 0.0:
                break
            before += 1.0
            lost += part
            above += part * true_score[j]
            missed[found], stands[found] = true_who[j], part
            found += 1
        # For each one missed a full list holds one that is not among the best, from its end.
        spare = before if weight == 1.0 else max(np.ceil((1.0 - usual) * k[r]), 1.0)
        last = max(length - int(spare), 0)
        if length == k[r] and lost > 0.0:
            displaced = 0.0
            for x in range(last, length):
                displaced += score[first + x]
            above -= lost * displaced / (length - last)
        board[r, 0] = min(float(k[r]), length + lost)
        board[r, 1] = lost
        board[r, 2] = above
        board[r, 3] = reported + above
    return board, missed[:found], stands[:found]
