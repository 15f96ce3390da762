"""Records with a score for each query: the values of the attributes that all scores and filters are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.kernels.grid.score import ranking_scores, standing
from skyband.engines.limits import Limits
from skyband.engines.many.keys import Words
from skyband.engines.many.points import PointEngine
from skyband.engines.many.pruner import MultiScorePruner
from skyband.engines.many.questions import Questions
from skyband.engines.pruning import prune_points
from skyband.language import Filter, Score, compile_filter, compile_score, shape
from skyband.language.expressions.aliases import no_alias
from skyband.model import DueReports, Flags, Floats, Ints, Query
from skyband.model.many import LARGEST, Points, Scores
from skyband.model.plain import taken
from skyband.model.times import Times
from skyband.planner import PlannedFamily
from skyband.planner.families.multi_score import joined
from skyband.runtime.data_models.base import Columns, DataModel
from skyband.runtime.data_models.marks import DELETE, INSERT, operations
from skyband.runtime.encoded import AT, GONE, HASH, KEY, SCORE, VALUE, ints, values
from skyband.runtime.encoder import Encoded, Encoder, Take, of_query, query_score, shown_columns
from skyband.runtime.executors.base import Executor, Reports
from skyband.runtime.executors.per_group import Member, PerGroup
from skyband.runtime.fates import Lost
from skyband.runtime.hashing import hash_column, hash_rows
from skyband.runtime.lookups import only, own_columns
from skyband.runtime.partitioning import ByKey, Partitioning, bucket_of_query, by_query
from skyband.runtime.row_store import RowStore

Survivors = Callable[[Times, Floats], tuple[Ints, Ints]]
"""Of records (by times and values) the places of those that some query may need, and a bit for each bucket of queries
that may."""


class MultiScore(DataModel):
    pending = 100_000
    grows = False

    def __init__(self, planned: PlannedFamily) -> None:
        super().__init__(planned)
        self.adopt(planned)

    def adopt(self, planned: PlannedFamily) -> None:
        self.planned, self._scores = planned, scores_of(planned)
        self._questions = _questions(self._scores)
        self.__dict__.pop("_pruner", None)

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> Encoder:
        everything = whole_window or self._scores.deletes
        return PointEncoder(self.planned, schema, self._questions, None if everything else self.wanted)

    def wanted(self, times: Times, x: Floats) -> tuple[Ints, Ints]:
        """As `Survivors`. Not for a stream with deletes: the better record may be deleted."""
        return prune_points(self.meta, self._pruner, times, x)

    @cached_property
    def _pruner(self) -> MultiScorePruner:
        planned = self.planned
        buckets = [bucket_of_query(query.name, planned.parts) for query in planned.family.queries]
        return MultiScorePruner(self._scores.columns, self._scores.specs, buckets)

    def prune(self, rows: pa.Table, aligned: bool = True) -> pa.Table:
        if self._scores.deletes:
            return rows
        return taken(rows, self.wanted(Times(ints(rows, AT), aligned), values(rows, self._scores.columns))[0])

    def limits(self, column: str) -> Limits:
        return Limits(nan=True) if column.startswith(VALUE.format("")) else super().limits(column)

    def executor(self, grace: Ints | None) -> Executor:
        return IndexExecutor(self, grace)

    def batch(self, rows: pa.Table | None, ids: Ints) -> Points:
        d, none = self._scores.columns, np.empty(0, np.int64)
        if rows is None:
            return Points(none, np.empty((0, d)), none)
        if GONE not in rows.column_names:
            return Points(ints(rows, AT), values(rows, d), ids)
        gone = np.array(rows.column(GONE).to_numpy(), bool)
        return Points(ints(rows, AT), values(rows, d), ids, gone, key_words(rows.column(KEY)))

    def shown(self, reports: Reports, report: Ints, rank: Ints, rows: pa.Table, store: RowStore) -> Columns:
        """What each row's query thinks of it, higher first."""
        x = values(rows, self._scores.columns)
        return {SCORE: pa.array(ranking_scores(self._questions.columns, reports.query[report], x))}

    @property
    def partitioning(self) -> Partitioning:
        """A stream with deletes travels whole, so it travels once; to several places where somebody said to how many,
        unless changes are told against the last list of all."""
        if not self._scores.deletes:
            return ByQuery()
        parts, changes = self.planned.parts, any(query.changes for query in self.planned.family.queries)
        return Partitioning() if parts is None or changes else ByKey(parts)

    def hides(self, names: Sequence[str]) -> tuple[str, ...]:
        """Not what decides between equal scores where lists are merged."""
        return tuple(set(self.hidden) - {AT, HASH, KEY}) if self.partitioning.merges else self.hidden

    def parts(self, rows: pa.Table, aligned: bool = True) -> Iterator[tuple[int, pa.Table]]:
        if self._scores.deletes:
            yield from self.partitioning.split(rows)
            return
        chosen, wanted = self.wanted(Times(ints(rows, AT), aligned), values(rows, self._scores.columns))
        kept = taken(rows, chosen)
        for bucket in sorted(by_query(self.planned)):
            yield bucket, kept.filter(pa.array(wanted >> bucket & 1 == 1))

    def pruned_parts(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Which bucket may need a record is found in the same pass."""
        return self.parts(rows)

    def location(self, query: Query) -> str:
        if not self._scores.deletes:
            return f"{self.planned.family.fingerprint}/{bucket_of_query(query.name, self.planned.parts)}"
        return f"{self.planned.family.fingerprint}/{'by key' if self.partitioning.merges else 0}"

    def joined(self, query: Query, place: int) -> PlannedFamily | None:
        grown = None if query.join is not None else joined(self.planned.family, query, place, shape)
        return None if grown is None else replace(self.planned, family=grown)


class ByQuery(Partitioning):
    """The queries, by a hash of their names: each bucket has an index of its own, fed what its queries may need."""

    def buckets(self, planned: PlannedFamily) -> dict[int, PlannedFamily]:
        members = by_query(planned)
        return {bucket: replace(planned, family=planned.family.of(which)) for bucket, which in members.items()}


class IndexExecutor(PerGroup):
    """One index for all queries, which have one window. Queries come and go without a new start."""

    def __init__(self, model: MultiScore, grace: Ints | None) -> None:
        super().__init__(model.meta.beat(0), model, None if grace is None else grace.max(keepdims=True))
        self._model = model
        self._engine = PointEngine.of(self._member("").engine)

    def join(self, planned: PlannedFamily) -> bool:
        self._engine.join(scores_of(planned).specs[-1])
        return True

    def leave(self, planned: PlannedFamily, which: int) -> bool:
        self._engine.leave(which)
        return True

    def essential(self, store: RowStore) -> Ints:
        """Without those that no query here will ever report: k newer ones are better by every score. On a stream with
        deletes all, for the better ones may go."""
        scores, kept = scores_of(self._model.planned), self.candidates()
        if scores.deletes or not len(kept):
            return kept
        pruner, id = MultiScorePruner(scores.columns, scores.specs, [0] * len(scores.specs)), self._engine.in_window()
        return np.sort(id[pruner.newest(values(store.take(id), scores.columns)) > 0])

    def _times(self, batch: Points) -> Ints:
        """Deletes bring no report."""
        return batch.at if batch.gone is None else batch.at[~batch.gone]

    def _due_reports(self, member: Member, at: Ints, until: int) -> DueReports:
        """Every query reports at every moment."""
        one, k = super()._due_reports(member, at, until), self._model.meta.k
        start, end = np.repeat(one.start, len(k)), np.repeat(one.end, len(k))
        return DueReports(start, end, np.tile(k, len(one)), np.tile(np.arange(len(k)), len(one)), until)

    def _forget_idle(self) -> None:
        self.work.kept(self._engine.counters["candidates_peak"])


class PointEncoder(Encoder):
    """The values of all attributes of a record; deletes as rows of their own."""

    def __init__(
        self, planned: PlannedFamily, schema: pa.Schema, questions: Questions, survivors: Survivors | None
    ) -> None:
        """Compile; what does not fit the columns is refused, naming the query."""
        family, stream = planned.family, planned.family.stream.name
        self.planned, self._questions, self._survivors = planned, questions, survivors
        for query in family.queries:
            query_score(query, family, schema)
            if query.where:
                with no_alias(query.items):
                    of_query(query.name, partial(compile_filter, query.where, schema, stream=stream))
        self.attributes: tuple[Score | Filter, ...] = tuple(
            compile_filter(each.text, schema, stream=stream)
            if each.condition
            else compile_score(each.text, schema, stream=stream)
            for each in family.attributes
        )
        self.names = shown_columns(family, schema)
        self._hashed = own_columns(schema)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.columns for each in self.attributes))

    def encode(
        self,
        table: pa.Table,
        times: Times,
        group: pa.Array | None,
        watermark: int,
        whole: Take | None = None,
    ) -> Encoded:
        at, whole = times.at, whole or partial(taken, table)
        op, x = self.planned.family.stream.op, self._values(table)
        if op is None:
            lost, missing = self._lost(x, at, watermark)
            chosen = np.arange(len(at)) if self._survivors is None else self._survivors(times, x)[0]
            return Encoded(self._rows(at, x, chosen, whole), len(at), lost, unranked_at=missing)
        kind = operations(table, op)
        record = kind != DELETE
        lost, missing = self._lost(x[record], at[record], watermark)
        # An update is both. A delete goes before what has its time or position: it takes out older records only.
        chosen = np.concatenate((np.flatnonzero(kind != INSERT), np.flatnonzero(record)))
        gone = np.arange(len(chosen)) < len(chosen) - int(record.sum())
        order = np.lexsort((~gone, at[chosen]))
        return Encoded(self._rows(at, x, chosen[order], whole, gone[order]), int(record.sum()), lost, (), None, missing)

    def _values(self, table: pa.Table) -> Floats:
        found = [
            each.attribute(table) if isinstance(each, Score) else each.evaluate(table).astype(np.float64)
            for each in self.attributes
        ]
        return np.ascontiguousarray(np.stack(found, axis=1))

    def _rows(self, at: Ints, x: Floats, chosen: Ints, whole: Take, gone: Flags | None = None) -> pa.Table:
        rows, key = whole(chosen), self.planned.family.stream.key
        encoded = {AT: pa.array(at[chosen]), HASH: pa.array(hash_rows(only(rows, self._hashed)))}
        if key is not None:
            encoded[KEY] = rows.column(key)
        if gone is not None:
            encoded[GONE] = pa.array(gone)
        encoded |= {VALUE.format(j): pa.array(x[chosen, j]) for j in range(x.shape[1])}
        return pa.table(encoded | {name: rows.column(name) for name in self.names})

    def _lost(self, x: Floats, at: Ints, watermark: int) -> tuple[Lost, dict[int, Ints]]:
        """Only values that are no plain numbers can make a score that is none. What filters turn away is not told from
        what is ranked: an index is there so that not every query looks at every record."""
        queries = self._questions.columns
        everything = np.arange(len(queries.k))
        odd = ~(np.abs(x) <= LARGEST).all(axis=1)
        passed, ranked = standing(queries, everything, np.ascontiguousarray(x[odd]))
        late, gone = self._gone(at, watermark)
        missing = passed & ~ranked
        unranked = (missing & ~gone[odd][:, None]).sum(axis=0)
        each = np.ones(len(everything), np.int64)
        when = {query: at[odd][missing[:, query]] for query in np.flatnonzero(missing.any(axis=0)).tolist()}
        return Lost(each * int(late.sum()), each * int(gone.sum()), 0 * each, unranked), when

    def _gone(self, at: Ints, watermark: int) -> tuple[Flags, Flags]:
        """Which records are late, and which too late for every window."""
        old = np.flatnonzero(at < watermark)
        first, last = self.planned.meta.beat(0).window_ends(at[old])
        late, gone = np.zeros(len(at), bool), np.zeros(len(at), bool)
        late[old], gone[old] = first[0] <= watermark, last[0] <= watermark
        return late, gone


def scores_of(planned: PlannedFamily) -> Scores:
    assert planned.meta.scores is not None
    return planned.meta.scores


def _questions(scores: Scores) -> Questions:
    questions = Questions(scores.columns)
    questions.add(scores.specs)
    return questions


def key_words(column: pa.ChunkedArray) -> Words:
    """Two words per key, equal where keys are: whole numbers and times as they are, other keys hashed twice."""
    kind = column.type
    missing = np.asarray(column.is_null())
    if pa.types.is_integer(kind) and kind != pa.uint64():
        one = np.array(pc.fill_null(column.cast(pa.int64()), 0), np.int64)
        return one, np.where(missing, 1, 0)
    plain = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind)
    one, two = (hash_column(plain, seed) for seed in (42, 2006))
    return np.where(missing, 0, one), np.where(missing, 1, two)
