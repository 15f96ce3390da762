"""From a family's answers to result rows, as SEMANTICS lays them out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.planner import Family, Plan
from skyband.runtime.encoded import CHANGE, END, EXPECTED, GROUP, PROBABILITY, QUERY, RANK, SCORE, START, WARMING
from skyband.runtime.reader import StreamReader

FIXED = (
    "query", "window_start", "window_end", "row_start", "row_end", "group_key", "rank", "score", "probability",
    "change", "warming",
)  # fmt: skip
EXPECTED_RANK = "expected_rank"
"""Behind the fixed columns, where some query ranks by it."""
SLICE = 100_000


class Results:
    """The result schema of a plan, as far as its streams' columns are known."""

    def __init__(self, plan: Plan, known: Sequence[StreamReader]) -> None:
        self.plan = plan
        moment = pa.timestamp("us", "UTC" if any(reader.zone for reader in known) else None)
        schemas = {reader.stream.name: reader.schema for reader in known}
        kinds = {
            "query": pa.string(), "window_start": moment, "window_end": moment, "row_start": pa.int64(),
            "row_end": pa.int64(), "group_key": pa.string(), "rank": pa.int64(), "score": pa.float64(),
            "probability": pa.float64(), "change": pa.string(), "warming": pa.bool_(),
        }  # fmt: skip
        if any(query.using is not None and query.using.expects for query in plan.queries):
            kinds[EXPECTED_RANK] = pa.float64()
        self._taken = tuple(kinds)
        self.selected = _selected(plan, schemas)
        shown = ((self.shown_name(name), kind) for name, kind in self.selected.items())
        self.schema = pa.schema([*kinds.items(), *shown])

    def shown_name(self, column: str) -> str:
        """A column of the stream that is called like a column of every row is shown under another name."""
        return f"record_{column}" if column in self._taken else column

    def rows(self, family: Family, answers: pa.Table) -> pa.Table:
        """Result rows of one family, in the answers' order."""
        count = len(answers)
        which = answers.column(QUERY).to_numpy()
        names = pa.array([query.name for query in family.queries]).take(pa.array(which))
        score = answers.column(SCORE).to_numpy()
        falling = np.array([query.ascending for query in family.queries])
        frame = ("row_start", "row_end") if family.kind == "rows" else ("window_start", "window_end")
        columns = {
            "query": names,
            frame[0]: answers.column(START).cast(self.schema.field(frame[0]).type),
            frame[1]: answers.column(END).cast(self.schema.field(frame[1]).type),
            "group_key": answers.column(GROUP),
            "rank": answers.column(RANK),
            "score": pa.array(np.where(falling[which], -score, score) + 0.0, mask=np.isnan(score)),
            "change": answers.column(CHANGE),
            "warming": answers.column(WARMING),
        }
        for name, packed in (("probability", PROBABILITY), (EXPECTED_RANK, EXPECTED)):
            if packed in answers.column_names:
                columns[name] = answers.column(packed)
        for name in self.selected:
            if name in answers.column_names:
                columns[self.shown_name(name)] = _only_where_selected(family, name, which, answers.column(name))
        full = [columns.get(field.name, pa.nulls(count, field.type)) for field in self.schema]
        return pa.table(full, schema=self.schema)

    def batches(self, family: Family, answers: pa.Table) -> Iterator[pa.RecordBatch]:
        """The same in pieces that Spark takes well."""
        yield from self.rows(family, answers).combine_chunks().to_batches(SLICE)

    def ordered(self, parts: Sequence[tuple[Family, pa.Table]]) -> pa.Table:
        """Answers of several families as result rows: by report, the workload's order, group and rank."""
        if not parts:
            return self.schema.empty_table()
        rows = pa.concat_tables([self.rows(family, answers) for family, answers in parts])
        end = np.concatenate([answers.column(END).to_numpy() for _, answers in parts])
        place = np.concatenate([np.array(family.places)[answers.column(QUERY).to_numpy()] for family, answers in parts])
        kind = np.concatenate([np.full(len(answers), family.kind == "rows") for family, answers in parts])
        keys: tuple[np.ndarray, ...] = (place, end, kind)
        if any(family.per for family, _ in parts):
            group = pc.rank(rows.column("group_key"), sort_keys="ascending", tiebreaker="dense")
            keys = (np.asarray(group).astype(np.int64), *keys)
        # A stable sort: rows of one report stay in the order of their ranks.
        return rows.take(pa.array(np.lexsort(keys))).combine_chunks()


def _only_where_selected(family: Family, name: str, which: np.ndarray, column: pa.ChunkedArray) -> pa.ChunkedArray:
    shows = np.array(["*" in query.select or name in query.select for query in family.queries])
    if shows.all():
        return column
    return pc.if_else(pa.array(shows[which]), column, pa.scalar(None, column.type))


def _selected(plan: Plan, schemas: Mapping[str, pa.Schema]) -> dict[str, pa.DataType]:
    """Selected columns in the order in which the workload names them first."""
    found: dict[str, pa.DataType] = {}
    for query in plan.queries:
        stream = query.stream or plan.streams[0].name
        if stream not in schemas:
            continue
        names = schemas[stream].names if "*" in query.select else query.select
        for name in names:
            kind = schemas[stream].field(name).type
            if found.setdefault(name, kind) != kind:
                raise SkybandError(
                    f"query {query.name} selects {name!r}: {kind} in stream {stream}, {found[name]} elsewhere",
                    expected="one type for one result column",
                    hint="select it from one of the streams, or rename it in the other",
                )
    return found
