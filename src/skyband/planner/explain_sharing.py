"""The sharing plan of an uncertain family, told to a person: groups, moments, and what sharing saves."""

from __future__ import annotations

from itertools import islice

from skyband.model import Query
from skyband.planner.families import Family
from skyband.planner.schedule import Sharing
from skyband.planner.sharing import Cost, cost_of_groups

SHOWN = 8


def sharing_facts(family: Family) -> list[tuple[str, str]]:
    """Lines for `explain`, for each length of window."""
    stream = family.stream
    rules = f", records of one {stream.rule} exclude each other" if stream.rule else ", records are independent"
    facts = []
    if family.error is not None:
        facts.append(("scores", f"normal, with a standard error of {family.error}; probabilities within 1e-9"))
    if stream.probability is not None:
        facts.append(("worlds", f"a record exists with probability {stream.probability}{rules}"))
    for sharing in family.sharing():
        facts += _window(family, sharing)
    return facts


def _window(family: Family, sharing: Sharing) -> list[tuple[str, str]]:
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
    facts.append(("cost", _cost(sharing, family.cost, show)))
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
