"""Families that are alike, told of in a few lines: what they have in common, and how far the rest reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from skyband.model import Above, Query, TopK
from skyband.planner.families import KINDS
from skyband.planner.plan import PlannedFamily
from skyband.planner.words import some

Number = TypeVar("Number", int, float)
Placed = Sequence[tuple[int, PlannedFamily]]
"""Families, each with its place in the plan."""
MOST = 3
"""Different texts that are listed; of more, how many there are and examples."""


def by_kind(families: Iterable[PlannedFamily]) -> list[list[tuple[int, PlannedFamily]]]:
    """Families of one stream that differ only in score, filter, k and lengths; kinds in the order of their first."""
    found: dict[tuple[object, ...], list[tuple[int, PlannedFamily]]] = {}
    for place, planned in enumerate(families):
        family = planned.family
        window, lists = (family.kind, family.unbounded), (family.thresholds, family.at_most)
        key = family.stream.name, family.data_model, window, family.per, lists, planned.choice.engine
        found.setdefault(key, []).append((place, planned))
    return list(found.values())


def summary(kind: Placed) -> str:
    """What there is to say of all of them."""
    families = [planned.family for _, planned in kind]
    queries = [query for family in families for query in family.queries]
    first, show = families[0], queries[0].window.length_text
    word = KINDS[first.data_model].word.removesuffix("family") + "families"
    per = f" AT MOST some PER {', '.join(first.at_most)}" if first.at_most else ""
    per += f" PER {', '.join(first.per)}" if first.per else ""
    between = f"from number {kind[0][0] + 1:,} to {kind[-1][0] + 1:,}"
    members = some(len(queries), "query", "queries")
    facts = [
        ("scores", _texts(family.order for family in families if family.by)),
        ("filters", _texts(family.where for family in families if family.where)),
        ("grids", _texts(", ".join(map(str, family.attributes)) for family in families if family.attributes)),
        ("engine", kind[0][1].choice.engine),
        ("reports", _limits(queries)),
        ("last", "all time" if first.unbounded else _span([query.window.width for query in queries], show)),
        ("every", _span([query.window.slide for query in queries], show)),
    ]
    head = f"… and {len(kind):,} more {word} like these, {between}: {members} over {first.stream.name}{per}"
    return "\n".join([head, *(f"  {name:<9} {text}" for name, text in facts if text)])


def _texts(said: Iterable[str | None]) -> str:
    texts = list(dict.fromkeys(text for text in said if text))
    if len(texts) <= MOST:
        return "; ".join(texts)
    return f"{len(texts):,}, such as {'; '.join(texts[: MOST - 1])}; {texts[-1]}"


def _limits(queries: Sequence[Query]) -> str:
    top = _span([query.k for query in queries if isinstance(query, TopK)], lambda k: f"{k:,}")
    above = _span([query.threshold for query in queries if isinstance(query, Above)], lambda limit: f"{limit:,}")
    changes = sum(query.changes for query in queries)
    parts = [f"top {top}" if top else "", f"above {above}" if above else ""]
    parts.append(f"{changes:,} of them changes only" if changes else "")
    return ", ".join(part for part in parts if part)


def _span(values: Sequence[Number], show: Callable[[Number], str]) -> str:
    if not values:
        return ""
    low, high = show(min(values)), show(max(values))
    return low if low == high else f"{low} to {high}"
