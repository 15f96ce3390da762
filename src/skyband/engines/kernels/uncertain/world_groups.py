"""Possible worlds of many small groups at once: each group's records side by side, and all its reports in one pass.

Rows lie by group and, inside a group, in feed order. A group with a report due is sorted once and then answered by the
loop of `pk_topk`, as if it had an engine of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.uncertain.ranks import CROWDED, STORED, Store
from skyband.engines.kernels.uncertain.rule_codes import FREE, NO_RULE, encode
from skyband.engines.kernels.uncertain.world_reports import Due, report_worlds
from skyband.model.types import Flags, Floats, Ints


class TuplesByGroup(NamedTuple):
    """Rows of all groups; `turn` rises with (time, key) inside a group. Group g has rows begin[g] : begin[g + 1]."""

    begin: Ints
    at: Ints
    score: Floats
    p: Floats
    rule: Ints
    source: Ints
    turn: Ints


class Triggers(NamedTuple):
    """Beats. Each reports at moments congruent to `phase` that are after `since` and not after `upto`; `grace` longer
    after the last record. `kind` and `level` say what is asked of the worlds."""

    width: Ints
    period: Ints
    phase: Ints
    k: Ints
    grace: Ints
    since: Ints
    upto: Ints
    kind: Ints
    level: Floats


class GroupAnswers(NamedTuple):
    """Report i: `group`, `beat`, window [start, end), answered by the next `size` entries of `row` and `value`."""

    group: Ints
    beat: Ints
    start: Ints
    end: Ints
    size: Ints
    row: Ints
    value: Floats


@kernel
def report_small_groups(
    rows: TuplesByGroup, after: Ints, until: Ints, beats: Triggers, longest: int, board: Ints
) -> GroupAnswers:
    """Every report in (after, until] of every group."""
    out = GroupAnswers(
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64),
    )
    reports = used = 0
    for g in range(len(rows.begin) - 1):
        low, high = rows.begin[g], rows.begin[g + 1]
        if low == high:
            continue
        end, beat = _due(rows.at[low:high], after[g], until[g], beats)
        if not len(end):
            continue
        due = Due(end - beats.width[beat], end, beats.k[beat], beats.kind[beat], beats.level[beat])
        store, plain = _store(rows, low, high)
        lists = report_worlds(store, due, longest, rows.p[low:high].max(), plain, board)
        out = _room(out, reports, len(end), used, int(lists.size.sum()))
        for i in range(len(end)):
            out.group[reports] = g
            out.beat[reports] = beat[i]
            out.start[reports] = due.start[i]
            out.end[reports] = end[i]
            out.size[reports] = lists.size[i]
            for j in range(lists.begin[i], lists.begin[i] + lists.size[i]):
                out.row[used] = low + lists.slot[j]
                out.value[used] = lists.value[j]
                used += 1
            reports += 1
    return GroupAnswers(
        out.group[:reports],
        out.beat[:reports],
        out.start[:reports],
        out.end[:reports],
        out.size[:reports],
        out.row[:used],
        out.value[:used],
    )


@kernel
def _due(times: Ints, after: int, until: int, beats: Triggers) -> tuple[Ints, Ints]:
    """Reports of one group whose window holds (or, lingering, held) a record: by end, those over one window side by
    side, the largest k first."""
    ends, which = np.empty(8, np.int64), np.empty(8, np.int64)
    count = 0
    for b in range(len(beats.width)):
        period, reach = beats.period[b], beats.width[b] + beats.grace[b]
        end = _next(max(max(after, beats.since[b]), times[0]), period, beats.phase[b])
        last = min(min(until, beats.upto[b]), times[-1] + reach)
        while end <= last:
            newest = np.searchsorted(times, end) - 1
            if times[newest] + reach < end:
                # An empty stretch: on to the first report that holds the next record.
                end = _next(times[newest + 1], period, beats.phase[b])
                continue
            if count == len(ends):
                ends, which = np.append(ends, ends), np.append(which, which)
            ends[count] = end
            which[count] = b
            count += 1
            end += period
    if count < 2:
        return ends[:count], which[:count]
    order = np.argsort(-beats.k[which[:count]], kind="mergesort")
    order = order[np.argsort(-beats.width[which[order]], kind="mergesort")]
    order = order[np.argsort(ends[order], kind="mergesort")]
    return ends[order], which[order]


@kernel
def _next(moment: int, period: int, phase: int) -> int:
    """The first moment of a beat later than `moment`."""
    return moment + 1 + (phase - (moment + 1)) % period


@kernel
def _store(rows: TuplesByGroup, low: int, high: int) -> tuple[Store, bool]:
    """One group's rows as the engine's loop wants them, none in rank order yet; and whether no record has a rule."""
    n = high - low
    rule, p = rows.rule[low:high], rows.p[low:high]
    plain = True
    for i in range(n):
        if rule[i] != NO_RULE:
            plain = False
            break
    sizes = np.zeros(5, np.int64)
    sizes[STORED] = n
    code, total, turn = np.full(n, FREE), np.zeros(0 if plain else n), np.empty(0, np.int64)
    if not plain:
        size = 4
        while size < 2 * n:
            size *= 2
        keys, codes = np.empty(size, np.int64), np.empty(size, np.int64)
        code, _ = encode(rule, keys, codes, np.zeros(size, np.bool_), 0)
        for i in range(n):
            if code[i] != FREE:
                total[code[i]] += p[i]
        if (total > 1.0).any():
            sizes[CROWDED] = 1
            turn = np.argsort(rows.turn[low:high], kind="mergesort")
    main, fresh = np.empty(n, np.int64), np.empty(n, np.int64)
    left_out = np.zeros(n, np.bool_)
    at, score, source = rows.at[low:high], rows.score[low:high], rows.source[low:high]
    return Store(at, score, p, code, source, turn, left_out, main, fresh, total, sizes), plain


@kernel
def _room(out: GroupAnswers, reports: int, more: int, used: int, entries: int) -> GroupAnswers:
    """The same with room for so many more reports and entries."""
    group, beat, start, end, size, row, value = out
    if reports + more > len(group):
        wider = np.empty((5, 2 * (reports + more)), np.int64)
        wider[0, :reports], wider[1, :reports], wider[2, :reports] = group[:reports], beat[:reports], start[:reports]
        wider[3, :reports], wider[4, :reports] = end[:reports], size[:reports]
        group, beat, start, end, size = wider[0], wider[1], wider[2], wider[3], wider[4]
    if used + entries > len(row):
        rows, values = np.empty(2 * (used + entries), np.int64), np.empty(2 * (used + entries))
        rows[:used] = row[:used]
        values[:used] = value[:used]
        row, value = rows, values
    return GroupAnswers(group, beat, start, end, size, row, value)


@kernel
def live_rows(begin: Ints, at: Ints, until: Ints, longest: int, grace: int) -> Flags:
    """Which rows a report after `until` may cover; of each group the newest stays `grace` longer."""
    keep = np.zeros(len(at), np.bool_)
    for g in range(len(begin) - 1):
        for i in range(begin[g + 1] - 1, begin[g] - 1, -1):
            reach = longest + (grace if i == begin[g + 1] - 1 else 0)
            if at[i] + reach <= until[g]:
                break
            keep[i] = True
    return keep
