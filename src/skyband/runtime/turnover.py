"""Queries that join and leave a running stream.

A query that joins a board sees the whole window at once. Anywhere else what it needs may have been dropped before it
came, so its windows that began before then are marked as warming. Nobody else's rows change. Over an uncertain stream
the plan of all changes with them: those that stay keep their moments until the end of their old cycle (see replan).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skyband.language import canonical, shape
from skyband.model import NEVER, Query
from skyband.planner import Family, PlannedFamily, choose, joined, plan, renumbered, without
from skyband.runtime.board import Board
from skyband.runtime.family import FamilyRun
from skyband.runtime.replan import beats_of, pending
from skyband.runtime.state import family_bytes, restore_family
from skyband.runtime.stream import StreamRun
from skyband.runtime.worlds import Worlds


def add_query(run: StreamRun, query: Query, place: int, engine: str | None) -> None:
    """`place` is the query's in the workload, the last."""
    for number, each in enumerate(run.families):
        if _fits(each, query, place):
            grown = joined(each.planned.family, query, place, shape)
            assert grown is not None
            assert isinstance(each.keeper, Board)
            each.keeper.join(grown)
            _adopt(each, PlannedFamily(grown, each.planned.choice), int(each.since.min()))
            run.seat(number, each, joining=True)
            return
    (alone,) = plan([run.stream], [query], canonical, engine, shape).families
    family = replace(alone.family, places=(place,))
    for number, each in enumerate(run.families):
        if each.planned.family.fingerprint == family.fingerprint and not family.attributes:
            both = each.planned.family
            both = replace(both, queries=(*both.queries, query), places=(*both.places, place))
            grown_run = _rebuilt(run, each, PlannedFamily(both, choose(both, engine)))
            grown_run.since[-1], grown_run.since_in_group[-1] = _beginning(run, both)
            run.seat(number, grown_run, joining=True)
            return
    fresh = FamilyRun(PlannedFamily(family, alone.choice))
    if family.kind == "range":
        fresh.until = run.watermark
        if isinstance(fresh.keeper, Board):
            fresh.keeper.until = run.watermark
    run.seat(None, fresh, joining=True)
    fresh.since[0], fresh.since_in_group[0] = _beginning(run, family)


def remove_query(run: StreamRun, name: str) -> None:
    """A family that loses its last query goes with all it holds."""
    for number, each in enumerate(run.families):
        names = [query.name for query in each.planned.family.queries]
        if name not in names:
            continue
        which = names.index(name)
        if len(names) == 1:
            run.unseat(number)
            return
        less = PlannedFamily(without(each.planned.family, which), each.planned.choice)
        if isinstance(each.keeper, Board):
            each.keeper.leave(less.family, which)
            _adopt(each, less, None)
            _forget(each, which)
            run.seat(number, each, leaving=which)
        else:
            _forget(each, which)
            run.seat(number, _rebuilt(run, each, less), leaving=which)
        return


def renumber(run: StreamRun, place: dict[str, int]) -> None:
    """Places of the queries in the workload as it is now."""
    for each in run.families:
        each.planned = PlannedFamily(renumbered(each.planned.family, place), each.planned.choice)
        if isinstance(each.keeper, Board):
            each.keeper.family = each.planned.family


def _fits(run: FamilyRun, query: Query, place: int) -> bool:
    """The query can join this board, and every column it shows has been kept."""
    family = run.planned.family
    shown = "*" in family.selected or set(query.select) <= set(family.selected)
    logged = query.changes and not any(each.changes for each in family.queries)
    return bool(family.attributes) and shown and not logged and joined(family, query, place, shape) is not None


def _adopt(run: FamilyRun, planned: PlannedFamily, since: int | None) -> None:
    run.planned = planned
    run.changes.queries = np.flatnonzero([query.changes for query in planned.family.queries])
    if since is not None:
        run.since = np.append(run.since, since)
        run.since_in_group.append({})


def _rebuilt(run: StreamRun, old: FamilyRun, planned: PlannedFamily) -> FamilyRun:
    """The same records and clock under another set of queries."""
    new, seen = FamilyRun(planned), run.seen(planned.family)
    restore_family(new, family_bytes(old), seen)
    if isinstance(old.keeper, Worlds) and isinstance(new.keeper, Worlds):
        before = {"pending": old.keeper.waiting, "beats": beats_of(old.planned)}
        new.keeper.hand_over(pending(before, planned, {"": old.until} if seen is None else seen), planned)
    return new


def _forget(run: FamilyRun, which: int) -> None:
    """What is noted of a query that leaves."""
    run.since = np.delete(run.since, which)
    del run.since_in_group[which]
    run.changes.previous = {
        (query - (query > which), group): ids for (query, group), ids in run.changes.previous.items() if query != which
    }


def _beginning(run: StreamRun, family: Family) -> tuple[int, dict[str, int]]:
    """From where on a new query misses nothing, behind the latest record so far; and in which groups later."""
    if family.kind == "rows":
        return run.census.beginning(family)
    return int(NEVER) if run.watermark == NEVER else run.watermark + run.stream.lateness + 1, {}
