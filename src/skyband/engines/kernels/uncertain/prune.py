"""Which uncertain records can be dropped before anything else is known of their windows: by pane, or for any window."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.kernels.uncertain.tally import at_most, clear, entry, put_in_row
from skyband.model.types import Flags, Floats, Ints

NEGLIGIBLE = 1e-15
NEGLIGIBLE_LOG = 34.54
"""-log of that."""


@kernel
def likely_enough(order: Ints, pane: Ints, score: Floats, p: Floats, rule: Ints, k: int) -> Flags:
    """Which records may matter; `order` sorts by pane, and inside one by score, highest first.

    Records of a pane share all their windows. Let B be the probability that at most k - 1 of those of a pane exist
    that have no rule and a score above some s. Once B ≤ 1e-15, all records of the pane with no rule and a score below s
    may go: with probability 1 - B there are k better ones, and then they neither are in the top k of any window nor
    decide who is. So no top-k probability changes by more than B for each pane that was cut. Records with a rule
    neither count, because a report may leave them out, nor go, because they may be why another is left out.
    """
    keep = np.ones(len(order), np.bool_)
    tally = at_most(1, k)
    last, enough, bar = -1, False, 0.0
    for i in order:
        if pane[i] != last:
            last, enough = pane[i], False
            clear(tally, 0)
        if rule[i] != NO_RULE:
            continue
        if enough:
            keep[i] = score[i] >= bar
            continue
        put_in_row(tally, 0, p[i])
        if entry(tally, 0, k - 1) <= NEGLIGIBLE:
            enough, bar = True, score[i]
    return keep


@kernel
def outranked_on_both_sides(at: Ints, score: Floats, p: Floats, rule: Ints, shortest: int, k: int) -> Flags:
    """Which records of a chunk in time order may matter, whenever the reports will be.

    A stretch no longer than the shortest window is cut by every window into a prefix, a suffix, or not at all. So a
    record may go if, both among those before it and among those behind it, the ones with no rule and a higher score
    leave at most 1e-15 for fewer than k of them to exist. By Bernstein's inequality that is so when t > 0 and
    t² ≥ 2·log(1e15)·(V + t/3), with t = S - (k - 1), S the sum of their p and V that of p·(1 - p).

    What goes is not missed as a witness: of the records dropped the best one has only kept ones above it (on either
    side), and whatever outranks it outranks the others dropped. So no top-k probability changes by more than 1e-15 for
    each stretch. Records with a rule neither count nor go, as above.
    """
    keep = np.ones(len(at), np.bool_)
    low = 0
    while low < len(at):
        high = low + np.searchsorted(at[low:], at[low] + shortest)
        if high - low > k:
            _outranked(score[low:high], p[low:high], rule[low:high], k, keep[low:high])
        low = high
    return keep


@kernel
def _outranked(score: Floats, p: Floats, rule: Ints, k: int, keep: Flags) -> None:
    """Two walks; in each a tree of sums by rank has what the walk has passed."""
    n = len(score)
    place = np.empty(n, np.int64)
    rank = n
    order = np.argsort(score)
    for i in range(n):
        # Of equal scores none outranks the other; the best has rank 1.
        if i == 0 or score[order[i]] != score[order[i - 1]]:
            rank = n - i
            later = i
            while later + 1 < n and score[order[later + 1]] == score[order[i]]:
                later += 1
            rank = n - later
        place[order[i]] = rank
    outranked = np.ones(n, np.bool_)
    for side in range(2):
        total, variance = np.zeros(n + 1), np.zeros(n + 1)
        for step in range(n):
            i = step if side == 0 else n - 1 - step
            if rule[i] != NO_RULE:
                continue
            mass = spread = 0.0
            at = place[i] - 1
            while at > 0:
                mass += total[at]
                spread += variance[at]
                at -= at & -at
            t = mass - (k - 1)
            outranked[i] &= t > 0.0 and t * t >= 2.0 * NEGLIGIBLE_LOG * (spread + t / 3.0)
            at = place[i]
            while at <= n:
                total[at] += p[i]
                variance[at] += p[i] * (1.0 - p[i])
                at += at & -at
    for i in range(n):
        keep[i] = rule[i] != NO_RULE or not outranked[i]
