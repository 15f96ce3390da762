"""Families: the queries that can share one candidate set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skyband.engines.base import DataModelName
from skyband.model import DOUBLE, Above, Across, Approximate, Join, Kind, Query, ScoreType, Stream, Then, TopK
from skyband.model.across import combination_word
from skyband.model.apart import EXPRESSION
from skyband.model.grouping import Aggregate
from skyband.model.many import Attribute, Shape
from skyband.model.names import quoted

ScoreTypeOf = Callable[[str, str], ScoreType]
"""The type of a score over the stream of that name."""
IDENTITY = 2
"""The version of what `Family.identity` writes out."""


@dataclass(frozen=True)
class Family:
    """Same stream, score, order, second key, filter, PER and window kind; of objects also the same ACROSS, and
    all exact or all equally approximate. Window, slide and k may differ without limit.

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
    """Of a multi-score family, one of families that differ in score and filter: what each query asks."""
    attributes: tuple[Attribute, ...] = ()
    """Its columns: expressions that the scores and filters are made of."""
    across: Across | None = None
    """For objects whose attributes arrive apart; then `by` is what is computed of each record."""
    combine: str = ""
    """How their attributes make a score: a word, or an expression over their names."""
    approximate: Approximate | None = None
    logged: bool = False
    """Of objects and groups: whether the queries send changes. On Spark those need all in one place, others do not."""
    error: str | None = None
    """The standard error of the score, where that is uncertain itself."""
    grouped: tuple[str, ...] = ()
    """GROUP BY: the columns that make groups."""
    aggregates: tuple[Aggregate, ...] = ()
    """All that its queries need of a group."""
    rest: bool = False
    """Of groups: whether the queries want to know of all that are not listed, for which these have to be in one place
    as well."""
    ties: bool = False
    """WITH TIES: the queries list whatever has the score of the k-th."""
    at_most: tuple[str, ...] = ()
    """AT MOST n PER: the columns by whose values a list is capped; n is each query's own."""
    half_life: int | None = None
    """DECAY: after so many microseconds a score counts half."""
    unbounded: bool = False
    """Its windows have no start. What has to be kept is another set then: the best of all time."""
    score_type: ScoreType = DOUBLE
    """As far as the columns are known. Data models that compute with scores have doubles."""
    then: Then | None = None
    """What ranks equal scores."""
    then_type: ScoreType = DOUBLE

    @property
    def join(self) -> Join | None:
        """What its queries have in common, as they have the filter in which it is."""
        return self.queries[0].join

    @property
    def filter(self) -> str:
        """What its queries ask beside that."""
        where = self.where or ""
        return where if self.join is None else where.removeprefix(quoted(self.join.flag)).removeprefix(" AND ")

    @property
    def data_model(self) -> DataModelName:
        """What its records are."""
        if self.attributes:
            return "multi_score"
        if self.grouped:
            return "groups"
        if self.across is not None:
            return "objects"
        return "uncertain" if self.stream.probability is not None or self.error is not None else "complete"

    def identity(self) -> dict[str, Any]:
        """All that says which records it keeps, and what of them, written out: it depends on none of its queries."""
        said: dict[str, Any] = {
            "identity": IDENTITY,
            "stream": self.stream.name,
            "data model": self.data_model,
            "score": self.by,
            "order": "ASC" if self.ascending else "DESC",
            "filter": self.where,
            "per": list(self.per),
            "window": self.kind,
            "thresholds": self.thresholds,
        }
        if self.then is not None:
            said["then"] = [self.then.by, "ASC" if self.then.ascending else "DESC"]
        if self.ties:
            said["ties"] = True
        if self.at_most:
            said["at most per"] = list(self.at_most)
        if self.unbounded:
            said["unbounded"] = True
        if self.half_life is not None:
            said["half life"] = self.half_life
        if self.attributes:
            said["of the last"] = str(self.queries[0].window)
            said["attributes"] = [[each.text, each.condition] for each in self.attributes]
        if self.data_model == "uncertain":
            said |= {"probability": self.stream.probability, "rule": self.stream.rule, "source": self.stream.source}
            said["error"] = self.error
        if self.across is not None:
            said["across"] = _across(self.across)
            said |= {"combine": self.combine, "changes": self.logged}
            rough = self.approximate
            said["approximate"] = None if rough is None else {"precision": rough.precision, "objects": rough.objects}
        if self.grouped:
            said |= {"groups": list(self.grouped), "aggregates": list(map(str, self.aggregates))}
            said |= {"changes": self.logged, "rest": self.rest}
            if self.approximate is not None:
                said["approximate"] = {"groups": self.approximate.groups}
        return said

    @property
    def order(self) -> str:
        """What its records are ranked by."""
        then = f", {self.then}" if self.then else ""
        return f"{self.by} {'ASC' if self.ascending else 'DESC'}{then}"

    @property
    def fingerprint(self) -> str:
        """Names the family across restarts and workload changes."""
        text = json.dumps(self.identity(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def selected(self) -> tuple[str, ...]:
        """Columns that some query shows as they are, `*` if all."""
        names = dict.fromkeys(name for query in self.queries for name in query.plain)
        return ("*",) if "*" in names else tuple(names)

    @property
    def fixed(self) -> bool:
        """When each query reports depends on no other: none lets the planner choose."""
        return self.data_model != "uncertain" or not any(query.window.at_least_every for query in self.queries)

    def of(self, which: Sequence[int]) -> Family:
        """The same family with these of its queries only."""
        queries, places = tuple(self.queries[i] for i in which), tuple(self.places[i] for i in which)
        return replace(self, queries=queries, places=places, shapes=tuple(self.shapes[i] for i in which if self.shapes))

    def without(self, which: int) -> Family:
        """Without its query number `which`; places stay."""
        return self.of([place for place in range(len(self.queries)) if place != which])

    def renumbered(self, place: dict[str, int]) -> Family:
        """The same queries at their places in another workload."""
        return replace(self, places=tuple(place[query.name] for query in self.queries))


def _across(across: Across) -> dict[str, Any]:
    """In its resolved form, where two spellings of one thing are equal."""
    feeds = [
        {"name": feed.name, "between": feed.between, "times": feed.times, "weight": feed.weight}
        # Only where there is one: what was stored before there were names goes by the same text.
        | ({} if feed.alias is None else {"as": feed.alias})
        for feed in across.streams
    ]
    said = {"object": list(across.object), "stream": across.stream, "collect": across.collect, "streams": feeds}
    return said | {"between": across.between, "times": across.times, "ever": across.ever}


def families(
    streams: Sequence[Stream],
    queries: Sequence[Query],
    canonical: Callable[[str], str],
    score_type: ScoreTypeOf = lambda stream, by: DOUBLE,
) -> list[Family]:
    """Group queries, in the order of their first member; `canonical(text)` is an expression's normal form."""
    by_name = {stream.name: stream for stream in streams}
    members: dict[tuple[Any, ...], list[int]] = {}
    for place, query in enumerate(queries):
        stream = by_name[query.stream or streams[0].name]
        where = canonical(query.condition) if query.condition else None
        error = canonical(query.error) if query.error else None
        value = canonical(query.value) if query.grouping is None else query.by
        shared = stream.name, value, query.ascending, where, query.per, query.window.kind, query.window.unbounded
        certain = not query.computed and stream.probability is None
        kind = score_type(stream.name, query.by) if certain else DOUBLE
        then = None if query.then is None else replace(query.then, by=canonical(query.then.by))
        told = _objects(query, canonical) or _groups(query)
        asked = isinstance(query, Above), error, _listed(query), kind, told, then
        members.setdefault((*shared, *asked), []).append(place)
    found = []
    for key, places in members.items():
        name, by, ascending, where, per, window, unbounded, above, error, listed, kind, more, then = key
        shown = tuple(queries[place] for place in places), tuple(places)
        said = {"error": error, "score_type": kind, "unbounded": unbounded} | dict(listed) | dict(more)
        if then is not None:
            said |= {"then": then, "then_type": score_type(name, then.by)}
        found.append(Family(by_name[name], by, ascending, where, per, window, above, *shown, **said))
    return found


def _listed(query: Query) -> tuple[tuple[str, Any], ...]:
    """What lists of k records must have in common besides, by the names of a family's fields."""
    if not isinstance(query, TopK):
        return ()
    return (("ties", query.ties), ("half_life", query.half_life), ("at_most", query.categories))


def _groups(query: Query) -> tuple[tuple[str, Any], ...]:
    """The same of queries that rank groups. What is asked of the rest, and changes, need all groups in one place."""
    if query.grouping is None:
        return ()
    said = {"grouped": query.grouping.columns, "aggregates": query.grouping.aggregates or (), "logged": query.changes}
    return tuple((said | {"rest": query.grouping.rest, "approximate": query.approximate}).items())


def _objects(query: Query, canonical: Callable[[str], str]) -> tuple[tuple[str, Any], ...]:
    """What queries that rank objects must have in common besides, by the names of a family's fields."""
    if query.across is None:
        return ()
    word, across = combination_word(query.across, query.by), query.across.resolved()
    if word == EXPRESSION:
        word, across = canonical(query.by), query.across.resolved(canonical(query.value))
    said = {"across": across, "combine": word, "approximate": query.approximate}
    return tuple((said | {"logged": query.changes}).items())
