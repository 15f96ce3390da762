"""`str(query)` is text that parses back to the same query, whatever its names and numbers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import example, given, strategies as st

from skyband.language import parse, settled
from skyband.model import Above, AtMost, CumulatingWindow, Query, Stream, Then, TopK, UnboundedWindow, Window
from skyband.model.window import MOST_WINDOWS
from tests.drawn import examples

WORDS = [
    "select",
    "top",
    "above",
    "per",
    "from",
    "range",
    "rows",
    "where",
    "order",
    "by",
    "desc",
    "asc",
    "frequency",
    "emit",
    "changes",
    "create",
    "stream",
    "query",
    "as",
    "with",
    "error",
    "time",
    "key",
    "slide",
    "offset",
    "x",
    "Price",
]
ODD = [
    "a b",
    'say "hi"',
    "tick`tick",
    "1st",
    "größe",
    "x.y",
    "semi;colon",
    "--",
    "/*",
    "'",
    "\\",
    "new\nline",
    "*star",
    "été",
]
names = st.one_of(
    st.sampled_from(WORDS + [word.upper() for word in WORDS] + ODD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6),
).filter(lambda name: name != "*")
lengths = st.one_of(st.integers(1, 10**6), st.integers(1, 10**6).map(lambda n: n * 60_000_000))
scores = st.sampled_from(
    [
        "price",
        "price * size",
        "desc",
        "- x",
        "abs(order)",
        "frequency + emit",
        "CASE WHEN a THEN b END",
        "'a;b' <=> s",
        '"order by" + 1',
        "x -- why\n+ y",
        "coalesce(`a b`, 0)",
        "s LIKE '%]'",
        "a.b",
    ]
)

expressions = st.dictionaries(names.filter(lambda name: name != "*"), scores, min_size=1, max_size=3)
conditions = scores | st.sampled_from(["NULL", "1 = 1"])


@st.composite
def windows(draw: Any) -> Window:
    kind = draw(st.sampled_from(["range", "rows"]))
    width = draw(lengths)
    slide = draw(st.integers(-(-width // MOST_WINDOWS), width))
    often = draw(st.booleans())
    offset = 0 if often or kind == "rows" else draw(st.integers(-(10**9), 10**9))
    if kind == "range" and not often and draw(st.integers(0, 3)) == 0:
        return UnboundedWindow(slide, offset)
    if kind == "range" and not often and draw(st.booleans()):
        return CumulatingWindow(kind, slide * draw(st.integers(1, 1_000)), slide, offset)
    return Window(kind, width, slide, offset, often)


@st.composite
def queries(draw: Any) -> Query:
    options: dict[str, Any] = {
        "where": draw(st.none() | conditions),
        "per": tuple(draw(st.lists(names, max_size=3))),
        "select": draw(
            st.just("*")
            | st.lists(names, min_size=1, max_size=3)
            | st.dictionaries(names, scores, min_size=1, max_size=3)
        ),
        "ascending": draw(st.booleans()),
        "changes": draw(st.booleans()),
        "stream": "a",
    }
    name, by, window = draw(names), draw(scores), draw(windows())
    if draw(st.booleans()):
        options["then"] = Then(draw(scores), draw(st.booleans()))
    elif draw(st.booleans()):
        error = None if window.special else draw(st.none() | conditions)
        capped = error is None and not window.unbounded and draw(st.booleans())
        ties = error is None and not window.unbounded and not capped and draw(st.booleans())
        lasting = error is None and window.kind == "range" and draw(st.booleans())
        half_life = timedelta(microseconds=draw(st.integers(10**6, 10**15))) if lasting else None
        k = draw(st.integers(1, 2**31 - 1))
        at_most = AtMost(draw(st.integers(1, 2**31 - 1)), tuple(draw(st.lists(names, min_size=1, max_size=3))))
        options["at_most"] = at_most if capped else None
        return TopK(name, k, by, window, error=error, ties=ties, half_life=half_life, **options)
    if window.unbounded or draw(st.booleans()):
        return TopK(name, 3, by, window, **options)
    return Above(name, draw(st.floats(allow_nan=False, allow_infinity=False)), by, window, **options)


@st.composite
def streams(draw: Any) -> Stream:
    key = draw(st.none() | names)
    late = timedelta(microseconds=draw(st.integers(0, 10**12)))
    return Stream(draw(names), draw(names), key, late, None if key is None else draw(st.none() | names))


@examples(300)
@given(queries())
@example(TopK("as", 1, "desc", "5 rows", select=["from"], per=["per"], stream="a"))
@example(TopK("q", 1, "desc", "5 rows", stream="a", then="asc ASC"))
@example(TopK("q", 1, "x", "5 rows", stream="a", at_most=(1, "per"), per="per", select=["per"]))
@example(TopK("q", 1, "x", "5 rows", stream="a", at_most=(1, ["at", "most"]), select=["per", "x"]))
@example(TopK("q", 1, "x", "5 rows", stream="a", select={"at": "most", "most": "at"}))
@example(TopK("q", 1, "x", "5 rows", stream="a", select={"from": '"as"', "as": '"from"', "x": "x", "y": "x"}))
@example(TopK("q", 1, "x", "5 rows", stream="a", select={"from": "price", "x": "x"}))
@example(TopK("q", 1, "x + y", "5 rows", stream="a", select={"x": "price", "y": "x"}, then="y"))
@example(TopK("q", 1, '"a b" * 2', "5 rows", stream="a", select={"a b": '"from"', "from": "`a b`"}))
@example(Above("select", 0, "price", "5 rows", per=["from"], stream="a"))
def test_queries(query: Query) -> None:
    _, found = parse(f"CREATE STREAM a WITH (TIME = ts);\n{query}")
    assert found == [settled(query)]
    assert parse(f"CREATE STREAM a WITH (TIME = ts);\n{found[0]}")[1] == found


@examples(200)
@given(streams())
def test_streams(stream: Stream) -> None:
    found, _ = parse(str(stream))
    assert found == [stream]


TYPES = ["BIGINT", "int", "DECIMAL(10, 2)", "STRING", "timestamp_ntz", "double"]


@examples(100)
@given(st.dictionaries(names, st.sampled_from(TYPES), min_size=1, max_size=5), names, st.data())
def test_streams_with_columns(columns: dict[str, str], name: str, data: st.DataObject) -> None:
    stream = Stream(name, data.draw(st.sampled_from(sorted(columns))), columns=tuple(columns.items()))
    found, _ = parse(str(stream))
    assert found == [stream]
