"""Drop what can never be reported, before anything is kept: the two rules of DESIGN ("Pruning"), both exact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from skyband.engines.capped import above_sample, caps, listed, on_either_side
from skyband.engines.groups.numbers import pair_places
from skyband.engines.kernels.common.prune import best_of_each, prune_before, prune_chunk, prune_runs
from skyband.engines.kernels.common.sliding import FEW, WIDE, by_group, listed as listed_somewhere
from skyband.engines.kernels.uncertain.prune import likely_enough, outranked_on_both_sides
from skyband.engines.many.pruner import MultiScorePruner
from skyband.engines.second_key import dense_ranks
from skyband.model import Flags, Floats, Ints, Keys, MetaQuery
from skyband.model.plain import readable
from skyband.model.times import Times

SMALL = 64
"""Fewer records are not worth the look."""
STRETCHED = 256
"""Nor are fewer in a stretch, where each stretch costs a call."""


def prune(meta: MetaQuery, times: Times, score: Keys) -> Ints:
    """Places of the records that may be needed, in time order. All are of one group and arrived together."""
    at = times.at
    if meta.threshold is not None or len(at) <= max(SMALL, meta.most):
        return np.arange(len(at))
    if not times.rise:
        order = np.argsort(at, kind="stable")
        return order[_prune_sorted(meta, at[order], score[order], times.aligned)]
    return _prune_sorted(meta, at, score, times.aligned)


def _prune_sorted(meta: MetaQuery, at: Ints, score: Keys, aligned: bool) -> Ints:
    if meta.unbounded:
        kept = prune_before(readable(score), meta.most)
    else:
        kept = prune_chunk(readable(at), readable(score), meta.shortest, meta.most)
    cuts = meta.edges(int(at[0]), int(at[-1]), 2 * len(kept) // meta.most)
    if cuts is None or not aligned:
        return kept
    pane = np.searchsorted(cuts, at[kept], side="right")
    return kept[best_of_each(score[kept], pane, meta.most)]


def prune_groups(meta: MetaQuery, group: Ints, times: Times, score: Keys) -> Ints:
    """The same for records of many groups (by number), in any order: what may be needed of each, in that order."""
    at, aligned = times.at, times.aligned
    if meta.threshold is not None or len(at) <= max(SMALL, meta.most) or _spare(group, meta.most) < len(at) // 8:
        return np.arange(len(at))
    groups = int(group.max()) + 1
    order = _by_group(group, times, groups)
    group, at, score = group[order], at[order], score[order]
    kept = np.flatnonzero(prune_runs(group, at, score, meta.shortest, meta.most, not meta.unbounded))
    # What is listed is known to the record, so whoever ties with the last would be left out.
    few = meta.most <= FEW and not meta.ties and not meta.unbounded and aligned
    if aligned and (not few or np.bincount(group[kept]).max() > WIDE):
        kept = kept[_best_of_panes(meta, group[kept], at[kept], score[kept])]
    if few:
        begin = np.searchsorted(group[kept], np.arange(groups + 1))
        kept = kept[listed_somewhere(begin, at[kept], score[kept], meta.width, meta.period, meta.phase, meta.k)]
    needed = np.zeros(len(order), bool)
    needed[order[kept]] = True
    return np.flatnonzero(needed)


def _best_of_panes(meta: MetaQuery, group: Ints, at: Ints, score: Keys) -> Flags:
    cuts = meta.edges(int(at.min()), int(at.max()), 2 * len(at) // meta.most)
    if cuts is None:
        return np.ones(len(at), bool)
    return best_of_each(score, group * (len(cuts) + 1) + np.searchsorted(cuts, at, side="right"), meta.most)


def _by_group(group: Ints, times: Times, groups: int) -> Ints:
    """The order by group, then by time."""
    if times.rise:
        return by_group(group, groups)[1]
    first = np.argsort(times.at, kind="stable")
    return first[by_group(group[first], groups)[1]]


def prune_capped(
    meta: MetaQuery, times: Times, score: Keys, category: Ints, group: Ints | None, compiled: bool
) -> Ints:
    """The same where a list has at most n of a category: n better ones of its own rule a record out as k do elsewhere,
    by the rules for groups. And of a pane nothing is needed but its lists, nor what is in no list of its stretch,
    whichever side of it a window takes."""
    assert meta.at_most is not None
    own, at = replace(meta, k=meta.at_most[meta.query]), times.at
    kept, pane = np.arange(len(at)), _panes_of_groups(meta, at, group) if times.aligned else None
    if pane is not None:
        kept = np.flatnonzero(above_sample(pane, category, score, caps(meta)))
    kinds = _numbered(category[kept], None if group is None else group[kept], compiled)
    some = times.of(kept), score[kept]
    needed = prune_groups(own, kinds, *some) if compiled else prune_plainly(own, *some, kinds)
    kept = kept[needed]
    if pane is not None:
        rank, kinds = dense_ranks(score[kept], None), category[kept]
        kept = kept[_by_any(listed(pane[kept], kinds, rank, cap) for cap in caps(meta))]
    if group is not None or len(kept) < STRETCHED or len(kept) < STRETCHED * np.ptp(at[kept]) // meta.shortest:
        return kept
    kept = kept[np.argsort(at[kept], kind="stable")]
    rows = at[kept], category[kept], score[kept]
    return kept[_by_any(on_either_side(*rows, meta.shortest, cap) for cap in caps(meta))]


def _by_any(needs: Iterable[Flags]) -> Flags:
    found: Flags = np.any(list(needs), axis=0)
    return found


def _panes_of_groups(meta: MetaQuery, at: Ints, group: Ints | None) -> Ints | None:
    """The pane of each record, in each group another; None where hardly two records share one."""
    cuts = meta.edges(int(at.min()), int(at.max()), 2 * len(at)) if len(at) > SMALL else None
    if cuts is None:
        return None
    pane = np.searchsorted(cuts, at, side="right")
    return pane if group is None else pane + group * (len(cuts) + 1)


def _numbered(category: Ints, group: Ints | None, compiled: bool) -> Ints:
    """Small numbers for categories, in each group others."""
    number = _numbers(category, compiled)
    if group is None or not len(number):
        return number
    return _numbers(group * (int(number.max()) + 1) + number, compiled)


def _numbers(words: Ints, compiled: bool) -> Ints:
    if compiled:
        return pair_places(words, np.zeros(len(words), np.int64)).of.astype(np.int64)
    return np.unique(words, return_inverse=True)[1]


def prune_plainly(meta: MetaQuery, times: Times, score: Keys, group: Ints | None = None) -> Ints:
    """As `prune` and `prune_groups`, while their kernels are being compiled: only the best of every pane stay."""
    at, k = times.at, meta.most
    everything = np.arange(len(at))
    if meta.threshold is not None or len(at) <= max(SMALL, k) or not times.aligned:
        return everything
    cuts = meta.edges(int(at.min()), int(at.max()), 2 * len(at) // k)
    if cuts is None:
        return everything
    pane = np.searchsorted(cuts, at, side="right")
    if group is not None:
        pane += group * (len(cuts) + 1)
    order = np.lexsort((score, pane))
    pane, score = pane[order], score[order]
    end = np.append(np.flatnonzero(pane[1:] != pane[:-1]) + 1, len(pane))
    size = np.diff(end, prepend=0)
    # The k-th best of each pane, or its worst: what equals it may be needed.
    kth = score[end - np.minimum(size, k)]
    return np.sort(order[score >= np.repeat(kth, size)])


def _spare(group: Ints, most: int) -> int:
    """How many records any rule could drop, at most: of each group the best ones always stay."""
    size = np.bincount(group)
    return int((size[size > most] - most).sum())


def prune_points(meta: MetaQuery, pruner: MultiScorePruner, times: Times, x: Floats) -> tuple[Ints, Ints]:
    """The same for a multi-score family, whose queries have one window: places of the records that may be needed, and
    by which groups of the pruner."""
    order = np.arange(len(times)) if times.rise else np.argsort(times.at, kind="stable")
    at, x = times.at[order], x[order]
    known = times.aligned and len(at)
    cuts = meta.beat(0).edges(int(at[0]), int(at[-1]), 2 * len(at) // pruner.deepest) if known else None
    wanted = pruner.between(at, x, meta.shortest, cuts)
    kept = np.flatnonzero(wanted)
    return order[kept], wanted[kept]


def prune_worlds(meta: MetaQuery, times: Times, score: Floats, p: Floats, rule: Ints, fixed: bool = True) -> Ints:
    """The same for an uncertain stream, in any order: what nearly surely is outranked goes (see the kernels).

    Only top-k probabilities allow that. Every record counts in an expected rank; and lists and holders of a rank, which
    may all be less likely than what is neglected, are compared with each other. Panes are of use where reports are at
    `fixed` moments: those of FREQUENCY change with the plan, and a query that has not gone over yet keeps the old ones.
    """
    at = times.at
    everything = np.arange(len(at))
    bounded = all(using.name in ("PK_TOPK", "PT_K") for using in meta.using or ())
    if not bounded or len(at) <= max(SMALL, meta.most):
        return everything
    order = everything if times.rise else np.argsort(at, kind="stable")
    at, score, p, rule = at[order], score[order], p[order], rule[order]
    kept = np.flatnonzero(outranked_on_both_sides(at, score, p, rule, meta.shortest, meta.most))
    at, score, p, rule = at[kept], score[kept], p[kept], rule[kept]
    cuts = meta.edges(int(at[0]), int(at[-1]), 2 * len(at) // meta.most) if times.aligned and fixed else None
    if cuts is not None:
        pane = np.searchsorted(cuts, at, side="right")
        kept = kept[likely_enough(np.lexsort((-score, pane)), pane, score, p, rule, meta.most)]
    return order[kept]
