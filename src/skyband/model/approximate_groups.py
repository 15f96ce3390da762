"""APPROXIMATE of groups: what it may be asked of. What has no bounds that hold is refused before anything runs."""

from __future__ import annotations

from collections.abc import Iterable

from skyband.errors import SkybandError
from skyband.model.grouping import Aggregate
from skyband.model.query import Query, TopK
from skyband.model.stream import Stream

USUAL, TIMES = 1_000, 10
"""Groups that are kept of a pane, where nothing is said; and as many times k at the least."""
COUNTED = ("COUNT", "SUM")
VALUES_KEPT = 1_024
"""Of a group and pane, where values are counted once."""
WITHIN = 2.2
"""Standard deviations to each side of such a count: the true one is inside 97 times of 100."""


def groups_kept(queries: Iterable[Query]) -> int:
    """How many groups of a pane are kept for queries that share them."""
    kept = [query.approximate.groups for query in queries if query.approximate is not None]
    said = [groups for groups in kept if groups is not None]
    most = max((query.k for query in queries if isinstance(query, TopK)), default=1)
    return max(said) if said else max(USUAL, TIMES * most)


def check_approximate(query: Query, stream: Stream) -> None:
    """Of a query over groups that says APPROXIMATE."""
    rough, grouping = query.approximate, query.grouping
    assert rough is not None
    assert grouping is not None
    if rough.precision is not None or rough.objects is not None:
        raise SkybandError(
            f"query {query.name} ranks groups, and says {rough}, which is about objects",
            expected="APPROXIMATE, or APPROXIMATE KEEPING n GROUPS",
        )
    if stream.op is not None:
        raise SkybandError(
            f"query {query.name} is APPROXIMATE, and stream {stream.name} has deletes (OP = {stream.op})",
            expected="APPROXIMATE over a stream without OP",
            hint="a record of what was left out cannot be taken back",
        )
    for word, said, why in (
        ("WITH REST", grouping.rest, "what is missing of a listed group would be counted in the rest"),
        ("UNBOUNDED", query.window.unbounded, "what is left out of all time would only grow"),
        ("EMIT CHANGES", query.changes, "estimates move with every report, and a log of them is longer than the lists"),
    ):
        if said:
            raise SkybandError(
                f"query {query.name} has both APPROXIMATE and {word}: {why}", expected=f"APPROXIMATE without {word}"
            )
    aggregates = grouping.aggregates or ()
    (_check_distinct if counts_distinct(aggregates) else _check_heaviest)(query, aggregates)


def counts_distinct(aggregates: Iterable[Aggregate]) -> bool:
    """Values are what may be left out, and not groups."""
    return any(each.distinct for each in aggregates)


def _check_distinct(query: Query, aggregates: tuple[Aggregate, ...]) -> None:
    """Every group is kept, and of each as many values as it takes to tell how many there are, about."""
    assert query.approximate is not None
    distinct = [str(each) for each in aggregates if each.distinct]
    if query.approximate.groups is not None:
        raise SkybandError(
            f"query {query.name} asks for {distinct[0]}, and is to keep {query.approximate.groups:,} groups",
            expected="APPROXIMATE alone: values are left out there, and no group",
        )
    if query.by not in distinct and any(each in query.by for each in distinct):
        raise SkybandError(
            f"query {query.name} is APPROXIMATE and ranks groups by {query.by}, which has no bounds",
            expected=f"ORDER BY {distinct[0]} alone, or something that is exact",
        )


def _check_heaviest(query: Query, aggregates: tuple[Aggregate, ...]) -> None:
    """The groups with the largest counts or sums: what is left out has less, and of it nothing else is known."""
    ranked = next((each for each in aggregates if str(each) == query.by), None)
    if ranked is None or ranked.function not in COUNTED or ranked.distinct:
        raise SkybandError(
            f"query {query.name} is APPROXIMATE and ranks groups by {query.by}",
            expected="ORDER BY COUNT(*), COUNT(x) or SUM(x), and nothing made of them",
            hint="exact, which is the default, it can be ranked by any expression",
        )
    if query.ascending:
        raise SkybandError(
            f"query {query.name} is APPROXIMATE and wants the groups with the least: those are left out first",
            expected="ORDER BY ... DESC",
        )
    others = [str(each) for each in aggregates if each != ranked]
    if others or query.having:
        what = f"HAVING {query.having}" if query.having else others[0]
        raise SkybandError(
            f"query {query.name} is APPROXIMATE and asks for {what}: only {ranked}, which it ranks by, has bounds",
            expected=f"no aggregate but {ranked}, and no HAVING",
            hint=f"ABOVE x lists the groups of which {ranked} is above x for certain" if query.having else None,
        )
    kept = groups_kept([query])
    if isinstance(query, TopK) and query.k > kept:
        raise SkybandError(
            f"query {query.name} lists {query.k:,} groups and keeps {kept:,} of each pane",
            expected=f"KEEPING {TIMES * query.k} GROUPS, or fewer, but at least {query.k}",
        )
