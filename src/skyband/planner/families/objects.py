"""Families of objects whose attributes arrive apart: what may be dropped, and what `explain` tells of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skyband.engines.base import registered, registration
from skyband.errors import SkybandError
from skyband.model import MetaQuery, Query
from skyband.model.across import COUNT, number_text
from skyband.model.apart import FALLING, UNLIMITED, Assembly
from skyband.planner.choice import ASKED_FOR, Choice, first_choice, one_of
from skyband.planner.families.base import Facts, FamilyKind, refused, unable
from skyband.planner.families.complete import refuse_deletes
from skyband.planner.families.family import Family

if TYPE_CHECKING:
    from skyband.planner.plan import PlannedFamily

SHOWN = 6
"""Streams named; the rest are counted."""
ATTRIBUTES = {"SUM": "the sum", "MAX": "the largest", "LAST": "the latest", "AVG": "the mean", COUNT: "the number"}
"""What values of a stream are collected to."""


class ObjectFamilies(FamilyKind):
    def meta(self, family: Family) -> MetaQuery:
        return replace(super().meta(family), apart=_assembly(family), approximate=family.approximate)

    def choose(self, family: Family, forced: str | None) -> Choice:
        refuse_deletes(family)
        known = [each for each in registered("objects").values() if unable(family, each) is None]
        exact = [each for each in known if each.capabilities.exact]
        rough = [each for each in known if not each.capabilities.exact]
        able = exact if family.approximate is None else [*rough, *exact]
        if forced is not None:
            asked = registration(forced)
            if asked.capabilities.data == "objects" and (why := unable(family, asked)):
                raise refused(asked, why, able)
            if asked not in able:
                wrong = "may miss some" if asked in rough else "is for records, not for objects"
                raise SkybandError(
                    f"engine {forced} {wrong}, and query {family.queries[0].name} asks for the best objects",
                    expected=one_of(able),
                    hint="APPROXIMATE allows it to miss some" if asked in rough else None,
                )
            return Choice(forced, ASKED_FOR)
        if family.approximate is not None:
            name = first_choice(rough).name
            return Choice(name, f"{family.approximate}: objects that will hardly make it are forgotten")
        reason = "an object is kept while fewer than k others are sure to stay ahead of what it may reach"
        if family.thresholds:
            reason = "an object is kept while it may still rise above the lowest threshold"
        if why_everything(family) is not None:
            reason = "exact; it scores objects as their values come"
        return Choice(first_choice(exact).name, reason)

    def title(self, family: Family) -> str:
        order = "ASC" if family.ascending else "DESC"
        return f"over {family.stream.name} by {_score(family)} {order}"

    def notes(self, query: Query) -> list[str]:
        return super().notes(query) + ([] if query.approximate is None else [str(query.approximate)])

    def facts(self, planned: PlannedFamily) -> Facts:
        return object_facts(planned.family, planned.choice.engine)


def _assembly(family: Family) -> Assembly:
    """How scores are made. What one query has promised, a family that shares its records goes by."""
    spelt = {query.across: query for query in family.queries}
    said = [assembly for query in spelt.values() if (assembly := query.assembly) is not None]
    return replace(said[0], times=np.minimum.reduce([each.times for each in said]))


def _score(family: Family) -> str:
    assert family.across is not None
    return family.combine if family.across.named else f"{family.combine}({family.by})"


def why_everything(family: Family) -> str | None:
    """Why every value of the window must be kept; None where some can be dropped.

    An object is dropped when enough others are ahead of all it can still reach. So what it can reach must be known,
    and whoever is ahead must not fall back.
    """
    assert family.across is not None
    assembly = _assembly(family)
    if family.thresholds and family.across.collect in FALLING:
        return f"an object may come to any value by {family.across.collect}, so each may still rise above"
    if family.ascending and not family.thresholds:
        return "lowest scores come first, and whoever leads now may rise out of the list"
    if family.across.collect == "LAST":
        return "a LAST value may be lower than the one before, so no object is sure to stay ahead"
    if family.across.collect == "AVG":
        return "another value may lower an AVG, so no object is sure to stay ahead"
    if not len(assembly):
        return "the streams are not declared (ACROSS column IN (...)), so it is not known how far a score can rise"
    feeds = family.across.streams
    if family.across.counts:
        endless = [feed.name for feed, times in zip(feeds, assembly.times, strict=True) if times >= UNLIMITED]
        if endless:
            return f"how many values of an object {_some(endless)} may send is not declared (AT MOST n TIMES)"
    endless = [feed.name for feed in feeds if feed.between is None and not family.across.counts]
    if endless:
        return f"no highest value is declared for {_some(endless)} (BETWEEN low AND high), so scores have no limit"
    if family.across.collect == "SUM" and bool((assembly.low < 0).any()):
        negative = [feed.name for feed in feeds if feed.between is not None and feed.between[0] < 0]
        so = "and a sum rises when they leave" if family.thresholds else "so no object is sure to stay ahead"
        return f"values of {_some(negative)} may be negative, {so}"
    if not assembly.steady:
        return "a score may be infinite, or none, where attributes are high"
    return None


def object_facts(family: Family, engine: str) -> Facts:
    """Lines of `explain`."""
    across = family.across
    assert across is not None
    facts = [("objects", f"{', '.join(across.object)}, with values that arrive apart, by {across.stream}")]
    called = [feed.name if feed.alias is None else f"{feed.name} as {feed.alias}" for feed in across.streams]
    facts.append(("streams", _some(called) if called else "as they come"))
    weighted = ", each times its weight" if any(feed.weight != 1.0 for feed in across.streams) else ""
    missing = "0" if not across.streams else _lowest(family)
    attribute = ATTRIBUTES[across.collect]
    how = f"{family.combine}, of" if across.named else f"{family.combine} over the streams of"
    of = "records" if across.counts and family.by == across.collected == "1" else family.by
    facts.append(("score", f"{how} {attribute} of {of}{weighted}; {missing} where there is none"))
    able = registration(engine).capabilities
    whole = why_everything(family) if able.drops else f"{engine} drops nothing"
    if not able.exact and _can_be_foreseen(family):
        facts.append(("drops", "objects that will hardly reach the list, by what is learnt of the streams"))
        return facts
    if whole is not None:
        facts.append(("keeps", f"every value of the window: {whole}"))
        return facts
    assembly = _assembly(family)
    where = "ever" if across.ever else "in a window"
    times = f"at most {_span(assembly.times)} of an object {where}"
    limits = {"SUM": f"no value above {_span(assembly.high)}, {times}", COUNT: f"values: {times}"}
    facts.append(("bounds", limits.get(across.collect, f"no value above {_span(assembly.high)}")))
    reach = "rise above the lowest threshold" if family.thresholds else "reach the list"
    facts.append(("drops", f"objects that cannot {reach} any more, whatever still arrives for them"))
    return facts


def _can_be_foreseen(family: Family) -> bool:
    """Bounds can be learnt where none are declared; but not what a score that may fall will become."""
    assert family.across is not None
    falls = family.across.collect in FALLING or bool((_assembly(family).low < 0).any())
    return why_everything(family) is None or not (family.ascending or falls)


def _lowest(family: Family) -> str:
    assert family.across is not None
    return _span(_assembly(family).low)


def _span(values: np.ndarray) -> str:
    low, high = number_text(float(values.min())), number_text(float(values.max()))
    return low if low == high else f"{low} to {high} (by stream)"


def _some(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
