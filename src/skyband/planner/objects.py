"""Objects whose attributes arrive apart: what may be dropped, and the facts that `explain` tells of them."""

from __future__ import annotations

import numpy as np

from skyband.engines.base import registration
from skyband.model.across import number_text
from skyband.planner.families import Family

SHOWN = 6
"""Streams named; the rest are counted."""


def why_everything(family: Family) -> str | None:
    """Why every value of the window must be kept; None where some can be dropped.

    An object is dropped when enough others are ahead of all it can still reach. So what it can reach must be known,
    and whoever is ahead must not fall back.
    """
    assert family.across is not None
    assembly = family.across.assembly(family.combine)
    if family.ascending:
        return "lowest scores come first, and whoever leads now may rise out of the list"
    if family.across.collect == "LAST":
        return "a LAST value may be lower than the one before, so nobody is sure to stay ahead"
    if not len(assembly):
        return "the streams are not declared (ACROSS column IN (...)), so nobody knows how far a score can rise"
    feeds = family.across.streams
    endless = [feed.name for feed in feeds if feed.between is None]
    if endless:
        return f"no highest value is declared for {_some(endless)} (BETWEEN low AND high), so a score can rise any far"
    if family.across.collect == "SUM" and bool((assembly.low < 0).any()):
        negative = [feed.name for feed in feeds if feed.between is not None and feed.between[0] < 0]
        return f"values of {_some(negative)} may be negative, so nobody is sure to stay ahead"
    return None


def object_facts(family: Family, engine: str) -> list[tuple[str, str]]:
    """Lines of `explain`."""
    across = family.across
    assert across is not None
    facts = [("objects", f"{', '.join(across.object)}, with values that arrive apart, by {across.stream}")]
    facts.append(("streams", _some([feed.name for feed in across.streams]) if across.streams else "as they come"))
    weighted = ", each times its weight" if any(feed.weight != 1.0 for feed in across.streams) else ""
    missing = "0" if not across.streams else _lowest(family)
    attribute = {"SUM": "the sum", "MAX": "the largest", "LAST": "the latest"}[across.collect]
    made = f"{family.combine} over the streams of {attribute} of {family.by}{weighted}; {missing} where there is none"
    facts.append(("score", made))
    drops = registration(engine).capabilities.drops
    whole = why_everything(family) if drops else f"{engine} drops nothing"
    if whole is not None:
        facts.append(("keeps", f"every value of the window: {whole}"))
        return facts
    assembly = across.assembly(family.combine)
    where = "ever" if across.ever else "in a window"
    times = f", at most {_span(assembly.times)} of an object {where}" if across.collect == "SUM" else ""
    facts.append(("bounds", f"no value above {_span(assembly.high)}{times}"))
    facts.append(("drops", "objects that cannot reach the list any more, whatever still arrives for them"))
    return facts


def _lowest(family: Family) -> str:
    assert family.across is not None
    return _span(family.across.assembly(family.combine).low)


def _span(values: np.ndarray) -> str:
    low, high = number_text(float(values.min())), number_text(float(values.max()))
    return low if low == high else f"{low} to {high} (by stream)"


def _some(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
