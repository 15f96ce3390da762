"""What a query ranks by must tell records apart."""

from __future__ import annotations

from functools import lru_cache

from skyband.errors import SkybandError, Span
from skyband.language.expression import read
from skyband.language.nodes import names
from skyband.language.printing import column_text
from skyband.model import Query, Stream


def check_ranking(query: Query, stream: Stream) -> None:
    """Refuse a query, however it was made, whose ranking says nothing. An object's values may be constants: SUM(1)
    counts them; so may the error of a score."""
    try:
        if query.across is None:
            check_varies(query.by, stream.time)
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


@lru_cache(maxsize=16_384)
def _has_column(text: str) -> bool:
    return next(names(read(text)), None) is not None
