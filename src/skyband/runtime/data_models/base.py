"""What a data model is: how records are encoded, pruned, fed to engines, split over tasks, and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa

from skyband.engines.base import AnyEngine
from skyband.engines.compiled import first_use, unit_of
from skyband.engines.limits import FARTHEST, LARGEST, Limits
from skyband.model import Ints, MetaQuery, Query
from skyband.model.plain import taken
from skyband.model.times import Times
from skyband.planner import PlannedFamily
from skyband.runtime.encoded import (
    AT,
    CATEGORY,
    ERROR,
    FEED,
    GIVEN,
    GONE,
    GROUP,
    HASH,
    KEY,
    NAME,
    OBJECT,
    RULE,
    SCORE,
    SECOND,
    SOURCE,
    VALUE,
    P,
    coded_groups,
    ints,
    keys,
)
from skyband.runtime.encoder import Encoder, Valued
from skyband.runtime.executors.base import Executor, Reports
from skyband.runtime.executors.per_group import PerGroup
from skyband.runtime.partitioning import ByGroup, Partitioning
from skyband.runtime.row_store import RowStore

Columns = dict[str, pa.Array]
PLAIN = Limits()
LIMITS = {
    AT: Limits(-FARTHEST, FARTHEST),
    SECOND: Limits(nan=True),
    GIVEN: Limits(0.0),
    P: Limits(5e-324, 1.0),
    ERROR: Limits(0.0, LARGEST / 16),
} | dict.fromkeys((SCORE, HASH, GROUP, CATEGORY, GONE, RULE, SOURCE, OBJECT, FEED), PLAIN)
"""Of columns of encoded rows: what an encoder makes. Of all others nothing is known."""


class DataModel:
    """Of one family. Adding a data model is adding a class like this, its families in the planner, and its engines."""

    valued = False
    """Answers carry a value that no row holds."""
    pending = 500_000
    """Encoded rows of a task that gather before they are pruned together once more."""
    grows = True
    """Can be built anew around a query that joins, from the rows it has kept."""
    hidden: tuple[str, ...] = (AT, HASH, KEY, GROUP, SECOND, CATEGORY, P, RULE, SOURCE, ERROR, FEED)
    """Columns of encoded rows that no answer needs; the group is written anew."""
    batch_columns: tuple[str, ...] = ()
    """Of encoded rows: what `survivors` needs beside the score."""

    def __init__(self, planned: PlannedFamily) -> None:
        self.planned = planned

    def adopt(self, planned: PlannedFamily) -> None:
        """The same family with other queries, or at other places of the workload."""
        self.planned = planned

    @property
    def meta(self) -> MetaQuery:
        return self.planned.meta

    # ---------------------------------------------------------------------------------------------------- encoding

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> Encoder:
        """Its expressions compiled for a stream's columns. With `whole_window` queries may join that want to see all
        records of the window, where the data model can give them that."""
        raise NotImplementedError

    def cuts(self, at: Ints) -> list[int]:
        """Where to cut records that arrived together into pieces, each to be fed and answered before the next one: in
        the order of time, between panes. What is made of a small piece stays close to the processor, and its memory is
        used again."""
        return [0, len(at)]

    def survivors(self, found: Valued, times: Times, group: Ints | None) -> Ints | None:
        """Of records that arrived together the places of those that may be needed; None for all."""
        return None

    def prune(self, rows: pa.Table, aligned: bool = True) -> pa.Table:
        """The same for encoded rows."""
        more: dict[str, Any] = {name: rows.column(name).to_numpy() for name in self.batch_columns}
        found = Valued(None, keys(rows), more)
        code = coded_groups(rows)[0] if GROUP in rows.column_names else None
        needed = self.survivors(found, Times(ints(rows, AT), aligned), code)
        return rows if needed is None else taken(rows, needed)

    # ------------------------------------------------------------------------------------------------------ stored

    def limits(self, column: str) -> Limits:
        """What the values of this column of encoded rows are."""
        return LIMITS.get(column, Limits(nan=True, null=True))

    def wrong(self, rows: pa.Table) -> str | None:
        """What cannot be, of stored rows whose columns are within their limits."""
        return None

    def reads(self, column: str) -> bool:
        """Whether it makes something of this column of encoded rows, if it is there."""
        return column in LIMITS or column == KEY or column.startswith((VALUE.format(""), NAME.format("")))

    def may_have(self, field: pa.Field, columns: pa.Schema) -> bool:
        """Whether its rows may have this column or not, where the encoder makes these."""
        return False

    # ----------------------------------------------------------------------------------------------------- running

    def executor(self, grace: Ints | None) -> Executor:
        """Runs its engines; `grace`, by beat, as for `PerGroup`."""
        return PerGroup(self.meta, self, grace)

    @property
    def unit(self) -> str:
        """Its kernels, as they are known where they are compiled in the background."""
        return unit_of(self.planned.choice.engine, self.planned.family.score_type)

    @property
    def is_compiled(self) -> bool:
        """Whether its kernels are there, as far as something can stand in for them."""
        return True

    def first_use(self, purpose: str) -> AbstractContextManager[None]:
        """Around what may compile its kernels here: other processes that want the same wait, and find them on disk."""
        return first_use(self.unit, purpose)

    def standby(self, grace: Ints | None) -> Executor | None:
        """An executor without kernels, while its own are being compiled; None where there is none, or no need."""
        return None

    def build(self) -> AnyEngine:
        return self.planned.build()

    def batch(self, rows: pa.Table | None, ids: Ints) -> Any:
        """Encoded rows in feed order, as the engine wants them, labelled; none for None."""
        raise NotImplementedError

    @property
    def folds(self) -> bool:
        """Whether rows that were fed can be put together later: all windows to come hold all of them, or answers allow
        for it. Then a row may stand for several that came, and who goes on from a state cannot repeat what was fed."""
        return False

    def fold(self, rows: pa.Table) -> pa.Table:
        """As few rows as say the same, or enough."""
        raise NotImplementedError

    def heirs(self, old: pa.Table, new: pa.Table) -> Ints:
        """For each of the rows that went into them, a place among the new ones that lists the same."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------------------- showing

    def shown(self, reports: Reports, report: Ints, rank: Ints, rows: pa.Table, store: RowStore) -> Columns:
        """Columns of answers that are no columns of their rows; rank 0 is a row that left."""
        return {}

    def hides(self, names: Sequence[str]) -> tuple[str, ...]:
        """Of these columns of encoded rows: those that no answer needs."""
        return self.hidden

    def words(self, reports: Reports, store: RowStore) -> Ints | None:
        """Beside the ids of reports: equal where what is told of the same has not changed. None if that is its rank."""
        return None

    def listed(self, store: RowStore, ids: Ints) -> Ints:
        """What is listed: the records themselves, or what they are of."""
        return ids

    # ---------------------------------------------------------------------------------------------------- partitions

    @property
    def partitioning(self) -> Partitioning:
        return ByGroup(self.planned.parts) if self.planned.family.per else Partitioning()

    @property
    def why_in_order(self) -> str | None:
        """Why nobody can report a window who has not reported those before it; None where the records of a window are
        all that its report takes."""
        family = self.planned.family
        if family.kind == "rows":
            return "windows of rows end where records are counted through"
        if family.unbounded:
            return "every window holds all records before it"
        if any(query.changes for query in family.queries):
            return "changes are told against the list before"
        return "what was learnt before decides what is kept" if family.approximate is not None else None

    def parts(self, rows: pa.Table, aligned: bool = True) -> Iterator[tuple[int, pa.Table]]:
        """What a task sends on of encoded rows, by bucket."""
        return self.partitioning.split(self.prune(rows, aligned))

    def pruned_parts(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """The same of rows in which looking once more would not find much to drop."""
        return self.partitioning.split(rows)

    def location(self, query: Query) -> str:
        """Where the state of one of its queries is: in a family, and in a bucket of it if that depends on the query."""
        return self.planned.family.fingerprint

    # ------------------------------------------------------------------------------------------------------- queries

    def covers(self, one: Query, other: Query) -> bool:
        """Of two queries of the family: whether all that the other needs, at any time, is kept for this one. Mostly
        nobody asks: windows that began before a query are over soon."""
        return False

    def joined(self, query: Query, place: int) -> PlannedFamily | None:
        """With one query more, the last, if it can be complete at once; else None."""
        return None
