"""Ranked runs: arrays of candidates sorted best first, and what can be done with two of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.select import copy_into
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys


class Run(NamedTuple):
    """Candidates, best first. `born` numbers the newest view that was open when the candidate arrived."""

    score: Keys
    at: Ints
    id: Ints
    born: Ints


class Output(NamedTuple):
    """Answers under construction: report i has `size[i]` entries from `begin[i]` on; reports may share entries."""

    id: Ints
    score: Keys
    begin: Ints
    size: Ints


@kernel
def new_output(reports: int, score: Keys) -> Output:
    """For scores of the type of these."""
    return Output(
        np.empty(64, np.int64), np.empty(64, score.dtype), np.empty(reports, np.int64), np.empty(reports, np.int64)
    )


@kernel
def finished(out: Output, used: int) -> Output:
    return Output(out.id[:used], out.score[:used], out.begin, out.size)


@kernel
def new_run(size: int, score: Keys) -> Run:
    return Run(
        np.empty(size, score.dtype), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    )


@kernel
def copy_entry(source: Run, i: int, target: Run, j: int) -> None:
    target.score[j] = source.score[i]
    target.at[j] = source.at[i]
    target.id[j] = source.id[i]
    target.born[j] = source.born[i]


@kernel
def outranks(a: Run, i: int, b: Run, j: int) -> bool:
    return bool(a.score[i] > b.score[j] or (a.score[i] == b.score[j] and a.id[i] > b.id[j]))


@kernel
def grown(out: Output, used: int, more: int) -> Output:
    """The same answers with room for `more` behind the first `used`."""
    if used + more <= len(out.id):
        return out
    size = max(2 * len(out.id), used + more)
    ids = np.empty(size, np.int64)
    scores = np.empty(size, out.score.dtype)
    copy_into(ids, out.id, used)
    copy_into(scores, out.score, used)
    return Output(ids, scores, out.begin, out.size)


@kernel
def report_two(a: Run, n: int, b: Run, m: int, start: int, k: int, out: Output, used: int) -> int:
    """Write the best k with at >= start of two runs; `out` has room. Returns how much of `out` is used now."""
    i = 0
    j = 0
    stop = used + k
    while used < stop:
        while i < n and a.at[i] < start:
            i += 1
        while j < m and b.at[j] < start:
            j += 1
        if i < n and (j == m or outranks(a, i, b, j)):
            out.id[used] = a.id[i]
            out.score[used] = a.score[i]
            i += 1
        elif j < m:
            out.id[used] = b.id[j]
            out.score[used] = b.score[j]
            j += 1
        else:
            return used
        used += 1
    return used


@kernel
def first_at_or_after(at: Ints, i: int, cut: int) -> int:
    """The first index from i on with at[index] >= cut. Gallops: the cut is usually near."""
    n = len(at)
    step = 1
    low = i
    while low + step <= n and at[low + step - 1] < cut:
        low += step
        step *= 2
    high = min(low + step, n)
    while low < high:
        middle = (low + high) // 2
        if at[middle] < cut:
            low = middle + 1
        else:
            high = middle
    return low
