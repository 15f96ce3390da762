"""A plan told to a person: what is shared, how much that saves, and which engine does it."""

from __future__ import annotations

from collections.abc import Sequence

from skyband.model import Above, Query, TopK
from skyband.planner.alike import by_kind, summary
from skyband.planner.families import KINDS, Family
from skyband.planner.families.streams import stream_text
from skyband.planner.plan import Plan, PlannedFamily
from skyband.planner.words import some

SHOWN = 12
"""Queries listed per family; the rest are counted."""
FEW = 20
"""So many families are all told of."""
FIRST = 3
"""Of more, the first of each kind are; the others of that kind are summed up, if they are more than one."""


def explain(plan: Plan, all: bool = False) -> str:
    """The families of the plan, in the order of the workload; with `all` every one, and every query of each."""
    count = len(plan.families)
    head = f"{some(len(plan.queries), 'query', 'queries')}, {some(count, 'family', 'families')}"
    parts = [head, *(stream_text(stream) for stream in plan.streams)]
    told, rest = _told(plan, all)
    most = len(plan.queries) if all else SHOWN
    parts += [_family(plan.families[place], place + 1, count, most) for place in told]
    parts += [summary(kind) for kind in rest]
    if rest:
        parts.append("explain with all=True (skyband explain --all) tells of every family and query")
    if any(query.changes for query in plan.queries):
        parts.append(FOLD + (UPDATE if any(query.changes and query.group_by for query in plan.queries) else ""))
    return "\n\n".join(parts) + "\n"


def _told(plan: Plan, all: bool) -> tuple[list[int], list[Sequence[tuple[int, PlannedFamily]]]]:
    """The places of the families to tell of one by one, and those to sum up, by kind."""
    if all or len(plan.families) <= FEW:
        return list(range(len(plan.families))), []
    kinds = by_kind(plan.families)
    whole = [kind for kind in kinds if len(kind) <= FIRST + 1]
    others = [kind for kind in kinds if len(kind) > FIRST + 1]
    told = [*(member for kind in whole for member in kind), *(member for kind in others for member in kind[:FIRST])]
    return sorted(place for place, _ in told), [kind[FIRST:] for kind in others]


FOLD = """\
changes mode: to fold the log back into lists, keep one list per (query, group_key) and take the rows report by report:
  leave  remove the record          enter  add it with its rank          move  give it its new rank
  records without a row keep their ranks; sorted by rank, the list is the report"""


UPDATE = "\n  update  of a group that keeps its rank: it has other aggregates"


BY_GROUP = """, in each group from its first record; where a query joins later and nobody has counted
            its groups from the beginning, from the stream's record count on, rounded up to a multiple of the slide"""


PARTNER = "a record without a row there does not qualify"


def _family(planned: PlannedFamily, number: int, count: int, most: int) -> str:
    family, kind = planned.family, KINDS[planned.family.data_model]
    facts = (
        [] if family.join is None else [("join", f"{family.join.table} by {', '.join(family.join.using)}: {PARTNER}")]
    )
    facts += [("filter", family.filter)] if family.filter else []
    if family.per:
        facts.append(("per", f"{', '.join(family.per)} (all figures below are for one group)"))
    if family.kind == "rows" and (family.per or family.where):
        facts.append(("rows", "counted" + " before the filter" * bool(family.where) + BY_GROUP * bool(family.per)))
    facts += kind.facts(planned)
    facts.append(("engine", f"{planned.choice.engine}: {planned.choice.reason}"))
    facts.append(("known as", family.fingerprint))
    members = some(len(family.queries), "query", "queries")
    head = f"{kind.word} {number} of {count}: {members} {kind.title(family)}"
    return "\n".join([head, *(f"  {name:<9} {text}" for name, text in facts), *_table(family, most)])


def _table(family: Family, most: int) -> list[str]:
    rows = [("query", "reports", "of the last", "every", "")]
    rows += [_row(query, family) for query in family.queries[:most]]
    width = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  " + "  ".join(cell.ljust(width[i]) for i, cell in enumerate(row)).rstrip() for row in rows]
    if len(family.queries) > most:
        lines.append(f"  … and {len(family.queries) - most:,} more")
    return lines


def _row(query: Query, family: Family) -> tuple[str, str, str, str, str]:
    frame, show = query.window, query.window.length_text
    limit = f"top {query.k:,}" if isinstance(query, TopK) else query.limit.lower() if isinstance(query, Above) else ""
    edges = "end" if frame.unbounded else "start"
    notes = [f"windows {edges} at multiples of the slide plus {show(frame.offset)}"] if frame.offset else []
    notes += KINDS[family.data_model].notes(query)
    if query.changes:
        notes.append("changes only")
    last = "all time" if frame.unbounded else show(frame.width)
    return query.name, limit, last, show(frame.slide), "; ".join(notes)
