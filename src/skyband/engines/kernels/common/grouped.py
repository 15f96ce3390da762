"""Many small groups at once: every group's candidates side by side, its reports and what may be forgotten, in one pass.

Rows lie by group and, inside a group, in feed order (so the later of two equal scores is the better).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import exceeds, least
from skyband.engines.kernels.common.pane import best_of_pane, no_guess, sort_ranked
from skyband.engines.kernels.common.sliding import FEW, moment_after, oldest_of, ranked
from skyband.engines.kernels.jit import inlined, kernel
from skyband.model.types import Flags, Ints, Keys

NEVER_ENDS = 2**62


class Beats(NamedTuple):
    """One query each. A report is due at moments congruent to `phase`; `grace` longer after the last record."""

    width: Ints
    period: Ints
    phase: Ints
    k: Ints
    grace: Ints
    threshold: Keys
    sign: float
    final: Ints
    """There are no reports behind it."""
    quiet: Flags
    """Where changes are sent of windows without a start: of the reports between two records one is made."""


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
def report_groups(
    begin: Ints, at: Ints, score: Keys, after: Ints, until: Ints, beats: Beats, thresholds: bool
) -> GroupReports:
    """Every report in (after, until] of every group; group g has the rows begin[g] : begin[g + 1]. Counted first: then
    there is room for all of them."""
    reports, entries = _count(begin, at, score, after, until, beats, thresholds)
    group = np.empty(reports, np.int64)
    beat = np.empty(reports, np.int64)
    start = np.empty(reports, np.int64)
    ends = np.empty(reports, np.int64)
    first = np.empty(reports, np.int64)
    size = np.empty(reports, np.int64)
    row = np.empty(entries, np.int64)
    report = 0
    used = 0
    largest = FEW
    for g in range(len(begin) - 1):
        largest = max(largest, begin[g + 1] - begin[g])
    out = np.empty(largest, score.dtype)
    index = np.empty(largest, np.int64)
    for g in range(len(begin) - 1):
        low, high = begin[g], begin[g + 1]
        if low == high:
            continue
        for b in range(len(beats.width)):
            width, period, phase, grace = beats.width[b], beats.period[b], beats.phase[b], beats.grace[b]
            k = beats.k[b]
            few = not thresholds and k <= FEW
            last = min(until[g], at[high - 1] + width + grace, beats.final[b])
            held, seen, oldest = 0, low, low
            i, j, end = low, low, moment_after(max(after[g], at[low]), period, phase)
            while True:
                i, j, end = _next_window(at, low, high, i, j, end, width, period, phase, grace)
                if end > last:
                    break
                found = 0
                if few:
                    if oldest < i or seen < i:
                        held, seen, oldest = 0, i, i
                    for n in range(seen, j):
                        held = ranked(out, index, held, k, score[n], n)
                    if seen < j:
                        oldest = oldest_of(index, held)
                    seen = j
                    found = held
                elif i < j and thresholds:
                    found = _above(score, i, j, beats.threshold[b], beats.sign, out, index)
                elif i < j:
                    found = _best(score, i, j, k, out, index)
                group[report] = g
                beat[report] = b
                start[report] = end - width
                ends[report] = end
                first[report] = used
                size[report] = found
                for n in range(found):
                    row[used + n] = index[n]
                used += found
                report += 1
                end = _next_end(at, high, j, end, period, phase, beats.quiet[b])
    return GroupReports(group, beat, start, ends, first, size, row)


@kernel
def _count(
    begin: Ints, at: Ints, score: Keys, after: Ints, until: Ints, beats: Beats, thresholds: bool
) -> tuple[int, int]:
    """How many reports there are, and how many entries they have."""
    reports = 0
    entries = 0
    for g in range(len(begin) - 1):
        low, high = begin[g], begin[g + 1]
        if low == high:
            continue
        for b in range(len(beats.width)):
            width, period, phase, grace = beats.width[b], beats.period[b], beats.phase[b], beats.grace[b]
            last = min(until[g], at[high - 1] + width + grace, beats.final[b])
            i, j, end = low, low, moment_after(max(after[g], at[low]), period, phase)
            while True:
                i, j, end = _next_window(at, low, high, i, j, end, width, period, phase, grace)
                if end > last:
                    break
                if thresholds:
                    for n in range(i, j):
                        entries += exceeds(score[n], beats.threshold[b], beats.sign)
                else:
                    entries += min(j - i, beats.k[b])
                reports += 1
                end = _next_end(at, high, j, end, period, phase, beats.quiet[b])
    return reports, entries


@inlined
def _next_end(at: Ints, high: int, j: int, end: int, period: int, phase: int, quiet: bool) -> int:
    """Where to look for the next report after the one at `end`, which had the rows before j."""
    if not quiet:
        return end + period
    return moment_after(max(at[j], end), period, phase) if j < high else NEVER_ENDS


@inlined
def _next_window(
    at: Ints, low: int, high: int, i: int, j: int, end: int, width: int, period: int, phase: int, grace: int
) -> tuple[int, int, int]:
    """The first moment from `end` on that has a report, and the rows [i, j) of its window, from those of an earlier
    one; NEVER_ENDS if there is none."""
    while True:
        while i < high and at[i] < end - width:
            i += 1
        while j < high and at[j] < end:
            j += 1
        if i < j or (i > low and at[i - 1] + width + grace >= end):
            return i, j, end
        if j == high:
            return i, j, NEVER_ENDS
        end = moment_after(max(at[j], end), period, phase)


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
