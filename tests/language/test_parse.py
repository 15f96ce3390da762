"""Workload texts and the objects they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skyband.errors import SkybandError
from skyband.language import declared_schema, parse
from skyband.model import Above, CumulatingWindow, Query, Stream, TopK, UnboundedWindow, Window
from skyband.model.select import Item

TRADES = "CREATE STREAM trades WITH (TIME = ts, KEY = trade_id, LATENESS = 10 SECONDS);\n"
MINUTE = 60_000_000


def query(text: str, head: str = TRADES) -> Query:
    _, queries = parse(head + text)
    (one,) = queries
    return one


def window(text: str) -> Window:
    return query(f"SELECT TOP 1 FROM trades {text} ORDER BY price").window


def test_the_workload_of_the_design() -> None:
    streams, queries = parse(
        TRADES
        + """
        CREATE QUERY biggest AS
          SELECT TOP 10 symbol, price, size
          FROM trades [RANGE 30 MINUTES SLIDE 1 MINUTE]
          WHERE price BETWEEN 1 AND 500
          ORDER BY price * size DESC;
        CREATE QUERY movers AS
          SELECT TOP 3 PER symbol * FROM trades [ROWS 100000 SLIDE 1000] ORDER BY abs(change) DESC;
        CREATE QUERY whales AS
          SELECT ABOVE 1000000 * FROM trades [RANGE 1 HOUR SLIDE 5 MINUTES] ORDER BY price * size DESC;
        """
    )
    assert streams == [Stream("trades", "ts", "trade_id", "10 seconds")]
    assert queries == [
        TopK(
            "biggest", 10, "price * size", "30 minutes", "1 minute",
            where="price BETWEEN 1 AND 500", select=["symbol", "price", "size"], stream="trades",
        ),
        TopK("movers", 3, "abs(change)", "100000 rows", 1000, per="symbol", stream="trades"),
        Above("whales", 1_000_000, "price * size", "1 hour", "5 minutes", stream="trades"),
    ]  # fmt: skip


def test_the_papers_spelling() -> None:
    head = "CREATE STREAM sensor WITH (TIME = t, SCORE = temperature * 2);"
    found = query("SELECT top-3 FROM SENSOR [Range 20 mins] WHERE SENSOR.location = 'X' FREQUENCY 2 mins", head)
    assert found == TopK(
        "q1", 3, "temperature * 2", "20 minutes", frequency="2 minutes", where="SENSOR.location = 'X'", stream="sensor"
    )


@pytest.mark.parametrize(
    "end", ["LIMIT 3", "limit 3", "FETCH FIRST 3 ROWS ONLY", "FETCH NEXT 3 ROW ONLY", "LIMIT 3 EMIT CHANGES"]
)
def test_how_many_may_stand_where_sql_has_it(end: str) -> None:
    text = "SELECT limit, fetch FROM trades [RANGE 20 MINUTES] WHERE size > limit ORDER BY price * fetch DESC "
    found = query(text + end)
    assert found == TopK(
        "q1", 3, "price * fetch", "20 minutes", where="size > limit", select=["limit", "fetch"],
        changes="EMIT" in end, stream="trades",
    )  # fmt: skip


def test_fetch_first_row_is_one() -> None:
    assert query("SELECT * FROM trades [ROWS 5] ORDER BY price ASC FETCH FIRST ROW ONLY").limit == "TOP 1"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT TOP 3 WITH TIES PER symbol price FROM trades [ROWS 5] ORDER BY price",
        "SELECT PER symbol price FROM trades [ROWS 5] ORDER BY price DESC FETCH FIRST 3 ROWS WITH TIES",
    ],
)
def test_with_ties(text: str) -> None:
    assert query(text) == TopK("q1", 3, "price", "5 rows", per="symbol", select="price", stream="trades", ties=True)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT TOP 3 AT MOST 2 PER side, trades.symbol PER venue price FROM trades [ROWS 5] ORDER BY price",
        "SELECT at most 2 per side, symbol per venue price FROM trades [ROWS 5] ORDER BY price DESC LIMIT 3",
    ],
)
def test_at_most(text: str) -> None:
    found, capped = query(text), (2, ["side", "symbol"])
    expected = TopK("q1", 3, "price", "5 rows", per="venue", select="price", stream="trades", at_most=capped)
    assert found == expected
    assert expected.limit == "TOP 3 AT MOST 2 PER side, symbol"


def test_scores_that_decay() -> None:
    found = query("SELECT TOP 3 FROM trades [RANGE 1 HOUR] ORDER BY price ASC DECAY HALF LIFE 10 MINUTES EMIT CHANGES")
    expected = TopK("q1", 3, "price", "1 hour", ascending=True, changes=True, stream="trades", half_life="10 minutes")
    assert found == expected
    assert expected.half_life == 10 * MINUTE


@pytest.mark.parametrize("spelling", ["TOP 3", "TOP-3", "top-3", "Top 3"])
def test_spellings_of_top(spelling: str) -> None:
    found = query(f"SELECT {spelling} FROM trades [ROWS 5] ORDER BY price")
    assert found == TopK("q1", 3, "price", "5 rows", stream="trades")


@pytest.mark.parametrize(
    ("text", "value"), [("1000000", 1e6), ("-1.5", -1.5), ("1e3", 1000.0), ("- 2", -2.0), ("0", 0.0)]
)
def test_thresholds(text: str, value: float) -> None:
    found = query(f"SELECT ABOVE {text} FROM trades [ROWS 5] ORDER BY price")
    assert isinstance(found, Above)
    assert found.threshold == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[RANGE 30 MINUTES SLIDE 1 MINUTE OFFSET 5 SECONDS]", Window("range", 30 * MINUTE, MINUTE, 5_000_000)),
        ("[range 1 hour 30 minutes]", Window("range", 90 * MINUTE, 90 * MINUTE)),
        ("[RANGE 0.5 SECONDS]", Window("range", 500_000, 500_000)),
        ("[RANGE 10s SLIDE 10ms]", Window("range", 10_000_000, 10_000)),
        ("[RANGE 2 mins OFFSET -5 SECONDS]", Window("range", 2 * MINUTE, 2 * MINUTE, -5_000_000)),
        ("[ROWS 100000 SLIDE 1000]", Window("rows", 100_000, 1000)),
        ("[ROWS 100 ROWS SLIDE 1 ROW]", Window("rows", 100, 1)),
        ("[RANGE 1 DAY OFFSET 1 HOUR SLIDE 1 HOUR]", Window("range", 1440 * MINUTE, 60 * MINUTE, 60 * MINUTE)),
    ],
)
def test_windows(text: str, expected: Window) -> None:
    assert window(text) == expected


def test_a_window_that_cumulates() -> None:
    found = window("[RANGE 1 DAY CUMULATE 1 MINUTE OFFSET 1 HOUR]")
    assert found == CumulatingWindow("range", 1440 * MINUTE, MINUTE, 60 * MINUTE)
    assert found == TopK("q", 1, "x", "1 day", cumulate="1 minute", offset="1 hour").window
    assert found != Window("range", 1440 * MINUTE, MINUTE, 60 * MINUTE)


def test_a_window_without_a_start() -> None:
    found = window("[UNBOUNDED SLIDE 1 MINUTE OFFSET 1 HOUR]")
    assert found == UnboundedWindow(MINUTE, 60 * MINUTE)
    assert found == TopK("q", 1, "x", "Unbounded", "1 minute", offset="1 hour").window
    assert found != UnboundedWindow(MINUTE)


@pytest.mark.parametrize(
    ("steps", "said"),
    [({}, "no slide"), ({"cumulate": "1 minute"}, "a cumulate"), ({"frequency": "1 minute"}, "a frequency")],
)
def test_a_window_without_a_start_has_to_say_when_there_are_reports(steps: dict[str, Any], said: str) -> None:
    with pytest.raises(SkybandError, match=f"query q: an unbounded window with {said}"):
        TopK("q", 1, "x", "unbounded", **steps)


def test_frequency_over_rows() -> None:
    found = query("SELECT TOP 1 FROM trades [ROWS 100] ORDER BY price FREQUENCY 10 ROWS")
    assert found.window == Window("rows", 100, 10, at_least_every=True)


def test_every_clause_in_any_order_and_case() -> None:
    found = query(
        "select top 2 per symbol, side price from trades [rows 9] emit changes order by price asc where size > 1"
    )
    assert found == TopK(
        "q1",
        2,
        "price",
        "9 rows",
        per=["symbol", "side"],
        select="price",
        where="size > 1",
        ascending=True,
        changes=True,
        stream="trades",
    )


def test_comments_and_empty_statements_are_skipped() -> None:
    found = query(";; -- a ; comment\nSELECT TOP 1 /* ; */ FROM trades [ROWS 5] ORDER BY price -- the end\n;")
    assert found.by == "price"


def test_expressions_are_kept_as_written() -> None:
    found = query("SELECT TOP 1 FROM trades [ROWS 5] WHERE  side='a;b'  ORDER BY ( price*size )  DESC;")
    assert (found.where, found.by) == ("side='a;b'", "( price*size )")


def test_names_are_given_by_position_and_skip_what_is_taken() -> None:
    select = "SELECT TOP 1 FROM trades [ROWS 5] ORDER BY price;"
    _, queries = parse(f"{TRADES}{select}CREATE QUERY q3 AS {select}{select}{select}")
    assert [q.name for q in queries] == ["q1", "q3", "q4", "q5"]


def test_a_stream_may_be_declared_after_its_queries() -> None:
    streams, queries = parse("SELECT TOP 1 FROM trades [ROWS 5] ORDER BY price;" + TRADES)
    assert (len(streams), queries[0].stream) == (1, "trades")


def test_declared_columns() -> None:
    head = "CREATE STREAM s (ts TIMESTAMP, id bigint, x DECIMAL(10, 2), `odd one` STRING) "
    streams, _ = parse(head + "WITH (time = ts, key = ID, op = x)")
    columns = (("ts", "TIMESTAMP"), ("id", "bigint"), ("x", "DECIMAL(10, 2)"), ("odd one", "STRING"))
    assert streams == [Stream("s", "ts", "id", op="x", columns=columns)]
    schema = declared_schema(columns)
    assert schema is not None
    assert [str(kind) for kind in schema.types] == ["timestamp[us, tz=UTC]", "int64", "decimal128(10, 2)", "string"]


def test_declared_columns_give_the_spelling() -> None:
    head = "CREATE STREAM s (Ts TIMESTAMP, Price BIGINT) WITH (TIME = ts);"
    found = query("SELECT TOP 1 PER s.PRICE price FROM S [ROWS 5] ORDER BY price", head)
    assert (found.stream, found.per, found.select) == ("s", ("Price",), ("Price",))


@pytest.mark.parametrize(
    ("text", "per", "select"),
    [
        ("per", (), ("per",)),
        ("per, x", (), ("per", "x")),
        ("PER per per", ("per",), ("per",)),
        ("PER from from", ("from",), ("from",)),
        ("PER from *", ("from",), ("*",)),
        ("PER from select", ("from",), ("select",)),
        ("from, where", (), ("from", "where")),
        ("top, from", (), ("top", "from")),
        ('PER "a b" `c``d`', ("a b",), ("c`d",)),
        ("PER x *", ("x",), ("*",)),
        ("PER x", ("x",), ("*",)),
        ("trades.select", (), ("select",)),
    ],
)
def test_words_of_the_language_can_be_names(text: str, per: tuple[str, ...], select: tuple[str, ...]) -> None:
    found = query(f"SELECT TOP 1 {text} FROM trades [ROWS 5] ORDER BY price")
    assert (found.per, found.select) == (per, select)


@pytest.mark.parametrize(
    "by", ["order", "desc", "price * desc", "emit + frequency", "top", "range", '"select"', "a.b * 2"]
)
def test_words_of_the_language_can_be_columns_in_expressions(by: str) -> None:
    found = query(f"SELECT TOP 1 FROM a [ROWS 5] ORDER BY {by}", "CREATE STREAM a WITH (TIME = ts);")
    assert (found.by, found.ascending) == (by, False)


def test_the_example_parses() -> None:
    text = (Path(__file__).parents[2] / "examples" / "trades.sql").read_text()
    streams, queries = parse(text)
    assert [s.name for s in streams] == ["trades"]
    assert len(queries) >= 8


@pytest.mark.parametrize(
    "text",
    [
        "CASE bytes WHEN 1 THEN 2 END",
        "CASE WHEN bytes > 1 THEN 2 END",
        "CASE 'a' WHEN client THEN 2 END",
        "NOT flag",
        "NOT (a = b)",
        "NOT a AND b",
        "-bytes",
        "DATE '2026-01-31'",
        "bytes IS NULL",
    ],
)
def test_an_expression_in_select_may_begin_with_any_word(text: str) -> None:
    found = query(f"SELECT TOP 3 id, {text} AS v, size FROM trades [ROWS 5] ORDER BY x")
    assert found.select == ("id", Item("v", text), "size")
