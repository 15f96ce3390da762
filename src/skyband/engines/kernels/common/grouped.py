"""Many small groups at once: every group's candidates side by side, its reports and what may be forgotten, in one pass.

Rows lie by group and, inside a group, in feed order (so the later of two equal scores is the better).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import exceeds, least
from skyband.engines.kernels.common.pane import best_of_pane, no_guess, sort_ranked
from skyband.engines.kernels.common.run import first_at_or_after
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Flags, Ints, Keys


class Beats(NamedTuple):
    """One query each. A report is due at moments congruent to `phase`; `grace` longer after the last record."""

    width: Ints
    period: Ints
    phase: Ints
    k: Ints
    grace: Ints
    threshold: Keys
    sign: float


class GroupReports(NamedTuple):
    """Report i: `group`, `beat`, window [start, end), answered by `size` entries of `row` from `begin` on."""

    group: Ints
    beat: Ints
    start: Ints
    end: Ints
    begin: Ints
    size: Ints
    row: Ints


@kernel
def _wider(column: Ints, used: int, more: int) -> Ints:
    if used + more <= len(column):
        return column
    wider = np.empty(max(2 * len(column), used + more), np.int64)
    wider[:used] = column[:used]
    return wider


@kernel
def _after(moment: int, period: int, phase: int) -> int:
    """The first moment of the beat later than `moment`."""
    return moment + 1 + (phase - (moment + 1)) % period


@kernel
def report_groups(
    begin: Ints, at: Ints, score: Keys, after: Ints, until: Ints, beats: Beats, thresholds: bool
) -> GroupReports:
    """Every report in (after, until] of every group; group g has the rows begin[g] : begin[g + 1]."""
    group = np.empty(64, np.int64)
    beat = np.empty(64, np.int64)
    start = np.empty(64, np.int64)
    ends = np.empty(64, np.int64)
    first = np.empty(64, np.int64)
    size = np.empty(64, np.int64)
    row = np.empty(64, np.int64)
    reports = 0
    used = 0
    largest = 0
    for g in range(len(begin) - 1):
        largest = max(largest, begin[g + 1] - begin[g])
    out = np.empty(max(largest, 1), score.dtype)
    index = np.empty(max(largest, 1), np.int64)
    for g in range(len(begin) - 1):
        low, high = begin[g], begin[g + 1]
        if low == high:
            continue
        times = at[low:high]
        for b in range(len(beats.width)):
            width, period, phase, grace = beats.width[b], beats.period[b], beats.phase[b], beats.grace[b]
            end = _after(max(after[g], times[0]), period, phase)
            i = 0
            j = 0
            while end <= until[g] and end <= times[-1] + width + grace:
                i = first_at_or_after(times, i, end - width)
                j = first_at_or_after(times, j, end)
                in_grace = i == j and i > 0 and times[i - 1] + width + grace >= end
                if i == j and not in_grace:
                    if j == len(times):
                        break
                    end = _after(max(times[j], end), period, phase)
                    continue
                found = 0
                if i < j:
                    if thresholds:
                        found = _above(score, low + i, low + j, beats.threshold[b], beats.sign, out, index)
                    else:
                        found = _best(score, low + i, low + j, beats.k[b], out, index)
                group = _wider(group, reports, 1)
                beat = _wider(beat, reports, 1)
                start = _wider(start, reports, 1)
                ends = _wider(ends, reports, 1)
                first = _wider(first, reports, 1)
                size = _wider(size, reports, 1)
                row = _wider(row, used, found)
                group[reports] = g
                beat[reports] = b
                start[reports] = end - width
                ends[reports] = end
                first[reports] = used
                size[reports] = found
                row[used : used + found] = index[:found]
                used += found
                reports += 1
                end += period
    return GroupReports(
        group[:reports],
        beat[:reports],
        start[:reports],
        ends[:reports],
        first[:reports],
        size[:reports],
        row[:used],
    )


@kernel
def _best(score: Keys, low: int, high: int, k: int, out: Keys, index: Ints) -> int:
    """The best k of score[low:high], best first, by row."""
    if high - low <= k:
        for i in range(low, high):
            out[i - low] = score[i]
            index[i - low] = i
        sort_ranked(out, index, high - low)
        return high - low
    return best_of_pane(score, low, high, k, least(score), no_guess(score), out, index)


@kernel
def _above(score: Keys, low: int, high: int, threshold: float, sign: float, out: Keys, index: Ints) -> int:
    """Everything above the threshold, best first, by row."""
    n = 0
    for i in range(low, high):
        if exceeds(score[i], threshold, sign):
            out[n] = score[i]
            index[n] = i
            n += 1
    sort_ranked(out, index, n)
    return n


@kernel
def still_needed(begin: Ints, at: Ints, score: Keys, until: Ints, beats: Beats, most: int, thresholds: bool) -> Flags:
    """Which rows a report after `until` may contain: a window of theirs is open, and (unless thresholds decide) fewer
    than `most` better ones came later, all of which outlive them."""
    keep = np.zeros(len(at), np.bool_)
    best = np.empty(min(most, len(at)), score.dtype)
    for g in range(len(begin) - 1):
        held = 0
        for i in range(begin[g + 1] - 1, begin[g] - 1, -1):
            if not _open(at[i], until[g], beats):
                break
            if thresholds or held < len(best) or score[i] > best[held - 1]:
                keep[i] = True
                if not thresholds:
                    held = _noted(best, held, score[i])
    return keep


@kernel
def _noted(best: Keys, held: int, score: float) -> int:
    """Insert a score into the best seen, which are sorted; of more than there is room for the worst goes."""
    if held < len(best):
        held += 1
    i = held - 1
    while i > 0 and best[i - 1] < score:
        best[i] = best[i - 1]
        i -= 1
    best[i] = score
    return held


@kernel
def _open(at: int, until: int, beats: Beats) -> bool:
    for b in range(len(beats.width)):
        last = at + beats.width[b] - (at + beats.width[b] - beats.phase[b]) % beats.period[b]
        if last > until:
            return True
    return False
