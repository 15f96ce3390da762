"""Queries that join and leave a running stream.

A query that joins a multi-score family sees the whole window at once. Anywhere else what it needs may have been dropped
before it came, so its windows that began before then are marked as warming; windows without a start for ever, unless
all it needs was kept for another query. No other query's rows change. Over an
uncertain stream the plan of all changes with them: those that stay keep their moments until the end of their old cycle
(see transition).
"""

from __future__ import annotations

from dataclasses import replace

from skyband.language import canonical, shape
from skyband.model import Query
from skyband.planner import PlannedFamily, ScoreTypeOf, choose, plan
from skyband.runtime.clock import clock_at
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.state import operator_bytes, restore_operator
from skyband.runtime.stream_operator import StreamOperator
from skyband.runtime.warm_up import Beginning, beginning


def add_query(stream: StreamOperator, query: Query, place: int, engine: str | None, score_type: ScoreTypeOf) -> None:
    """`place` is the query's in the workload, the last."""
    stream.catch_up()
    for number, operator in enumerate(stream.families):
        grown = operator.model.joined(query, place)
        if grown is not None and operator.executor.join(grown):
            operator.adopt(grown)
            operator.warm_up.join(operator.warm_up.first)
            stream.put(number, operator)
            return
    (alone,) = plan([stream.stream], [query], canonical, engine, shape, score_type).families
    family = replace(alone.family, places=(place,))
    for number, operator in enumerate(stream.families):
        both = operator.planned.family
        if both.fingerprint == family.fingerprint and operator.model.grows:
            both = replace(both, queries=(*both.queries, query), places=(*both.places, place))
            grown_operator = _rebuilt(stream, operator, PlannedFamily(both, choose(both, engine)))
            last = len(both.queries) - 1
            begin = _beginning(stream, grown_operator)
            grown_operator.warm_up[last] = grown_operator.complete_from(last, begin, range(last))
            stream.put(number, grown_operator)
            return
    fresh = FamilyOperator(PlannedFamily(family, alone.choice))
    fresh.clock = clock_at(family.kind, stream.watermark)
    stream.put(None, fresh)
    fresh.warm_up[0] = _beginning(stream, fresh)


def remove_query(stream: StreamOperator, name: str) -> None:
    """A family that loses its last query goes with all it holds."""
    stream.catch_up()
    for number, operator in enumerate(stream.families):
        names = [query.name for query in operator.planned.family.queries]
        if name not in names:
            continue
        which = names.index(name)
        if len(names) == 1:
            stream.drop(number)
            return
        less = PlannedFamily(operator.planned.family.without(which), operator.planned.choice)
        if operator.executor.leave(less, which):
            operator.changes.leave(which)
            operator.warm_up.leave(which)
            operator.adopt(less)
        else:
            operator = _rebuilt(stream, operator, less)
        stream.put(number, operator)
        return


def renumber(stream: StreamOperator, place: dict[str, int]) -> None:
    """Places of the queries in the workload as it is now."""
    for operator in stream.families:
        family = operator.planned.family.renumbered(place)
        if family != operator.planned.family:
            operator.adopt(PlannedFamily(family, operator.planned.choice))


def _rebuilt(stream: StreamOperator, old: FamilyOperator, planned: PlannedFamily) -> FamilyOperator:
    """The same records and clock under another set of queries."""
    new = FamilyOperator(planned)
    restore_operator(new, operator_bytes(old), stream.seen(planned.family))
    return new


def _beginning(stream: StreamOperator, operator: FamilyOperator) -> Beginning:
    family = operator.planned.family
    return beginning(family, stream.census.of(family), stream.watermark, tick=1)
