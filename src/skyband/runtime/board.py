"""Keeps a board: queries with scores of their own over one window, in an engine for many scores.

All records of the window stay, for any of them may be the best by some score. On a stream with deletes the processed
deletes of the last window stay too: a late record may be one that they take away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters, ManyEngine, registered_many
from skyband.engines.kernels.grid.score import ranking_scores
from skyband.engines.many.questions import Questions
from skyband.engines.many.sieve import Sieve
from skyband.model import NEVER, Above, Flags, Floats, Ints, MetaQuery, Query, TopK
from skyband.model.many import Asked, Points, Shape
from skyband.planner import Family, PlannedFamily
from skyband.runtime.keeper import Reports, Take
from skyband.runtime.keys import Keys, Words, key_words
from skyband.runtime.ledger import work
from skyband.runtime.packed import AT, GONE, KEY, feed_order, ints, values
from skyband.runtime.tail import Tail

NONE: Ints = np.empty(0, np.int64)


def asked_of(family: Family, query: Query, shape: Shape) -> Asked:
    """A query of a board as its engine wants it."""
    threshold = query.threshold if isinstance(query, Above) else None
    k = query.k if isinstance(query, TopK) else 2**31 - 1
    return shape.asked(family.attributes, k, threshold, query.ascending)


class Board:
    def __init__(self, planned: PlannedFamily, linger: Ints | None) -> None:
        self.family = planned.family
        self.beat: MetaQuery = planned.meta.beat(0)
        self._name = planned.choice.engine
        self._linger = None if linger is None else linger.max(keepdims=True)
        self._places: Ints = NONE
        self._fresh_engine()
        self.last = int(NEVER)
        self.until = int(NEVER)
        self._work: Counter[str] = Counter()
        self._peak = 0

    def _fresh_engine(self) -> None:
        """An empty engine that is asked everything; nothing is known of records and keys."""
        rows = self.beat.longest if self.beat.kind == "rows" else None
        self.engine: ManyEngine = registered_many()[self._name].build(len(self.family.attributes), rows)
        self._questions = Questions(len(self.family.attributes))
        asked = [asked_of(self.family, *each) for each in zip(self.family.queries, self.family.shapes, strict=True)]
        self._places = self.engine.add(asked)
        self._questions.add(asked)
        self._ids = Tail(np.int64)
        self._keys = None if self.family.stream.op is None else Keys()
        self._deletes: tuple[Ints, Ints] = (NONE, NONE)
        """Times and ids of deletes that were carried out."""

    # ------------------------------------------------------------------------------------------------------ feeding

    def advance(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> Reports:
        end = until if seen is None else seen[""]
        fed = _Fed.of(ids, take, len(self.family.attributes))
        moments = self.beat.moments(fed.at[~fed.gone], self.last, self.until, end, self._linger)
        reports = [self._cycle(fed, moment) for moment in moments.end.tolist()]
        next_end = end + 1 + int((self.beat.phase[0] - end - 1) % self.beat.period[0])
        self._feed(fed.rest(), next_end - self.beat.longest)
        if (~fed.gone).any():
            self.last = max(self.last, int(fed.at[~fed.gone][-1]))
        self.until = max(self.until, end)
        self._forget_old()
        return self._joined(moments.end, reports)

    def admit(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> None:
        """Older than what was fed: everything is laid out anew, in order."""
        end = until if seen is None else seen[""]
        everything = np.concatenate((self.candidates(), ids))
        rows = take(everything)
        order = feed_order(rows)
        self._work.update(work(self.engine.counters))
        self._fresh_engine()
        fed = _Fed.of(everything[order], take, len(self.family.attributes))
        next_end = end + 1 + int((self.beat.phase[0] - end - 1) % self.beat.period[0])
        self._feed(fed, next_end - self.beat.longest, ids)
        if (~fed.gone).any():
            self.last = max(self.last, int(fed.at[~fed.gone].max()))
        self.until = max(self.until, end)

    def close(self, until: int) -> Reports:
        return self.advance(NONE, _nothing, until, None)

    def _cycle(self, fed: _Fed, moment: int) -> tuple[Ints, Ints]:
        """Feed what is older than the report and make it: sizes and ids of all answers."""
        self._feed(fed.before(moment), moment - self.beat.longest)
        answers = self.engine.answers(self._places)
        return answers.size, self._ids.now[answers.id[answers.entries()] - self._ids.base]

    def _feed(self, part: _Fed, since: int, new: Ints | None = None) -> None:
        """Into the engine; of deletes carried out before, only the `new` ones may count as unknown."""
        record = ~part.gone
        self._ids.append(part.id[record])
        deleted = NONE
        if self._keys is not None and part.key is not None:
            deleted, killed = self._keys.follow(part.key, part.gone, self.engine.first)
            at, id = part.at[part.gone], part.id[part.gone]
            fresh = np.ones(len(id), bool) if new is None else np.isin(id, new)
            self._work["unknown_deletes"] += int((fresh & (killed == 0)).sum())
            self._deletes = np.concatenate((self._deletes[0], at)), np.concatenate((self._deletes[1], id))
        self.engine.advance(Points(part.at[record], part.x[record]), deleted, since)
        self._ids.forget(self.engine.first)
        if self._keys is not None:
            self._keys.forget(self.engine.first)

    def _forget_old(self) -> None:
        at, id = self._deletes
        young = at > self.until - self.beat.longest
        self._deletes = at[young], id[young]

    # ---------------------------------------------------------------------------------------------------- answering

    def _joined(self, end: Ints, reports: list[tuple[Ints, Ints]]) -> Reports:
        queries, moments = len(self.family.queries), len(end)
        query, ends = np.tile(np.arange(queries), moments), np.repeat(end, queries)
        size = np.concatenate([NONE, *(size for size, _ in reports)])
        id = np.concatenate([NONE, *(id for _, id in reports)])
        group = np.zeros(len(query), np.int64)
        return Reports(query, ends - self.beat.longest, ends, group, size, id, [""])

    def scores(self, query: Ints, rows: pa.Table) -> Floats:
        """What each row's query thinks of it, higher first."""
        return ranking_scores(self._questions.columns, query, values(rows, len(self.family.attributes)))

    def candidates(self) -> Ints:
        id, kept = self._in_window(), self._deletes[1]
        if self._keys is not None:
            id = id[self._keys.alive(self.engine.first)]
        if not len(kept) and (len(id) < 2 or bool((id[1:] > id[:-1]).all())):
            return id
        return np.sort(np.concatenate((id, kept)))

    def _in_window(self) -> Ints:
        """Ids of what the engine holds, oldest first."""
        return self._ids.now[self.engine.first - self._ids.base :].copy()

    def essential(self, take: Take) -> Ints:
        """Candidates without those that no query here will ever report: k newer ones are better by every score. On a
        stream with deletes all, for the better ones may go."""
        kept = self.candidates()
        if self.family.stream.op is not None or not len(kept):
            return kept
        family = self.family
        asked = [asked_of(family, *each) for each in zip(family.queries, family.shapes, strict=True)]
        sieve = Sieve(len(family.attributes), asked, [0] * len(asked))
        id = self._in_window()
        return np.sort(id[sieve.newest(values(take(id), len(family.attributes))) > 0])

    def next_report(self, until: int) -> int | None:
        return None if self.last == NEVER else self.beat.next_moment(self.last, until, self._linger)

    # ------------------------------------------------------------------------------------------------------ queries

    def join(self, family: Family) -> None:
        """The same board with one query more, the last: it sees the whole window at once."""
        asked = asked_of(family, family.queries[-1], family.shapes[-1])
        self.family = family
        self._places = np.concatenate((self._places, self.engine.add([asked])))
        self._ask_again()

    def leave(self, family: Family, which: int) -> None:
        """The same board without its query number `which`."""
        self.family = family
        self.engine.remove(int(self._places[which]))
        self._places = np.delete(self._places, which)
        self._ask_again()

    def _ask_again(self) -> None:
        self._questions = Questions(len(self.family.attributes))
        family = self.family
        self._questions.add([asked_of(family, *each) for each in zip(family.queries, family.shapes, strict=True)])

    # ----------------------------------------------------------------------------------------------------- counters

    @property
    def counters(self) -> Counters:
        now = self.engine.counters
        total = Counter(self._work)
        total.update(work(now))
        self._peak = max(self._peak, now["candidates_peak"])
        kept = len(self.engine) if self._keys is None else int(self._keys.alive(self.engine.first).sum())
        return {"unknown_deletes": 0} | dict(total) | {"candidates": kept, "candidates_peak": self._peak}

    def resume(self, counters: Counters, peak: int) -> None:
        self._work = Counter(counters)
        self._work.subtract(work(self.engine.counters))
        self._peak = peak


