"""OBJECT ... ACROSS ...: what is read, what is written back, and every mistake with its place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.errors import SkybandError
from skyband.language import parse
from skyband.model import Above, Across, Approximate, Feed, Query, Stream, TopK
from skyband.model.across import COLLECTED
from skyband.workload import Workload
from tests.drawn import examples
from tests.language.test_errors import Case, test_statements as check_statement
from tests.language.test_round_trip import names

STREAM = "CREATE STREAM trades WITH (TIME = ts);\n"
F = "SELECT TOP 1 FROM trades [ROWS 5] "
COLLECT = "`(SUM)` or `(MAX)` or `(LAST)` or `(AVG)` or `(COUNT)`"
SCORES = "`SUM(expression)` or `MAX(expression)` or `MIN(expression)` or `PRODUCT(expression)`"
EACH_LIST = "the list of them: ACROSS b IN ('a', 'b', ...)"

NEGATIVE = (
    "a missing attribute counts with 0, and MAX must know of it where others are below; or let no value be negative: "
    "`WHERE {0} >= 0`, MAX(abs({0})), MAX(greatest({0}, 0))"
)


def read(text: str) -> Query:
    _, (query,) = parse(STREAM + text)
    return query


def test_the_query_of_the_issue() -> None:
    query = read(
        "CREATE QUERY heavy AS SELECT TOP 20 client FROM trades [RANGE 100 SECONDS SLIDE 1 SECOND] "
        "OBJECT client ACROSS server (SUM) ORDER BY SUM(bytes) DESC EXACT"
    )
    across = Across("client", "server")
    asked = TopK("heavy", 20, "SUM(bytes)", "100 seconds", "1 second", select="client", stream="trades", across=across)
    assert query == asked
    assert (query.value, query.approximate) == ("bytes", None)


def test_everything_that_can_be_declared() -> None:
    query = read(
        "select top 3 from trades [rows 9] approximate keeping 50 objects order by product( a * (b + 1) ) "
        "object trades.x, y across z in ('it''s' weight 0.5, -7 between 0 and 2.5 at most 1 time, 'c' at most 4 times)"
        " (last) each between 0 and 10 at most 2 times ever"
    )
    feeds = [Feed("it's", weight=0.5), Feed("-7", (0, 2.5), 1), Feed("c", times=4)]
    assert query.across == Across(["x", "y"], "z", "LAST", feeds, (0, 10), 2, ever=True)
    assert (query.by, query.value) == ("PRODUCT(a * (b + 1))", "a * (b + 1)")
    assert query.approximate == Approximate(objects=50)


def test_an_expression_over_names_of_the_streams() -> None:
    query = read(
        "SELECT TOP 3 plate FROM trades [ROWS 9] ORDER BY 2 * b + sqrt(T) + least(`the gate`, 100) DESC OBJECT plate "
        "ACROSS camera IN ('bridge' as b, 'tunnel' AS t BETWEEN 0 AND 9, 17 AS `the gate`) (MAX speed * (1 + 1))"
    )
    feeds = [Feed("bridge", alias="b"), Feed("tunnel", (0, 9), alias="t"), Feed(17, alias="the gate")]
    assert query.across == Across("plate", "camera", "MAX", feeds, value="speed * (1 + 1)")
    assert (query.by, query.value) == ("2 * b + sqrt(T) + least(`the gate`, 100)", "speed * (1 + 1)")
    assert query.combination is not None
    assert query.combination(np.array([[1.0], [9.0], [500.0]])).tolist() == [105.0]
    assert read(str(query)) == query


def test_a_count_may_leave_out_what_it_counts() -> None:
    query = read(F + "OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (COUNT) ORDER BY n * m")
    assert (query.value, read(str(query))) == ("1", query)


def test_two_spellings_of_one_thing_are_one_thing() -> None:
    one = Across("o", "s", "SUM", ["a", Feed("b", (1, 2), 3)], (0, 9), 2).resolved()
    assert one == Across("o", "s", "SUM", [Feed("a", (0, 9), 2), Feed("b", (1, 2), 3)]).resolved()
    assert one != Across("o", "s", "SUM", [Feed("a", (0, 9), 2), Feed("b", (1, 2), 3)], times=2, ever=True).resolved()


numbers = st.floats(-1e6, 1e6) | st.integers(-9, 9).map(float)
bounds = st.none() | st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))
times = st.none() | st.integers(1, 10**6)


@st.composite
def acrosses(draw: st.DrawFn) -> Across:
    named = draw(st.lists(names, max_size=3, unique=True))
    weights = st.just(1.0) | st.floats(0, 1e9)
    objects, collect = draw(st.lists(names, min_size=1, max_size=2)), draw(st.sampled_from(COLLECTED))
    limits = st.none() if collect == "COUNT" else bounds
    feeds = [Feed(name, draw(limits), draw(times), draw(weights)) for name in named]
    each = (draw(limits), draw(times), draw(st.booleans())) if feeds else (None, None, False)
    return Across(objects, draw(names), collect, feeds, *each)


rough = st.sampled_from([None, Approximate(), Approximate(precision=0.85), Approximate(objects=17)])


@examples(150)
@given(acrosses(), st.sampled_from(["SUM(x)", "MAX( abs(order) )", "SUM(emit -- why\n+ 1)"]), rough)
def test_what_is_written_reads_back(across: Across, by: str, approximate: Approximate | None) -> None:
    options = {"across": across, "approximate": approximate or False, "stream": "trades", "changes": True}
    query = TopK("q", 2, by.replace("( ", "(").replace(" )", ")"), "5 rows", **options)  # type: ignore[arg-type]
    assert read(str(query)) == query
    if approximate is None:
        above = Above("q", 2.5, query.by, "5 rows", across=across, stream="trades", changes=True)
        assert read(str(above)) == above


OTHER = "without names ORDER BY takes SUM(...), MAX(...), MIN(...) and PRODUCT(...) of what is collected"
RISES = "an expression that rises, or stays, with every attribute"
PROOF = (
    "what can be proven is in docs/language.md under Monotonicity; that factors are not negative is known from "
    "BETWEEN 0 AND ... of their streams"
)
MISTAKES: list[Case] = [
    ("OBJECT a «TROUGH» b (SUM) ORDER BY SUM(x)", "found `TROUGH` after the columns of OBJECT", "`ACROSS`", None),
    ("OBJECT a ACROSS b «ORDER» BY SUM(x)", "found `ORDER` after ACROSS", COLLECT,
     "it says how an object's values in one stream make an attribute"),
    ("OBJECT a ACROSS b («SUN») ORDER BY SUM(x)", "found `SUN` in place of how values are collected", COLLECT,
     "did you mean `SUM`?"),
    ("OBJECT a ACROSS b IN («north») (SUM) ORDER BY SUM(x)", "found `north` in place of a stream",
     "text in single quotes, or a number", None),
    ("OBJECT a ACROSS b IN ('n' «BETWEEN 5 AND 1») (SUM) ORDER BY SUM(x)".replace("'n' «", "«'n' "),
     "stream 'n': values between 5.0 and 1.0 make no sense", "two numbers, the lower one first", None),
    ("OBJECT a ACROSS b IN ('n' WEIGHT 2 «WEIGHT 2») (SUM) ORDER BY SUM(x)", "WEIGHT is said twice of a stream",
     "`BETWEEN low AND high`, `AT MOST n TIMES`, `WEIGHT w`, each once", None),
    ("OBJECT a ACROSS b IN («'n' AT MOST 0 TIMES») (SUM) ORDER BY SUM(x)",
     "stream 'n': AT MOST takes a whole number of times from 1 on, not 0",
     None, None),
    ("«OBJECT a ACROSS b IN ('n', 'n') (SUM)» ORDER BY SUM(x)", "stream 'n' is declared twice", "each stream once",
     None),
    ("«OBJECT a ACROSS b (SUM) EACH AT MOST 3 TIMES» ORDER BY SUM(x)",
     "bounds for EACH stream, and the streams are not declared", EACH_LIST,
     "bounds say how high a score can still rise, which depends on the number of streams"),
    ("«OBJECT a ACROSS b IN ('n' BETWEEN 0 AND 1) (COUNT)» ORDER BY SUM(x)",
     "bounds of values (BETWEEN), which COUNT does not look at", "how many there may be: AT MOST n TIMES",
     "to count some values only, say which: WHERE ..."),
    ("OBJECT a ACROSS b IN ('n') (SUM) EACH «ORDER» BY SUM(x)", "found `ORDER` after EACH",
     "`BETWEEN low AND high`, `AT MOST n TIMES [EVER]`, each once", None),
    ("OBJECT a ACROSS b (SUM) ORDER BY «x»", "objects are ranked by what their attributes make together", SCORES, None),
    ("OBJECT a ACROSS b (SUM) ORDER BY «SUM(x) + SUM(y)»", "objects are ranked by what their attributes make together",
     SCORES, None),
    ("OBJECT a ACROSS b (SUM) ORDER BY SUM(1 + «sqr»(x))", "there is no function `sqr`", None, "did you mean `sqrt`?"),
    ("«OBJECT a ACROSS b (SUM)»", "the query does not say how the attributes of an object make its score",
     "ORDER BY SUM(expression), MAX(...), MIN(...) or PRODUCT(...)", None),
    ("«OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (SUM x)»",
     "the query does not say how the attributes of an object make its score", "ORDER BY and an expression over n, m",
     None),
    ("OBJECT a ACROSS b IN ('n' AS n) (SUM x) ORDER BY 1 + «trades.n»",
     "`trades.n` is a column of a stream, and this is an expression over attributes", "one of n", None),
    ("«OBJECT a ACROSS b (SUM)» ORDER BY MIN(x)", "MIN over streams that are not declared", EACH_LIST,
     "a missing attribute counts with its lowest value, and MIN must know which are missing"),
    ("«OBJECT a ACROSS b (SUM)» ORDER BY MAX(x - 1)",
     "MAX over streams that are not declared, of values that may be negative", EACH_LIST, NEGATIVE.format("x - 1")),
    ("WHERE y >= 0 «OBJECT a ACROSS b (LAST)» ORDER BY MAX(x)",
     "MAX over streams that are not declared, of values that may be negative", EACH_LIST, NEGATIVE.format("x")),
    ("«OBJECT a ACROSS b IN ('n' BETWEEN -1 AND 1) (MAX)» ORDER BY PRODUCT(x)",
     "PRODUCT with values of stream 'n' that may be negative", "a lowest value of 0 or more",
     "a score must not fall when an attribute rises"),
    ("«OBJECT a ACROSS b IN ('n' AS n, 'm') (SUM x)» ORDER BY n", "stream 'm' has no name, and others have",
     "'m' AS name", None),
    ("«OBJECT a ACROSS b IN ('n' AS n, 'm' AS N) (SUM x)» ORDER BY n", "two streams are called n", "a name for each",
     None),
    ("«OBJECT a ACROSS b IN ('n' AS n WEIGHT 2) (SUM x)» ORDER BY n", "stream 'n' has a name and a weight",
     "the weight in ORDER BY: 2 * n", None),
    ("«OBJECT a ACROSS b IN ('n' AS n) (SUM)» ORDER BY n",
     "the streams have names, and (SUM) does not say what is collected", "(SUM expression)",
     "ORDER BY says how the attributes make a score, over the names of the streams"),
    ("«OBJECT a ACROSS b IN ('n') (SUM x)» ORDER BY SUM(x)", "(SUM x) says what is collected, and no stream has a name",
     "names for an expression in ORDER BY: ACROSS b IN ('a' AS a, ...)",
     "without names ORDER BY says it: (SUM) ... ORDER BY SUM(x)"),
    ("OBJECT a ACROSS b IN ('n' AS n) (SUM «sqr»(x)) ORDER BY n", "there is no function `sqr`", None,
     "did you mean `sqrt`?"),
    ("OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (SUM x) ORDER BY n + «x»", "there is no column `x`",
     "one of n, m", None),
    ("OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (SUM x) ORDER BY «SUM(x)»",
     "objects are ranked by SUM(x), and their streams have names", "an expression over the names: n + m", OTHER),
    ("OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (SUM x) ORDER BY «max(x)»",
     "objects are ranked by max(x), and their streams have names", "an expression over the names: greatest(n, m)",
     OTHER),
    ("OBJECT a ACROSS b IN ('n' AS n) (SUM x) ORDER BY «1 + 1»", "every object has the same score, 1 + 1",
     "an expression over n", None),
    ("OBJECT a ACROSS b IN ('n' AS n) (SUM x) ORDER BY «n > 1»", "a score must be a number, and this is a BOOLEAN",
     "a BIGINT or DOUBLE", None),
    ("OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (SUM x) ORDER BY «n - m»",
     "the score falls when attribute `m` rises", RISES, None),
    ("OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (SUM x) ORDER BY «n * m»",
     "nothing proves that the score does not fall when attribute `n` rises", RISES, PROOF),
    ("OBJECT a ACROSS b IN ('n' AS n, 'm' AS m BETWEEN -1 AND 1) (SUM abs(x)) ORDER BY «n * m»",
     "nothing proves that the score does not fall when attribute `n` rises", RISES, PROOF),
    ("OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (SUM x) ORDER BY «n + least(m, ln(n))»",
     "nothing proves that the score does not fall when attribute `n` rises", RISES, PROOF),
    ("OBJECT a ACROSS b (SUM) ORDER BY SUM(x) APPROXIMATE «WITH PRECISION 1.5»",
     "a precision must be above 0 and at most 1, not 1.5",
     None, None),
    ("OBJECT a ACROSS b (SUM) ORDER BY SUM(x) APPROXIMATE KEEPING 5 «ROWS»",
     "found `ROWS` after KEEPING 5", "`OBJECTS` or `GROUPS`", None),
    ("OBJECT a ACROSS b (SUM) ORDER BY SUM(x) EXACT «APPROXIMATE»", "both EXACT and APPROXIMATE were given",
     "one of them", None),
]  # fmt: skip


@pytest.mark.parametrize(
    "clauses",
    [
        "OBJECT a ACROSS b (MAX) ORDER BY MAX(1)",
        "OBJECT a ACROSS b (SUM) ORDER BY MAX(abs(x))",
        "OBJECT a ACROSS b (SUM) ORDER BY MAX(greatest(x, 0))",
        "OBJECT a ACROSS b (SUM) ORDER BY MAX(x * x + length(s))",
        "OBJECT a ACROSS b (SUM) ORDER BY MAX(x) WHERE y = 1 AND x >= 0",
        "OBJECT a ACROSS b (SUM) ORDER BY MAX(trades.x / 2) WHERE x BETWEEN 3 AND 5",
        "OBJECT a ACROSS b (LAST) ORDER BY MAX(x - y) WHERE 0 < x-y",
        "OBJECT a ACROSS b IN ('n') (SUM) ORDER BY MAX(x)",
        "OBJECT a ACROSS b (COUNT) ORDER BY MAX(x)",
        "OBJECT a ACROSS b (SUM) ORDER BY SUM(x)",
    ],
)
def test_max_needs_no_list_where_no_value_is_negative(clauses: str) -> None:
    assert read(F + clauses).across is not None


@pytest.mark.parametrize(
    "where", ["x > -1", "x <= 0", "x >= 0 OR y > 0", "NOT x >= 0", "abs(x) >= 0", "x >= y", "X >= 0"]
)
def test_a_condition_that_leaves_negative_values_is_no_proof(where: str) -> None:
    with pytest.raises(SkybandError, match="of values that may be negative"):
        read(F + f"OBJECT a ACROSS b (SUM) ORDER BY MAX(x) WHERE {where}")


@pytest.mark.parametrize(
    "clauses",
    [
        "OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (SUM x) EACH BETWEEN 0 AND 9 ORDER BY n * m + n",
        "OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (LAST abs(x)) ORDER BY n * sqrt(m)",
        "OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (MAX x) ORDER BY n * m WHERE x >= 0",
        "OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (COUNT) ORDER BY n * m",
        "OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (AVG x) ORDER BY n / 2 + exp(m) ASC",
        "OBJECT a ACROSS b IN ('n' AS n, 'm' AS m) (AVG x) ORDER BY m",
    ],
)
def test_what_is_monotone_is_taken(clauses: str) -> None:
    assert read(F + clauses).combination is not None


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case[0])
def test_mistakes(case: Case) -> None:
    check_statement((STREAM + F + case[0], *case[1:]))


def test_columns_are_found_in_what_is_declared() -> None:
    declared = "CREATE STREAM s (ts TIMESTAMP, Client STRING, server STRING, x DOUBLE) WITH (TIME = ts);\n"
    text = declared + "SELECT TOP 1 FROM s [ROWS 5] OBJECT client ACROSS {} (SUM) ORDER BY SUM({})"
    assert parse(text.format("server", "x"))[1][0].across == Across("Client", "server")
    for server, x in (("servr", "x"), ("server", "y")):
        with pytest.raises(SkybandError, match="there is no column"):
            parse(text.format(server, x))


REFUSED = [
    (
        "c",
        "SELECT ABOVE 3 FROM c [ROWS 5] OBJECT a ACROSS b (SUM) ORDER BY SUM(x) APPROXIMATE",
        "asks for ABOVE, and for an approximate answer",
    ),
    (
        "c",
        "SELECT TOP 3 FROM c [ROWS 5] OBJECT a ACROSS b IN ('n' AS n) (SUM x) ORDER BY n APPROXIMATE",
        "by an expression over attributes, and asks for an approximate answer",
    ),
    ("o", "SELECT TOP 3 FROM o [ROWS 5] OBJECT a ACROSS b (SUM) ORDER BY SUM(x)", "ranks objects, and stream o has OP"),
    ("p", "SELECT TOP 3 FROM p [ROWS 5] OBJECT a ACROSS b (SUM) ORDER BY SUM(x)", "and stream p has PROBABILITY"),
    ("c", "SELECT TOP 3 FROM c [ROWS 5] ORDER BY x APPROXIMATE", "asks for an approximate answer of records"),
    (
        "c",
        "SELECT TOP 3 FROM c [ROWS 5] OBJECT a ACROSS b (SUM) ORDER BY SUM(x) APPROXIMATE KEEPING 9 GROUPS",
        "ranks objects, and is to keep 9 groups",
    ),
]


@pytest.mark.parametrize(("stream", "text", "message"), REFUSED, ids=[each[2] for each in REFUSED])
def test_what_has_no_meaning_together(stream: str, text: str, message: str) -> None:
    streams = {"c": "", "o": ", KEY = k, OP = op", "p": ", PROBABILITY = p"}
    with pytest.raises(SkybandError, match=message) as caught:
        parse(f"CREATE STREAM {stream} WITH (TIME = t{streams[stream]});\n{text}")
    assert "line 2" in str(caught.value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TopK("q", 1, "bytes", "5 rows", across=Across("o", "s")), "cannot be ranked by bytes"),
        (lambda: Across("o", "s", "MEAN"), "collected by MEAN"),
        (lambda: Across([], "s"), "names no column"),
        (
            lambda: Workload(
                [TopK("q", 1, "-n", "5 rows", across=Across("o", "s", streams=[Feed("n", alias="n")], value="x"))],
                stream=Stream("s", time="ts"),
            ),
            "query q: the score falls when attribute `n` rises",
        ),
        (lambda: Feed("a", alias=" "), "stream 'a' has an empty name"),
        (lambda: Feed("a", weight=-1), "a weight must be 0 or more, not -1"),
        (lambda: Approximate(0.5, 3), "both a precision and a number"),
    ],
)
def test_mistakes_in_python(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises(SkybandError, match=message):
        build()
