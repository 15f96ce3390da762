"""Families of uncertain records: their meta query follows a sharing plan, which is told to a person: groups, moments,
and what sharing saves."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from skyband.engines.base import registered, registration
from skyband.errors import SkybandError
from skyband.model import MetaQuery, Query, Using
from skyband.planner.choice import ASKED_FOR, Choice, first_choice
from skyband.planner.families.base import Facts, FamilyKind, depths, refused, unable
from skyband.planner.families.complete import refuse_deletes
from skyband.planner.families.family import Family
from skyband.planner.schedule import Sharing, beats, engine_cost, normal_cost, shared_passes
from skyband.planner.sharing import Cost, cost_of_groups

if TYPE_CHECKING:
    from skyband.planner.plan import PlannedFamily

SHOWN = 8


class UncertainFamilies(FamilyKind):
    def meta(self, family: Family) -> MetaQuery:
        """As many beats per query as the sharing plan gives it."""
        plan = beats(family.queries, sharing_of(family))
        return MetaQuery(
            family.kind,
            width=np.array([query.window.width for query in family.queries])[plan.query],
            period=plan.period,
            phase=plan.phase,
            k=depths(family)[plan.query],
            query=plan.query,
            ascending=family.ascending,
            using=tuple(query.using or Using() for query in family.queries),
        )

    def choose(self, family: Family, forced: str | None) -> Choice:
        refuse_deletes(family)
        errors = family.error is not None
        known = registered("uncertain").values()
        able = [each for each in known if each.capabilities.errors == errors and unable(family, each) is None]
        reason = "possible worlds: one pass for every k of the same window"
        if errors:
            reason = "scores with an error: one integration for every k of the same window"
        if forced is not None and registration(forced) not in able:
            asked = registration(forced)
            if asked.capabilities.data == "uncertain" and (why := unable(family, asked)):
                raise refused(asked, why, able)
            what = "ranks scores with an error" if errors else f"is over {family.stream.name}, uncertain"
            raise SkybandError(
                f"engine {forced} was asked for, and query {family.queries[0].name} {what}",
                expected=" or ".join(each.name for each in able),
            )
        return Choice(forced or first_choice(able).name, reason if forced is None else f"{ASKED_FOR}; {reason}")

    def notes(self, query: Query) -> list[str]:
        often = ["FREQUENCY: at most so far apart"] if query.window.at_least_every else []
        return ([] if query.using is None else [str(query.using)]) + often

    def facts(self, planned: PlannedFamily) -> Facts:
        return sharing_facts(planned.family)


def sharing_of(family: Family) -> list[Sharing]:
    """Which queries share passes, and when those are."""
    return shared_passes(family.queries, cost_of(family))


def cost_of(family: Family) -> Cost:
    """What a pass of its engine costs."""
    return engine_cost if family.error is None else normal_cost


def sharing_facts(family: Family) -> Facts:
    """Lines for `explain`, for each length of window."""
    stream = family.stream
    rules = f", records of one {stream.rule} exclude each other" if stream.rule else ", records are independent"
    facts = []
    if family.error is not None:
        facts.append(("scores", f"normal, with a standard error of {family.error}; probabilities within 1e-9"))
    if stream.probability is not None:
        facts.append(("worlds", f"a record exists with probability {stream.probability}{rules}"))
    for sharing in sharing_of(family):
        facts += _window(family, sharing)
    return facts


def _window(family: Family, sharing: Sharing) -> Facts:
    queries = family.queries
    show = queries[sharing.queries[0]].window.length_text
    facts = [("passes", f"over the last {show(sharing.width)}, for {_names(queries, sharing.queries)}")]
    if sharing.slides:
        facts.append(("slides", f"{_names(queries, sharing.slides)}: moments fixed, one pass where they coincide"))
    if sharing.riders:
        pairs = [f"{queries[rider].name} with {queries[host].name}" for rider, host in sharing.riders]
        facts.append(("rides", f"{_listed(pairs)}: no larger k, no longer apart than asked, for nothing"))
    if sharing.cycle is None:
        return facts
    groups = [
        f"{number}: every {show(group.every * sharing.unit)} at most, k {group.k:,} ({_names(queries, group.members)})"
        for number, group in enumerate(sharing.groups, 1)
    ]
    facts.append(("groups", _listed(groups, "; ")))
    facts.append(("plan", _plan(sharing, show)))
    facts.append(("cost", _cost(sharing, cost_of(family), show)))
    return facts


def _plan(sharing: Sharing, show: object) -> str:
    assert sharing.cycle is not None
    assert callable(show)
    cycle, unit = sharing.cycle, sharing.unit
    if cycle.periods is not None:
        when = [f"group {number} every {show(period * unit)}" for number, period in enumerate(cycle.periods, 1)]
    else:
        when = [
            f"{show(int(moment) * unit)} {'group 1' if group == 0 else f'groups 1 to {group + 1}'}"
            for moment, group in islice(zip(cycle.moment, cycle.group.tolist(), strict=True), SHOWN)
        ]
        if len(cycle.moment) > SHOWN:
            when.append(f"… {len(cycle.moment) - SHOWN:,} more moments")
    return f"{cycle.name}, a cycle of {show(cycle.length * unit)} since the epoch: {', '.join(when)}"


def _cost(sharing: Sharing, cost: Cost, show: object) -> str:
    assert sharing.cycle is not None
    assert callable(show)
    unit, now, apart = show(sharing.unit), sharing.cycle.per_unit, sharing.apart
    grouped = cost_of_groups(sharing.groups, cost)
    return (
        f"{now:,.1f} µs per {unit}, against {grouped:,.1f} for the groups by themselves and {apart:,.1f} without "
        f"sharing ({apart / now:.1f} times less)"
    )


def _names(queries: tuple[Query, ...], places: tuple[int, ...]) -> str:
    return _listed([queries[place].name for place in places])


def _listed(parts: list[str], between: str = ", ") -> str:
    more = len(parts) - SHOWN
    return between.join(parts[:SHOWN]) + (f"{between}… and {more:,} more" if more > 0 else "")