class _Fed:
    """Rows of one call: records and, where `gone`, deletes, in feed order. `before` moves on."""

    def __init__(self, id: Ints, at: Ints, x: Floats, gone: Flags, key: Words | None) -> None:
        self.id, self.at, self.x, self.gone, self.key = id, at, x, gone, key
        self._done = 0

    @staticmethod
    def of(ids: Ints, take: Take, columns: int) -> _Fed:
        if not len(ids):
            return _Fed(NONE, NONE, np.empty((0, columns)), np.empty(0, bool), None)
        rows = take(ids)
        deletes = GONE in rows.column_names
        gone = np.array(rows.column(GONE).to_numpy(), bool) if deletes else np.zeros(len(rows), bool)
        key = key_words(rows.column(KEY)) if deletes else None
        return _Fed(ids, ints(rows, AT), values(rows, columns), gone, key)

    def before(self, moment: int) -> _Fed:
        """What is older than the moment and was not given out yet."""
        return self._part(int(np.searchsorted(self.at, moment)))

    def rest(self) -> _Fed:
        return self._part(len(self.at))

    def _part(self, stop: int) -> _Fed:
        part, self._done = slice(self._done, max(stop, self._done)), max(stop, self._done)
        key = None if self.key is None else (self.key[0][part], self.key[1][part])
        return _Fed(self.id[part], self.at[part], self.x[part], self.gone[part], key)


def _nothing(ids: Ints) -> pa.Table:
    raise AssertionError("there are no rows to take")
