"""What people know from elsewhere and write where it has no meaning: functions of many records."""

from __future__ import annotations

from skyband.errors import SkybandError, Span

_MANY_RECORDS = (
    "avg mean sum count max min max_by min_by first last median mode stddev variance corr collect_list collect_set any "
    "every some percentile rank dense_rank row_number lag lead ntile first_value last_value approx_count_distinct"
)
AGGREGATES = frozenset(_MANY_RECORDS.split())
_SEVERAL = {
    "max": "of several columns the largest is greatest(a, b); ",
    "min": "of several columns the smallest is least(a, b); ",
}


def many_records(name: str, span: Span) -> SkybandError:
    """An aggregate where one record is looked at."""
    return SkybandError(
        f"{name}() looks at many records, an expression at one",
        expected="a function of one record's columns",
        hint=f"{_SEVERAL.get(name, '')}GROUP BY makes one row of many records, and HAVING takes conditions on them",
        span=span,
    )
