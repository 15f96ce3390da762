"""Which uncertain records of a pane can be dropped before anything else is known of their windows."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.rule_codes import NO_RULE
from skyband.engines.kernels.tally import at_most, clear, entry, put_in_row
from skyband.model.arrays import Flags, Floats, Ints

NEGLIGIBLE = 1e-15


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
