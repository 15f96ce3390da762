"""Whatever is typed: an answer or a SkybandError that points into the text, never anything else."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, strategies as st

from skyband.errors import SkybandError
from skyband.language import canonical, compile_filter, compile_score, parse
from tests.drawn import examples

CLAUSES = (
    "SELECT TOP ABOVE PER FROM WHERE ORDER BY FREQUENCY EMIT CHANGES CREATE STREAM QUERY AS WITH TIME KEY LATENESS"
)
OTHERS = "RANGE ROWS SLIDE OFFSET MINUTES DESC trades price side ts 1 0 2.5 1e5 1L 1D 'x' é \n"
SIGNS = "* , ; ( ) [ ] = < + - . \" ` ' -- /* */ % { } ? : @ $ # ! ~ | & ^ :: -> => \\"
EXPRESSIONS = (
    "AND OR NOT IN LIKE BETWEEN IS NULL CASE WHEN THEN ELSE END CAST DOUBLE abs( coalesce( TIMESTAMP DATE OVER"
)
WORDS = [word for words in (CLAUSES, OTHERS, SIGNS, EXPRESSIONS) for word in words.split(" ")]
SCHEMA = pa.schema({"price": pa.float64(), "side": pa.string(), "ts": pa.timestamp("us")})
pieces = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=25).map(" ".join)
HEAD = "CREATE STREAM trades WITH (TIME = ts); SELECT TOP 1 FROM trades [ROWS 5] "


def pointed(error: SkybandError, text: str) -> None:
    assert error.span is not None
    assert error.span.source == text
    assert 0 <= error.span.start <= error.span.end <= len(text)
    assert error.message in str(error)


@examples(300)
@given(pieces, st.sampled_from(["", HEAD, HEAD + "ORDER BY ", HEAD + "ORDER BY price WHERE "]))
def test_workloads(text: str, head: str) -> None:
    try:
        parse(head + text)
    except SkybandError as error:
        pointed(error, head + text)


@examples(400)
@given(pieces)
def test_expressions(text: str) -> None:
    for use in (canonical, lambda t: compile_score(t, SCHEMA), lambda t: compile_filter(t, SCHEMA)):
        try:
            use(text)
        except SkybandError as error:
            pointed(error, text)
