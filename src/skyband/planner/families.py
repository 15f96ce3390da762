"""Families: the queries that can share one candidate set."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skyband.model import Above, Across, Approximate, Kind, MetaQuery, Query, Stream, TopK, Using
from skyband.model.across import combined
from skyband.model.apart import Assembly
from skyband.model.many import Attribute, Shape
from skyband.planner.schedule import Sharing, beats, engine_cost, normal_cost, shared_passes
from skyband.planner.sharing import Cost

UNLIMITED = 2**31 - 1
"""The k of ABOVE."""


@dataclass(frozen=True)
class Family:
    """Same stream, score, order, filter, PER and window kind; of objects also the same ACROSS, and all exact or all
    equally approximate. Window, slide and k may differ without limit.

    `queries[i]` stands at `places[i]` of the workload.
    """

    stream: Stream
    by: str
    ascending: bool
    where: str | None
    per: tuple[str, ...]
    kind: Kind
    thresholds: bool
    queries: tuple[Query, ...]
    places: tuple[int, ...]
    shapes: tuple[Shape, ...] = ()
    """For a board, a family of families that differ in score and filter: what each query asks."""
    attributes: tuple[Attribute, ...] = ()
    """The columns of a board: expressions that the scores and filters are made of."""
    across: Across | None = None
    """For objects whose attributes arrive apart; then `by` is what is computed of each record."""
    combine: str = ""
    """How their attributes make a score."""
    approximate: Approximate | None = None
    logged: bool = False
    """Of objects: whether the queries send changes. On Spark those need all objects in one place, the others do not."""
    error: str | None = None
    """The standard error of the score, where that is uncertain itself."""

    @property
    def fingerprint(self) -> str:
        """Names the family across restarts and workload changes: it depends on none of its queries."""
        parts: tuple[object, ...] = (self.stream.name, self.by, self.ascending, self.where, self.per, self.kind)
        parts += (self.thresholds,)
        if self.attributes:
            parts += (str(self.queries[0].window), tuple(map(str, self.attributes)))
        if self.uncertain:
            # What is stored of a record depends on these.
            parts += (self.stream.probability, self.stream.rule, self.stream.source)
            parts += () if self.error is None else (self.error,)
        if self.across is not None:
            parts += (self.across, self.combine, self.approximate, self.logged)
        return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()

    @property
    def selected(self) -> tuple[str, ...]:
        """Columns that some query shows, `*` if all."""
        names = dict.fromkeys(name for query in self.queries for name in query.select)
        return ("*",) if "*" in names else tuple(names)

    @property
    def lowest_threshold(self) -> float:
        """No ABOVE query of the family reports a score that is not above this."""
        return min(query.threshold for query in self.queries if isinstance(query, Above))

    @property
    def uncertain(self) -> bool:
        return self.stream.probability is not None or self.error is not None

    @property
    def fixed(self) -> bool:
        """When each query reports depends on nobody else: none lets the planner choose."""
        return not self.uncertain or not any(query.window.at_least_every for query in self.queries)

    def sharing(self) -> list[Sharing]:
        """Of an uncertain family: which queries share passes, and when those are."""
        return shared_passes(self.queries, self.cost)

    @property
    def cost(self) -> Cost:
        """What a pass of its engine costs."""
        return engine_cost if self.error is None else normal_cost

    def meta(self) -> MetaQuery:
        """One beat per query; over an uncertain stream as many as the sharing plan gives it."""
        if self.uncertain:
            return self._shared_meta()

        def of(values: list[int]) -> np.ndarray:
            return np.array(values, np.int64)

        frames = [query.window for query in self.queries]
        return MetaQuery(
            self.kind,
            width=of([frame.width for frame in frames]),
            period=of([frame.slide for frame in frames]),
            phase=of([frame.end_phase() for frame in frames]),
            k=of([query.k if isinstance(query, TopK) else UNLIMITED for query in self.queries]),
            query=np.arange(len(frames)),
            threshold=np.array([query.threshold for query in self.queries if isinstance(query, Above)])
            if self.thresholds and not self.attributes
            else None,
            ascending=self.ascending,
            apart=self._assembly(),
            approximate=self.approximate,
        )

    def _assembly(self) -> Assembly | None:
        """Of objects: how scores are made. What one query has promised, a family that shares its records goes by."""
        spelt = dict.fromkeys(query.across for query in self.queries)
        said = [across.assembly(self.combine) for across in spelt if across is not None]
        return replace(said[0], times=np.minimum.reduce([each.times for each in said])) if said else None

    def _shared_meta(self) -> MetaQuery:
        plan = beats(self.queries, self.sharing())
        return MetaQuery(
            self.kind,
            width=np.array([query.window.width for query in self.queries])[plan.query],
            period=plan.period,
            phase=plan.phase,
            k=np.array([query.k if isinstance(query, TopK) else UNLIMITED for query in self.queries])[plan.query],
            query=plan.query,
            ascending=self.ascending,
            using=tuple(query.using or Using() for query in self.queries),
        )


def families(streams: Sequence[Stream], queries: Sequence[Query], canonical: Callable[[str], str]) -> list[Family]:
    """Group queries, in the order of their first member; `canonical(text)` is an expression's normal form."""
    by_name = {stream.name: stream for stream in streams}
    members: dict[Family, list[int]] = {}
    for place, query in enumerate(queries):
        stream = by_name[query.stream or streams[0].name]
        by = canonical(query.value)
        where = canonical(query.where) if query.where else None
        thresholds = isinstance(query, Above)
        error = canonical(query.error) if query.error else None
        shared = Family(
            stream, by, query.ascending, where, query.per, query.window.kind, thresholds, (), (), error=error
        )
        if query.across is not None:
            combine, rough = combined(query.by)[0], query.approximate
            shared = replace(
                shared, across=query.across.resolved(), combine=combine, approximate=rough, logged=query.changes
            )
        members.setdefault(shared, []).append(place)
    return [
        replace(shared, queries=tuple(queries[place] for place in places), places=tuple(places))
        for shared, places in members.items()
    ]
