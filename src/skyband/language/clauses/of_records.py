"""Clauses that look at one record: aggregates belong beside GROUP BY, and that is what to say of them."""

from __future__ import annotations

from skyband.errors import SkybandError, Span
from skyband.language.clauses.words import Said
from skyband.language.expressions.aggregates import first_aggregate


def refuse_aggregates(said: Said, clause: str) -> None:
    """In WHERE, and in SELECT and ORDER BY of a query without GROUP BY."""
    text, span = said
    place = first_aggregate(text)
    if place is None:
        return
    what = text[place.start : place.end]
    where = Span(span.source, span.start + place.start, span.start + place.end)
    if clause == "WHERE":
        raise SkybandError(
            f"`{what}` in WHERE, which looks at one record",
            expected="a condition on columns of a record",
            hint=f"conditions on groups go into HAVING: GROUP BY client HAVING {what} > 5",
            span=where,
        )
    raise SkybandError(
        f"`{what}` in {clause} without GROUP BY",
        expected="GROUP BY and the columns by which records are summed up",
        hint=f"GROUP BY client ORDER BY {what} DESC ranks the groups of records that have one client each",
        span=where,
    )
