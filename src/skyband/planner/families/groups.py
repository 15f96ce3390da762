"""Families of groups: records summed up by some of their columns, ranked by what that makes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skyband.engines.base import registered, registration
from skyband.errors import SkybandError
from skyband.model import MetaQuery, Query
from skyband.model.approximate_groups import VALUES_KEPT, WITHIN, counts_distinct, groups_kept
from skyband.model.partials import Asked
from skyband.planner.choice import ASKED_FOR, Choice, first_choice, one_of
from skyband.planner.families.base import Facts, FamilyKind
from skyband.planner.families.complete import pane_sizes
from skyband.planner.families.family import Family

SUMMED = ("COUNT", "SUM")

if TYPE_CHECKING:
    from skyband.planner.plan import PlannedFamily


class GroupFamilies(FamilyKind):
    def meta(self, family: Family) -> MetaQuery:
        having = havings(family)
        number = [-1 if text is None else having.index(text) for text in map(_having, family.queries)]
        rest = [query.grouping is not None and query.grouping.rest for query in family.queries]
        return replace(super().meta(family), asked=Asked(np.array(number, np.int64), np.array(rest, bool)))

    def choose(self, family: Family, forced: str | None) -> Choice:
        able = list(registered("groups").values())
        if forced is not None and registration(forced) not in able:
            raise SkybandError(
                f"engine {forced} is for records, and query {family.queries[0].name} ranks groups",
                expected=one_of(able),
            )
        if forced is not None:
            return Choice(forced, ASKED_FOR)
        if family.approximate is not None:
            return Choice(first_choice(able).name, "what comes in is added, with what may be missing of it")
        return Choice(first_choice(able).name, "totals of groups are exact, whatever comes in and leaves")

    def title(self, family: Family) -> str:
        groups = ", ".join(family.grouped)
        return f"over {family.stream.name}, groups of {groups} by {family.by} {'ASC' if family.ascending else 'DESC'}"

    def facts(self, planned: PlannedFamily) -> Facts:
        family, meta = planned.family, planned.meta
        if family.unbounded:
            return [
                ("keeps", f"for each group of all time: {', '.join(map(str, family.aggregates))}"),
                *_once(family),
                *([("having", "; ".join(havings(family)))] if havings(family) else []),
            ]
        show = family.queries[0].window.length_text
        size = pane_sizes(meta)
        panes = show(int(size.min())) + ("" if size.min() == size.max() else f" to {show(int(size.max()))}")
        widths = len(np.unique(meta.width))
        if family.approximate is not None and not counts_distinct(family.aggregates):
            return _approximate(family, panes, _running(widths))
        return [
            ("keeps", f"for each group and pane of {panes}: {', '.join(map(str, family.aggregates))}"),
            ("totals", _totals(family, widths)),
            *_once(family),
            *([("having", "; ".join(havings(family)))] if havings(family) else []),
        ]

    def notes(self, query: Query) -> list[str]:
        rest = query.grouping is not None and query.grouping.rest
        rough = [] if query.approximate is None else [str(query.approximate)]
        return super().notes(query) + (["and a row about the rest"] if rest else []) + rough


def _approximate(family: Family, panes: str, totals: str) -> Facts:
    """The largest counts or sums: what is kept, and how far off they may be."""
    kept, (ranked,) = groups_kept(family.queries), family.aggregates
    each = f" and {', '.join(family.per)}" if family.per else ""
    return [
        ("keeps", f"of each pane of {panes}{each}: the {kept:,} groups with the largest {ranked}"),
        ("drops", f"the others, of which none has more than {_share(kept)} of the pane's {ranked}"),
        ("bounds", f"score_low and score_high, for certain; at most {_share(kept)} of the window's {ranked} apart"),
        ("totals", totals),
    ]


def _share(kept: int) -> str:
    return f"1/{kept + 1:,}"


def _running(widths: int) -> str:
    totals = "one running total" if widths == 1 else f"{widths:,} running totals, one for each length of window,"
    return f"{totals} of each group in the window"


def _totals(family: Family, widths: int) -> str:
    """Where the totals of a window come from, as far as the text of the queries tells it."""
    running = _running(widths)
    score = next((each for each in family.aggregates if str(each) == family.by), None)
    plain = all(each.grouping is None or each.grouping.plain for each in family.queries)
    if score is None or score.distinct or score.function not in SUMMED or not plain:
        return running
    if family.ascending or family.thresholds or family.approximate is not None:
        return running
    otherwise = f"where values are negative, NULL or no whole numbers, {running}"
    return f"differences along one chain of each group, for windows of all lengths; {otherwise}"


def _once(family: Family) -> Facts:
    counted = ", ".join(str(each) for each in family.aggregates if each.distinct)
    pane = "" if family.unbounded else " and pane"
    if family.approximate is None:
        return [("besides", f"every value of each group{pane}, for {counted}")] if counted else []
    wide = 100 * WITHIN / VALUES_KEPT**0.5
    return [
        ("besides", f"at most {VALUES_KEPT:,} values of each group{pane}, for {counted}"),
        ("bounds", f"score_low and score_high, about {wide:.0f} % to each side where a group has more values"),
    ]


def _having(query: Query) -> str | None:
    return None if query.grouping is None else query.grouping.having


def havings(family: Family) -> list[str]:
    """The conditions that its queries have, each once."""
    return list(dict.fromkeys(text for text in map(_having, family.queries) if text is not None))
