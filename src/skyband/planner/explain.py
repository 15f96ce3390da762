"""A plan told to a person: what is shared, how much that saves, and which engine does it."""

from __future__ import annotations

import numpy as np

from skyband.model import Above, Ints, MetaQuery, Query, Stream, TopK
from skyband.model.duration import duration_text
from skyband.planner.explain_sharing import sharing_facts
from skyband.planner.families import Family
from skyband.planner.objects import object_facts
from skyband.planner.plan import Plan, PlannedFamily

SHOWN = 12
"""Queries listed per family; the rest are counted."""


def explain(plan: Plan) -> str:
    """Every family of the plan, in the order of the workload."""
    count = len(plan.families)
    head = f"{_some(len(plan.queries), 'query', 'queries')}, {_some(count, 'family', 'families')}"
    parts = [head, *(_stream(stream) for stream in plan.streams)]
    parts += [_family(planned, number, count) for number, planned in enumerate(plan.families, 1)]
    if any(query.changes for query in plan.queries):
        parts.append(FOLD)
    return "\n\n".join(parts) + "\n"


FOLD = """\
changes mode: to fold the log back into lists, keep one list per (query, group_key) and take the rows report by report:
  leave  remove the record          enter  add it with its rank          move  give it its new rank
  records without a row keep their ranks; sorted by rank, the list is the report"""


def _stream(stream: Stream) -> str:
    parts = [f"time {stream.time}"]
    if stream.key:
        parts.append(f"key {stream.key}")
    parts.append(f"up to {duration_text(stream.lateness)} late" if stream.lateness else "in time order")
    if stream.op:
        parts.append(f"deletes by {stream.op}")
    if stream.probability:
        parts.append("uncertain")
    return f"stream {stream.name}: {', '.join(parts)}"


BY_GROUP = """, in each group from its first record; where a query joins later and nobody has counted
            its groups from the beginning, from the stream's record count on, rounded up to a multiple of the slide"""
SPARK_DEALT = "tasks send on what some query may need; queries are dealt to keys of the state, which keep no more"
SPARK_WHOLE = "the stream travels whole, to one key of the state"


def _board(planned: PlannedFamily, number: int, count: int) -> str:
    family = planned.family
    linear = sum(bool(shape.terms) for shape in family.shapes)
    limited = sum(bool(shape.ranges) for shape in family.shapes)
    scores = f"{len(family.shapes):,}, {linear:,} of them weighted sums of these"
    facts = [
        ("grid", ", ".join(map(str, family.attributes))),
        ("scores", scores + (f"; {limited:,} look at a part of the grid only" if limited else "")),
        ("keeps", "every record of the window, once; a list for each query"),
        ("on Spark", SPARK_WHOLE if family.stream.op else SPARK_DEALT),
        ("engine", f"{planned.choice.engine}: {planned.choice.reason}"),
        ("known as", family.fingerprint),
    ]
    members = _some(len(family.queries), "query", "queries")
    head = f"board {number} of {count}: {members} over {family.stream.name} that differ in score or filter"
    return "\n".join([head, *(f"  {name:<9} {text}" for name, text in facts), *_table(family)])


def _family(planned: PlannedFamily, number: int, count: int) -> str:
    if planned.family.attributes:
        return _board(planned, number, count)
    family, meta = planned.family, planned.meta
    facts = [("filter", family.where)] if family.where else []
    if family.per:
        facts.append(("per", f"{', '.join(family.per)} (all figures below are for one group)"))
    if family.kind == "rows" and (family.per or family.where):
        facts.append(("rows", "counted" + " before the filter" * bool(family.where) + BY_GROUP * bool(family.per)))
    if family.uncertain:
        facts += sharing_facts(family)
    elif family.across is not None:
        facts += object_facts(family, planned.choice.engine)
    else:
        facts.append(("views", _views(meta, family)))
        if not family.thresholds:
            facts.append(("k", _depths(meta)))
        facts.append(("panes", _panes(meta, family)))
    facts.append(("engine", f"{planned.choice.engine}: {planned.choice.reason}"))
    facts.append(("known as", family.fingerprint))
    order = "ASC" if family.ascending else "DESC"
    members = _some(len(family.queries), "query", "queries")
    by = family.by if family.across is None else f"{family.combine}({family.by})"
    head = f"family {number} of {count}: {members} over {family.stream.name} by {by} {order}"
    lines = [head, *(f"  {name:<9} {text}" for name, text in facts), *_table(family)]
    return "\n".join(lines)


def _views(meta: MetaQuery, family: Family) -> str:
    """Views and what separate execution would keep, once the longest window is full."""
    starts, _, apart = meta.views(meta.longest)
    if len(starts) == apart:
        return f"{len(starts):,} alive"
    return f"{len(starts):,} alive, against {apart:,} in separate execution ({apart / len(starts):.1f} times fewer)"


def _depths(meta: MetaQuery) -> str:
    _, k, _ = meta.views(meta.longest)
    values, counts = np.unique(k, return_counts=True)
    if len(values) == 1:
        return f"{values[0]:,} in every view"
    if len(values) <= 4:
        return ", ".join(f"{value:,} in {_some(n, 'view', 'views')}" for value, n in zip(values, counts, strict=True))
    return f"{values[0]:,} to {values[-1]:,}, by view (median {int(np.median(k)):,}); at most {meta.most:,} of a pane"


def _panes(meta: MetaQuery, family: Family) -> str:
    size = pane_sizes(meta)
    show = family.queries[0].window.length_text
    if size.min() == size.max():
        return f"{show(int(size[0]))} each"
    return f"{show(int(size.min()))} to {show(int(size.max()))}, median {show(int(np.median(size)))}"


def pane_sizes(meta: MetaQuery) -> Ints:
    """Stretches between neighbouring view starts and report moments, over one longest window in the steady state."""
    first = meta.longest
    edge = [np.array([first, 2 * first])]
    for phase in (meta.phase, meta.phase - meta.width):
        for step, shift in zip(meta.period.tolist(), phase.tolist(), strict=True):
            edge.append(np.arange(first + (shift - first) % step, 2 * first, step))
    return np.diff(np.unique(np.concatenate(edge)))


def _table(family: Family) -> list[str]:
    rows = [("query", "reports", "of the last", "every", "")]
    rows += [_row(query, family) for query in family.queries[:SHOWN]]
    width = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  " + "  ".join(cell.ljust(width[i]) for i, cell in enumerate(row)).rstrip() for row in rows]
    if len(family.queries) > SHOWN:
        lines.append(f"  … and {len(family.queries) - SHOWN:,} more")
    return lines


def _row(query: Query, family: Family) -> tuple[str, str, str, str, str]:
    frame, show = query.window, query.window.length_text
    limit = f"top {query.k:,}" if isinstance(query, TopK) else query.limit.lower() if isinstance(query, Above) else ""
    notes = [f"windows start at multiples of the slide plus {show(frame.offset)}"] if frame.offset else []
    if query.using is not None:
        notes.append(str(query.using))
    if frame.at_least_every and family.uncertain:
        notes.append("FREQUENCY: at most so far apart")
    elif frame.at_least_every:
        notes.append(f"FREQUENCY: at every multiple of {show(frame.slide)} since the epoch")
    if query.approximate is not None:
        notes.append(str(query.approximate))
    if query.changes:
        notes.append("changes only")
    return query.name, limit, show(frame.width), show(frame.slide), "; ".join(notes)


def _some(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
