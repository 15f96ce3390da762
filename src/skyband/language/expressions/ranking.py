"""What a query ranks by must tell records apart, and say what a missing attribute of an object does to its score."""

from __future__ import annotations

from functools import lru_cache

from skyband.errors import SkybandError, Span
from skyband.language.expressions.expression import REMEMBERED, read
from skyband.language.expressions.nodes import names
from skyband.language.expressions.printing import column_text
from skyband.language.expressions.signs import floors, sign
from skyband.model import Query, Stream
from skyband.model.across import combined
from skyband.model.names import quoted


def check_ranking(query: Query, stream: Stream) -> None:
    """Refuse a query, however it was made, whose ranking says nothing or is not defined. An object's values may be
    constants: SUM(1) counts them; so may the error of a score."""
    try:
        if query.across is not None:
            check_missing(query)
        elif query.grouping is None:
            for text in (query.by, *([query.then.by] if query.then else [])):
                check_varies(text, stream.time)
    except SkybandError as wrong:
        wrong.message = f"query {query.name}: {wrong.message}"
        raise


def check_varies(text: str, time: str, source: str | None = None, offset: int = 0) -> None:
    """Refuse a score that no column goes into; `source` and `offset` say where it stands in a longer text."""
    if not _has_column(text):
        raise SkybandError(
            f"every record has the same score, {text}",
            expected="an expression over the stream's columns",
            hint=f"name a column; `unix_micros({column_text(time)})` puts the newest first",
            span=Span(text if source is None else source, offset, offset + len(text)),
        )


def check_missing(query: Query) -> None:
    """A missing attribute counts with 0, so the largest of negative ones depends on whether one is missing."""
    across, value = query.across, query.value
    if across is None or across.streams or across.counts or combined(query.by)[0] != "MAX":
        return
    if never_negative(value, query.where):
        return
    raise SkybandError(
        "MAX over streams that are not declared, of values that may be negative",
        expected=f"the list of them: ACROSS {quoted(across.stream)} IN ('a', 'b', ...)",
        hint="a missing attribute counts with 0, and MAX must know of it where others are below; or let no value be "
        f"negative: `WHERE {value} >= 0`, MAX(abs({value})), MAX(greatest({value}, 0))",
    )


def never_negative(value: str, where: str | None) -> bool:
    """By its form, or because other records do not pass."""
    return sign(read(value), floors(read(where)) if where else set()) > 0


@lru_cache(REMEMBERED)
def _has_column(text: str) -> bool:
    return next(names(read(text)), None) is not None
