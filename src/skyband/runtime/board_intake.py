"""From a table of a stream to packed rows of a board: the values of its attributes instead of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.engines.kernels.grid.score import standing
from skyband.engines.many.questions import Questions
from skyband.engines.many.sieve import Sieve
from skyband.language import Filter, Score, compile_filter, compile_score
from skyband.model import NEVER, Floats, Ints
from skyband.model.many import LARGEST
from skyband.planner import PlannedFamily
from skyband.runtime.board import asked_of
from skyband.runtime.hashing import hash_rows
from skyband.runtime.intake import DELETE, INSERT, FamilyIntake, Rejected, column_field, of_query, operations
from skyband.runtime.object_intake import ObjectIntake
from skyband.runtime.packed import AT, GONE, HASH, KEY, VALUE
from skyband.runtime.prune import prune_board


class PackedBoard(NamedTuple):
    """Rows for a board; by query how many records had no score, were late, and dropped as too late."""

    rows: pa.Table
    unranked: Ints
    late: Ints
    dropped: Ints
    rejected: Rejected = ()


@dataclass(frozen=True)
class BoardIntake:
    """A board's attributes compiled for a stream's columns."""

    planned: PlannedFamily
    attributes: tuple[Score | Filter, ...]
    questions: Questions
    names: tuple[str, ...]

    @staticmethod
    def bind(planned: PlannedFamily, schema: pa.Schema) -> BoardIntake:
        """Compile; what does not fit the columns is refused, naming the query."""
        family, stream = planned.family, planned.family.stream.name
        for query in family.queries:
            where = query.where
            of_query(query.name, lambda by=query.by: compile_score(by, schema, stream=stream))  # type: ignore[misc]
            if where:
                of_query(query.name, lambda text=where: compile_filter(text, schema, stream=stream))  # type: ignore[misc]
            for name in query.select:
                if name != "*":
                    column_field(schema, name, f"query {query.name}, SELECT")
        compiled = tuple(
            compile_filter(each.text, schema, stream=stream)
            if each.condition
            else compile_score(each.text, schema, stream=stream)
            for each in family.attributes
        )
        questions = Questions(len(compiled))
        questions.add([asked_of(family, *each) for each in zip(family.queries, family.shapes, strict=True)])
        names = tuple(schema.names) if "*" in family.selected else family.selected
        return BoardIntake(planned, compiled, questions, names)

    def pack(
        self, table: pa.Table, at: Ints, group: pa.Array | None, watermark: int, aligned: bool = True
    ) -> PackedBoard:
        """Packed rows of all records and deletes."""
        op = self.planned.family.stream.op
        kind = operations(table, op) if op else np.full(len(table), INSERT)
        record = kind != DELETE
        x = self._values(table)
        unranked, late, dropped = self._losses(x[record], at[record], watermark)
        chosen, gone = np.flatnonzero(record), np.zeros(int(record.sum()), bool)
        if op:
            deletes = np.flatnonzero(kind != INSERT)
            chosen, gone = np.concatenate((deletes, chosen)), np.concatenate((np.ones(len(deletes), bool), gone))
            # A delete goes before what has its time or position: it takes out older records only.
            order = np.lexsort((~gone, at[chosen]))
            chosen, gone = chosen[order], gone[order]
        return PackedBoard(self._rows(table, at, x, chosen, gone), unranked, late, dropped)

    def sifted(self, table: pa.Table, at: Ints, sieve: Sieve, aligned: bool = True) -> tuple[pa.Table, Ints, int]:
        """Packed rows of the records that some query may need, which groups of queries those are, and how often a
        record had no score. Not for a stream with deletes: the better record may be deleted."""
        x = self._values(table)
        unranked, _, _ = self._losses(x, at, int(NEVER))
        chosen, wanted = prune_board(self.planned.meta, sieve, at, x, aligned)
        return self._rows(table, at, x, chosen, np.zeros(len(chosen), bool)), wanted, int(unranked.sum())

    def _values(self, table: pa.Table) -> Floats:
        found = [
            each.attribute(table) if isinstance(each, Score) else each.evaluate(table).astype(np.float64)
            for each in self.attributes
        ]
        return np.ascontiguousarray(np.stack(found, axis=1))

    def _rows(self, table: pa.Table, at: Ints, x: Floats, chosen: Ints, gone: np.ndarray) -> pa.Table:
        family = self.planned.family
        everyone = len(chosen) == len(table) and bool((chosen == np.arange(len(table))).all())
        rows = table if everyone else table.take(pa.array(chosen))
        packed = {AT: pa.array(at[chosen]), HASH: pa.array(hash_rows(rows))}
        if family.stream.key is not None:
            packed[KEY] = rows.column(family.stream.key)
        if family.stream.op is not None:
            packed[GONE] = pa.array(gone)
        packed |= {VALUE.format(j): pa.array(x[chosen, j]) for j in range(x.shape[1])}
        return pa.table(packed | {name: rows.column(name) for name in self.names})

    def _losses(self, x: Floats, at: Ints, watermark: int) -> tuple[Ints, Ints, Ints]:
        """By query: records without a score, late ones, and those too late for every window. Only values that are no
        plain numbers can make a score that is none."""
        queries = self.questions.columns
        everyone = np.arange(len(queries.k))
        odd = ~(np.abs(x) <= LARGEST).all(axis=1)
        passed, ranked = standing(queries, everyone, np.ascontiguousarray(x[odd]))
        unranked = (passed & ~ranked).sum(axis=0)
        old = at < watermark
        _, counted = standing(queries, everyone, np.ascontiguousarray(x[old]))
        first, last = self.planned.meta.beat(0).window_ends(at[old])
        late = (counted & (first[0] <= watermark)[:, None]).sum(axis=0)
        return unranked, late, (counted & (last[0] <= watermark)[:, None]).sum(axis=0)


Intake = FamilyIntake | ObjectIntake | BoardIntake


def bind(planned: PlannedFamily, schema: pa.Schema) -> Intake:
    """Whatever a family needs of a table, compiled for these columns."""
    if planned.family.attributes:
        return BoardIntake.bind(planned, schema)
    if planned.family.across is not None:
        return ObjectIntake.bind(planned, schema)
    return FamilyIntake.bind(planned, schema)
