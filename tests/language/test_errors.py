"""Every mistake: what is said, what is underlined («so» in the texts below), what is expected, what to do."""

from __future__ import annotations

import pyarrow as pa
import pytest

from skyband.errors import SkybandError
from skyband.language import compile_filter, compile_score, parse

S = "CREATE STREAM trades WITH (TIME = ts);\n"
D = "CREATE STREAM trades (ts TIMESTAMP, price DOUBLE, size BIGINT, side STRING) WITH (TIME = ts);\n"
F = " FROM trades [ROWS 5]"
SCORED = "a BIGINT, DOUBLE, DECIMAL, DATE or TIMESTAMP"
Q = F + " ORDER BY price"
CLAUSES = (
    "`JOIN`, `WHERE`, `OBJECT`, `GROUP BY`, `HAVING`, `ORDER BY`, `DECAY HALF LIFE`, `WITH REST`, `WITH ERROR`, "
    "`FREQUENCY`, `USING`, `EXACT`, `APPROXIMATE`, `EMIT CHANGES` or `;`"
)
STEPS = (
    "SLIDE fixes the moments of the reports, and CUMULATE lets a window grow until the next begins; FREQUENCY lets the "
    "planner choose the moments"
)
ALL_TIME, REPORTS = (
    "a window such as [UNBOUNDED SLIDE 1 MINUTE]",
    "it never ends, so it has to say when there are reports",
)
UNITS = "units are microseconds, milliseconds, seconds, minutes, hours, days and weeks"
UNIT = "a unit of time, as in `30 MINUTES`"
TYPES = "a type of Spark SQL, such as BIGINT, DOUBLE, STRING, BOOLEAN, TIMESTAMP, DATE or DECIMAL(10, 2)"
COLUMNS = "one of ts, price, size, side"
RANKED = "an expression over the stream's columns"
NEWEST = "name a column; `unix_micros(ts)` puts the newest first"
MANY = "GROUP BY makes one row of many records, and HAVING takes conditions on them"
SUMMED = "GROUP BY and the columns by which records are summed up"
ALLOWED = "columns, constants, operators and the functions of docs/language.md"

STATEMENTS = [
    ("«SELEC» TOP 3", "found `SELEC` at the start of a statement",
     "`CREATE STREAM`, `CREATE TABLE`, `CREATE QUERY` or `SELECT`", "did you mean `SELECT`?"),
    ("CREATE «STREEM» x", "found `STREEM` after CREATE",
     "`CREATE STREAM`, `CREATE TABLE`, `CREATE QUERY` or `SELECT`", "did you mean `STREAM`?"),
    ("CREATE STREAM«»", "found the end of the statement in place of the stream's name", "the stream's name", None),
    ("CREATE STREAM s«»", "found the end of the statement after CREATE STREAM s", "`WITH`", None),
    ("CREATE STREAM s «WIHT» (TIME = ts)", "found `WIHT` after CREATE STREAM s", "`WITH`", "did you mean `WITH`?"),
    ("CREATE STREAM «s» WITH (KEY = id)", "stream s does not say which column is the time",
     "TIME = column among its options", "CREATE STREAM s WITH (TIME = ts, ...)"),
    ("CREATE STREAM s WITH (TIME = ts, «TYME» = x)", "found `TYME` among the stream's options",
     "TIME, KEY, LATENESS, AHEAD, EXPIRE, OP, SCORE, PROBABILITY, RULE or SOURCE", "did you mean `TIME`?"),
    ("CREATE STREAM s WITH (TIME = ts, «TIME» = x)", "TIME is given twice", "each option once", None),
    ("CREATE STREAM s WITH (TIME «ts»)", "found `ts` after TIME", "`=`", None),
    ("CREATE STREAM s WITH (TIME = ts«»", "found the end of the statement after an option of the stream", "`)`", None),
    ("CREATE STREAM s WITH (TIME = ts) «x»", "found `x` after the stream", "`;`", None),
    ("CREATE STREAM s WITH (TIME = ts, LATENESS = 10«)»", "found `)` after 10", UNIT, UNITS),
    ("CREATE STREAM s WITH (TIME = ts, LATENESS = 10 «SECANDS»)", "found `SECANDS` after 10", UNIT,
     "did you mean `seconds`?"),
    ("CREATE STREAM s WITH (TIME = ts, LATENESS = «-5 SECONDS»)", "a lateness of -5 SECONDS is out of range",
     "zero or more, below 36,000 years", None),
    ("CREATE STREAM s WITH (TIME = ts, OP = «o»)", "stream s has deletes (OP = o) but no key", "KEY as well",
     "a delete names its record by key"),
    ("CREATE STREAM s (ts TIMESTAMP, x «BIGIT») WITH (TIME = ts)", "`BIGIT` is not a type", TYPES,
     "did you mean `BIGINT`?"),
    ("CREATE STREAM s (ts TIMESTAMP, x«)» WITH (TIME = ts)", "found `)` in place of a column's type", TYPES, None),
    ("CREATE STREAM s (ts TIMESTAMP, «ts» INT) WITH (TIME = ts)", "column `ts` is declared twice", "each column once",
     None),
    ("CREATE STREAM s (ts TIMESTAMP) WITH (TIME = «t»)", "there is no column `t`", "one of ts", "did you mean `ts`?"),
    ("CREATE STREAM s (ts TIMESTAMP, price INT) WITH (TIME = ts, SCORE = 2 * «prize»)", "there is no column `prize`",
     "one of ts, price", "did you mean `price`?"),
    (S + "CREATE STREAM «trades» WITH (TIME = t)", "stream `trades` is declared twice (first on line 1)",
     "each stream once", None),
    (S + "CREATE QUERY a AS SELECT TOP 1" + Q + ";\nCREATE QUERY «a» AS SELECT TOP 2" + Q,
     "query `a` is defined twice (first on line 2)", "each query's name once", None),
    (S + "CREATE QUERY a «SELECT» TOP 1" + Q, "found `SELECT` after CREATE QUERY a", "`AS`", None),
    ("SELECT TOP 1 FROM «trades» [ROWS 5] ORDER BY price", "there is no stream `trades`", None,
     "declare it: CREATE STREAM trades WITH (TIME = ts);"),
    (S + "SELECT TOP 1 FROM «trade» [ROWS 5] ORDER BY price", "there is no stream `trade`", "one of trades",
     "did you mean `trades`?"),
    (S + "SELECT TOP 1 FROM trades [ROWS 5] WHERE side = «'»x ORDER BY price",
     "the text ends inside a quoted name, a string or a comment", "a closing mark for the one underlined", None),
    (S + "SELECT TOP 1 FROM trades [ROWS 5] WHERE a = 'x' AND «\"»side = 3",
     "the text ends inside a quoted name, a string or a comment", "a closing mark for the one underlined", None),
    (S + "SELECT TOP 1 «/»* FROM", "the text ends inside a quoted name, a string or a comment",
     "a closing mark for the one underlined", None),
]  # fmt: skip

QUERIES = [
    ("SELECT TOP «0»" + Q, "query q1: k must be a whole number from 1 on, not 0", None, None),
    ("SELECT TOP «-3»" + Q, "query q1: k must be a whole number from 1 on, not -3", None, None),
    ("SELECT TOP «2.5»" + Q, "k must be a whole number from 1 on, not 2.5", None, None),
    ("SELECT TOP «FROM» trades [ROWS 5]", "found `FROM` in place of k", "k, a number", None),
    ("SELECT «TOPP» 3" + Q, "found `TOPP` after SELECT", "`TOP k` or `ABOVE x`", "did you mean `TOP`?"),
    ("SELECT ABOVE «x»" + Q, "found `x` in place of the threshold", "the threshold, a number", None),
    ("SELECT TOP 3 «price * size»" + Q, "an expression without a name in SELECT", "AS and a name behind it",
     "the score itself is always reported, as the column `score`"),
    ("SELECT TOP 3 price, «upper(x)», size" + Q, "an expression without a name in SELECT", "AS and a name behind it",
     "the score itself is always reported, as the column `score`"),
    ("SELECT TOP 3 price, «size + 1» AS price" + Q, "two columns are called `price`", "a name for each: AS", None),
    ("SELECT TOP 3 price, «,»size" + Q, "found `,` in place of a column", "a column", None),
    ("SELECT TOP 3 2 * «other.price» AS x" + Q, "`other` is not the stream of this query",
     "`trades.price` or just `price`", None),
    ("SELECT TOP 3 «sqr»(price) AS x" + Q, "there is no function `sqr`", None, "did you mean `sqrt`?"),
    ("SELECT TOP 3 «other.price»" + Q, "`other` is not the stream of this query", "`trades.price` or just `price`",
     None),
    ("SELECT TOP 3 price «size»" + Q, "found `size` after the selected columns", "`FROM`", None),
    ("SELECT TOP 1 FROM trades «ORDER» BY price", "found `ORDER` where the window should be",
     "a window, such as [RANGE 30 MINUTES SLIDE 1 MINUTE] or [ROWS 1000]",
     "the window comes right after the stream's name"),
    ("SELECT TOP 1 FROM trades [«ROW» 5]", "found `ROW` at the start of a window", "`RANGE`, `ROWS` or `UNBOUNDED`",
     "did you mean `ROWS`?"),
    ("SELECT TOP 1 FROM trades [RANGE 100 «ROWS»]", "found `ROWS` after 100, in a window of time", "a unit of time",
     "a window of rows is written [ROWS 100]"),
    ("SELECT TOP 1 FROM trades [ROWS 30 «MINUTES»]", "found `MINUTES` after 30, in a window of rows",
     "a number of rows", "a window of time is written [RANGE 30 MINUTES]"),
    ("SELECT TOP 1 FROM trades [ROWS «2.5»]", "2.5 is not a number of rows", "a whole number", None),
    ("SELECT TOP 1 FROM trades [RANGE 30«]»", "found `]` after 30", UNIT, UNITS),
    ("SELECT TOP 1 FROM trades [RANGE «0.0000001 SECONDS»]", "0.0000001 SECONDS is not a whole number of microseconds",
     "a length of time in whole microseconds", None),
    ("SELECT TOP 1 FROM trades [RANGE 1 MINUTE SLIDE «2 MINUTES»] ORDER BY price",
     "the slide (2 MINUTES) is longer than the window (1 MINUTE), so some records would be in no window",
     "a slide of at most the window", "make the window longer or the step shorter"),
    ("SELECT TOP 1 FROM trades [RANGE «0 MINUTES»] ORDER BY price",
     "a window must be longer than zero and shorter than 36,000 years, not 0 microseconds", None, None),
    ("SELECT TOP 1 FROM trades [ROWS 9 SLIDE «0»] ORDER BY price", "a slide must be longer than zero, not 0 rows",
     None, None),
    ("SELECT TOP 1 FROM trades [ROWS 5 OFFSET «1»] ORDER BY price",
     "OFFSET goes with RANGE and SLIDE only, not with ROWS",
     None,
     "positions count from the first record, and FREQUENCY leaves the moments to the planner"),
    ("SELECT TOP 1 FROM trades [RANGE 1 MINUTE «SLIDDE» 1 SECOND]", "found `SLIDDE` inside a window",
     "`SLIDE`, `CUMULATE`, `OFFSET` or `]`", "did you mean `SLIDE`?"),
    ("SELECT TOP 1 FROM trades [RANGE 1 MINUTE SLIDE 1 s «SLIDE» 2 s]", "SLIDE stands twice in this window",
     "one of them", None),
    ("SELECT TOP 1 FROM trades [RANGE 1 MINUTE«»", "found the end of the statement inside a window",
     "`SLIDE`, `CUMULATE`, `OFFSET` or `]`", None),
    ("SELECT TOP 1 FROM trades [RANGE 1 MINUTE SLIDE 1 s] ORDER BY price FREQUENCY «3 SECONDS»",
     "both SLIDE and FREQUENCY were given", "one of them",
     STEPS),
    ("SELECT TOP 1 FROM trades [RANGE 1 MINUTE SLIDE 1 s CUMULATE «1 s»] ORDER BY price",
     "both SLIDE and CUMULATE were given", "one of them", STEPS),
    ("SELECT TOP 1 FROM trades [RANGE 1 MINUTE CUMULATE 1 s] ORDER BY price FREQUENCY «3 SECONDS»",
     "both CUMULATE and FREQUENCY were given", "one of them", STEPS),
    ("SELECT TOP 1 FROM trades [ROWS 9 CUMULATE «3»] ORDER BY price", "CUMULATE goes with RANGE only, not with ROWS",
     "a window such as [RANGE 1 DAY CUMULATE 1 MINUTE]", None),
    ("SELECT TOP 1 FROM trades «[UNBOUNDED]» ORDER BY price", "an UNBOUNDED window with no SLIDE", ALL_TIME, REPORTS),
    ("SELECT TOP 1 FROM trades [UNBOUNDED CUMULATE «1 s»] ORDER BY price", "an UNBOUNDED window with CUMULATE",
     ALL_TIME, REPORTS),
    ("SELECT TOP 1 FROM trades [UNBOUNDED] ORDER BY price FREQUENCY «1 s»", "an UNBOUNDED window with FREQUENCY",
     ALL_TIME, REPORTS),
    ("SELECT TOP 1 FROM trades [UNBOUNDED SLIDE «0 s»] ORDER BY price",
     "a slide must be longer than zero and shorter than 36,000 years, not 0 microseconds", None, None),
    ("SELECT TOP 1 FROM trades [RANGE 1 MINUTE CUMULATE «7 s»] ORDER BY price",
     "a window of 1 MINUTE cannot be cumulated by 7 SECONDS",
     "a step of which the window holds a whole number, at most 100,000", None),
    ("SELECT TOP 1 FROM trades [RANGE 1 MINUTE] ORDER BY price FREQUENCY «3 MINUTES»",
     "the frequency (3 MINUTES) is longer than the window (1 MINUTE), so some records would be in no window",
     "a frequency of at most the window", "make the window longer or the step shorter"),
    ("SELECT TOP 1" + Q + " «FREQENCY» 2 mins", "found `FREQENCY` where a clause should be", CLAUSES,
     "did you mean `FREQUENCY`?"),
    ("SELECT TOP 1" + F + " «WHER» x > 1", "found `WHER` where a clause should be", CLAUSES, "did you mean `WHERE`?"),
    ("SELECT TOP 1" + F + " WHERE x > 1 «ODER» BY price", "found `ODER` where a clause should be", CLAUSES,
     "did you mean `ORDER`?"),
    ("SELECT TOP 1" + Q + " «DECS»", "found `DECS` where a clause should be", CLAUSES, "did you mean `DESC`?"),
    ("SELECT TOP 1" + Q + " DESC «NULLS» LAST", "found `NULLS` where a clause should be", CLAUSES,
     "a record without a score is never ranked"),
    ("SELECT TOP 1" + Q + " LIMIT «3»", "both TOP and LIMIT were given", "one of them", None),
    ("SELECT ABOVE 1" + Q + " FETCH FIRST «3» ROWS ONLY", "both ABOVE and FETCH were given", "one of them", None),
    ("SELECT ABOVE 1 FROM trades [RANGE 5 s] ORDER BY price DECAY HALF LIFE «5 s»",
     "ABOVE has a threshold for scores as they are, and DECAY lets them fall", "TOP k with DECAY", None),
    ("SELECT TOP 1 FROM trades [RANGE 5 s] ORDER BY price DECAY HALF LIFE 5«»",
     "found the end of the statement after 5", UNIT, UNITS),
    ("SELECT ABOVE 1 «WITH TIES»" + Q, "ABOVE lists every record above its threshold, and has no last one",
     "`TOP k WITH TIES`", None),
    ("SELECT ABOVE 1 «AT MOST 2 PER side»" + Q,
     "ABOVE lists every record above its threshold, and AT MOST leaves some out", "`TOP k AT MOST n PER column`", None),
    ("SELECT TOP 1 AT MOST 2 «side»" + Q, "found `side` after AT MOST and a number", "`PER`", None),
    ("SELECT TOP 1 AT MOST «PER» side" + Q, "found `PER` in place of how many may have the same values",
     "how many may have the same values, a number", None),
    ("SELECT TOP 1 «AT MOST 0 PER side»" + Q, "AT MOST takes a whole number from 1 on, not 0", None, None),
    ("SELECT TOP 1 «AT MOST 1.5 PER side»" + Q, "AT MOST takes a whole number from 1 on, not 1.5", None, None),
    ("SELECT TOP «1» WITH TIES AT MOST 1 PER side" + Q,
     "query q1 asks for AT MOST 1 PER side, and WITH TIES for whatever has the score of the last",
     "one of AT MOST and WITH TIES", None),
    ("SELECT TOP 1" + Q + " «AT» MOST 1 PER side", "found `AT` where a clause should be", CLAUSES,
     "AT MOST n PER column stands right after TOP k"),
    ("SELECT TOP 1" + Q + " «WITH» TIES", "found `WITH` where a clause should be", CLAUSES,
     "write WITH REST, or WITH ERROR and the score's standard error; WITH TIES stands right after TOP k"),
    ("SELECT id" + Q + " DESC LIMIT «many»", "found `many` in place of k", "k, a number", None),
    ("SELECT id" + Q + " DESC LIMIT «2.5»", "k must be a whole number from 1 on, not 2.5", None, None),
    ("SELECT id" + Q + " DESC FETCH FIRST 3 «EVER»", "found `EVER` after FETCH FIRST k", "`ROWS ONLY`", None),
    ("SELECT id FROM trades [ROWS 5] ORDER BY «price» LIMIT 3", "ORDER BY with LIMIT or FETCH, and no direction",
     "`DESC` for the highest first, or `ASC`", None),
    ("SELECT TOP 1 FROM «TUMBLE»(trades, 10)", "found `TUMBLE` in place of the stream's name",
     "the stream, and its window in square brackets",
     "TUMBLE is [RANGE 10 MINUTES], HOP is [RANGE 10 MINUTES SLIDE 1 MINUTE], CUMULATE is [RANGE 1 DAY CUMULATE "
     "1 MINUTE]"),
    ("SELECT TOP 1" + F + " «GROUP» x", "found `GROUP` where a clause should be", CLAUSES,
     "write GROUP BY and the columns"),
    ("SELECT TOP 1 «price»" + F + " GROUP BY side ORDER BY COUNT(*)", "`price` has many values in a group",
     "an aggregate of it, or a column of GROUP BY: side", "MAX(price), SUM(price) or LAST(price)?"),
    ("SELECT TOP 1 side" + F + " GROUP BY side ORDER BY «price»", "`price` stands outside of an aggregate in ORDER BY",
     "aggregates such as COUNT(*) or SUM(x), and names that SELECT gives them", None),
    ("SELECT TOP 1 COUNT(*) AS n" + F + " GROUP BY side ORDER BY «side»",
     "`side` stands outside of an aggregate in ORDER BY",
     "aggregates such as COUNT(*) or SUM(x), and names that SELECT gives them",
     "MAX(side) is the value of a group's column"),
    ("SELECT TOP 1 side" + F + " GROUP BY side ORDER BY «side»",
     "groups are ranked by `side`, which no aggregate goes into", "aggregates such as COUNT(*) or SUM(x)",
     "MAX(side) is the value of a group's column"),
    ("SELECT TOP 1 side AS x" + F + " GROUP BY side ORDER BY «COUNT(*) + x»",
     "`side` stands outside of an aggregate in ORDER BY", "aggregates such as COUNT(*) or SUM(x)",
     "MAX(side) is the value of a group's column"),
    ("SELECT TOP 1 side" + F + " GROUP BY side HAVING «price» > 1 ORDER BY COUNT(*)",
     "`price` stands outside of an aggregate in HAVING",
     "aggregates such as COUNT(*) or SUM(x), columns of GROUP BY (side), and names that SELECT gives them",
     "conditions on other columns go into WHERE"),
    ("SELECT TOP 1 side, «SUM(price) / 2»" + F + " GROUP BY side ORDER BY COUNT(*)",
     "`SUM(price) / 2` has no name in the result", "a name: `... AS name`", None),
    ("SELECT TOP «1» side" + F + " GROUP BY side", "the query does not say by what groups are ranked",
     "ORDER BY and an aggregate, such as COUNT(*) DESC", None),
    ("SELECT TOP 1 side" + F + " ORDER BY 2 * «COUNT(*)»", "`COUNT(*)` in ORDER BY without GROUP BY", SUMMED,
     "GROUP BY client ORDER BY COUNT(*) DESC ranks the groups of records that have one client each"),
    ("SELECT TOP 1 side" + F + " ORDER BY price, «sum( size )»", "`sum( size )` in ORDER BY without GROUP BY", SUMMED,
     "GROUP BY client ORDER BY sum( size ) DESC ranks the groups of records that have one client each"),
    ("SELECT TOP 1 side, «COUNT(DISTINCT price)»" + Q, "`COUNT(DISTINCT price)` in SELECT without GROUP BY", SUMMED,
     "GROUP BY client ORDER BY COUNT(DISTINCT price) DESC ranks the groups of records that have one client each"),
    ("SELECT TOP 1 side, 1 + «AVG(price)» AS x" + Q, "`AVG(price)` in SELECT without GROUP BY", SUMMED,
     "GROUP BY client ORDER BY AVG(price) DESC ranks the groups of records that have one client each"),
    ("SELECT TOP 1" + F + " WHERE size > 1 AND «COUNT(*)» > 5 GROUP BY side ORDER BY COUNT(*)",
     "`COUNT(*)` in WHERE, which looks at one record", "a condition on columns of a record",
     "conditions on groups go into HAVING: GROUP BY client HAVING COUNT(*) > 5"),
    ("SELECT TOP 1" + F + " WHERE «MAX(size)» > 5 ORDER BY price", "`MAX(size)` in WHERE, which looks at one record",
     "a condition on columns of a record", "conditions on groups go into HAVING: GROUP BY client HAVING MAX(size) > 5"),
    ("SELECT TOP 1" + F + " ORDER BY «max»(price, size)", "max() looks at many records, an expression at one",
     "a function of one record's columns", "of several columns the largest is greatest(a, b); " + MANY),
    ("SELECT TOP 1 side" + F + " GROUP BY «hour»(ts) ORDER BY COUNT(*)",
     "groups are made by columns, not by expressions", "names of columns",
     "a column may be computed before the stream, or be one of a JOIN"),
    ("SELECT TOP 1 side" + F + " GROUP BY side ORDER BY «SUM(*)»", "SUM of `*`", "COUNT(*), or an expression", None),
    ("SELECT TOP 1 side" + F + " GROUP BY side ORDER BY «SUM(MAX(price))»", "an aggregate inside of an aggregate",
     "one of them", None),
    ("SELECT TOP 1 side, «side»" + F + " GROUP BY side ORDER BY COUNT(*)", "two columns are called `side`",
     "a name for each: AS", None),
    ("SELECT TOP 1 side" + Q + " WITH REST«»", "WITH REST without GROUP BY", "GROUP BY and the columns", None),
    ("SELECT TOP «1» side" + F + " GROUP BY side ORDER BY COUNT(*) WITH REST EMIT CHANGES",
     "query q1 asks for changes of the list, and for the rest", "one of EMIT CHANGES and WITH REST", None),
    ("SELECT TOP 1" + Q + " «EMIT»", "found `EMIT` where a clause should be", CLAUSES, "write EMIT CHANGES"),
    ("SELECT TOP 1" + Q + " «ORDER» BY size", "ORDER BY stands twice in this query", "each clause once", None),
    ("SELECT TOP «1»" + F, "the query does not say what to rank by", "ORDER BY expression",
     "or give the stream a default: CREATE STREAM trades WITH (..., SCORE = expression)"),
    ("SELECT TOP 1" + F + " ORDER BY «1»", "every record has the same score, 1", RANKED, NEWEST),
    ("SELECT TOP 1" + F + " ORDER BY «NULL» DESC", "every record has the same score, NULL", RANKED, NEWEST),
    ("SELECT ABOVE 0" + F + " ORDER BY «2 * abs(-1.5)» WITH ERROR price",
     "every record has the same score, 2 * abs(-1.5)", RANKED, NEWEST),
    ("CREATE STREAM s WITH (TIME = \"at noon\", SCORE = «1 + 1»)", "every record has the same score, 1 + 1", RANKED,
     'name a column; `unix_micros("at noon")` puts the newest first'),
    ("SELECT TOP 1" + F + " ORDER BY«»", "found the end of the statement after ORDER BY", "an expression", None),
    ("SELECT TOP 1" + F + " WHERE «ORDER» BY x", "found `ORDER` after WHERE", "an expression", None),
    ("SELECT TOP 1" + Q + " DESC, size ASC, «x»", "a query ranks by two expressions at most, and here are 3",
     "ORDER BY score, and one more for equal scores", "what is equal in both is ranked newer first, then by key"),
    ("SELECT TOP 1" + F + " ORDER BY «size, ,»", "a query ranks by two expressions at most, and here are 3",
     "ORDER BY score, and one more for equal scores", "what is equal in both is ranked newer first, then by key"),
    ("SELECT TOP 1" + Q + ",«»", "found the end of the statement after ORDER BY", "an expression", None),
    ("SELECT TOP 1" + Q + ", «7»", "every record has the same score, 7", RANKED, NEWEST),
    ("SELECT *" + F + " ORDER BY «price» DESC, size LIMIT 3", "ORDER BY with LIMIT or FETCH, and no direction",
     "`DESC` for the highest first, or `ASC`", None),
    ("SELECT TOP 1" + Q + " «+»", "the expression ends after `+`", "a column, number or function call", None),
    ("SELECT TOP 1" + F + " ORDER BY (a + «price»", "a closing parenthesis is missing",
     "`)` after the text underlined", None),
    ("SELECT TOP 1" + F + " ORDER BY 2 * «other.price»", "`other` is not the stream of this query",
     "`trades.price` or just `price`", None),
    ("SELECT TOP 1" + F + " ORDER BY 2 * «sqr»(price)", "there is no function `sqr`", None, "did you mean `sqrt`?"),
]  # fmt: skip

BOUND = [
    ("SELECT TOP 1" + F + " ORDER BY size * «pric»", "there is no column `pric`", COLUMNS, "did you mean `price`?"),
    ("SELECT TOP 1 PER «sid»" + Q, "there is no column `sid`", COLUMNS, "did you mean `side`?"),
    ("SELECT TOP 1 AT MOST 2 PER side, «sid»" + Q, "there is no column `sid`", COLUMNS, "did you mean `side`?"),
    ("SELECT TOP 1 side, «SUM(pric)» AS x" + F + " GROUP BY side ORDER BY COUNT(*)", "there is no column `pric`",
     COLUMNS, "did you mean `price`?"),
    ("SELECT TOP 1 side" + F + " GROUP BY «sid» ORDER BY COUNT(*)", "there is no column `sid`", COLUMNS,
     "did you mean `side`?"),
    ("SELECT TOP 1 PER side «prize»" + Q, "there is no column `prize`", COLUMNS, "did you mean `price`?"),
    ("SELECT TOP 1\n FROM trades [ROWS 5]\n WHERE «side > 3» ORDER BY price", "`>` does not take a STRING and a BIGINT",
     "values of one type", None),
    ("SELECT TOP 1" + F + " ORDER BY «side»", "a score must be a number or a time, and this is a STRING",
     SCORED, None),
    ("SELECT ABOVE 1" + F + " ORDER BY «ts» DESC", "this must be a number, and is a TIMESTAMP",
     "a BIGINT or DOUBLE", "unix_micros(x) makes a number of a time"),
    ("SELECT TOP 1 price / 2 AS half" + F + " WHERE «half» > 1 ORDER BY half", "there is no column `half`", COLUMNS,
     "WHERE comes before SELECT gives the name: write `price / 2` in place of `half`"),
    ("SELECT TOP 1 upper(side) AS s" + F + " ORDER BY «s»", "a score must be a number or a time, and this is a STRING",
     SCORED, None),
    ("SELECT TOP 1 upper(side) AS s" + F + " ORDER BY price, «s»",
     "a score must be a number or a time, and this is a STRING", SCORED, None),
    ("SELECT TOP 1 7 AS s" + F + " ORDER BY «s»", "every record has the same score, 7", RANKED, NEWEST),
    ("SELECT TOP 1" + F + " WHERE «price» ORDER BY price", "a condition must be true or false, and this is a DOUBLE",
     "a comparison such as `price > 10`, or a BOOLEAN column", None),
]  # fmt: skip

GROUPABLE = "whole numbers, text, booleans, decimals, dates or times"
SIDES = F + " GROUP BY side "
COMPARED = "a number, a time or a BOOLEAN"
TYPED = [
    ("SELECT TOP 1 side" + SIDES + "ORDER BY 1 + «SUM(side)»", "SUM or AVG of side, which is of type string",
     "a number", None),
    ("SELECT TOP 1 side, «AVG(ts)» AS x" + SIDES + "ORDER BY COUNT(*)",
     "SUM or AVG of ts, which is of type timestamp[us, tz=UTC]", "a number",
     "unix_micros(ts) makes a number of a time"),
    ("SELECT TOP 1 side, «MIN(side)» AS x" + SIDES + "ORDER BY COUNT(*)", "MIN(side) of a column of type string",
     COMPARED, "LAST(side) takes columns of any type"),
    ("SELECT TOP 1 side" + SIDES + "HAVING «LAST(side)» = 'a' ORDER BY COUNT(*)",
     "LAST(side) in HAVING or ORDER BY, which is of type string", COMPARED, "LAST of any other type can be selected"),
    ("SELECT TOP 1 «SUM(side)» AS x" + SIDES + "ORDER BY SUM(side)", "SUM or AVG of side, which is of type string",
     "a number", None),
    ("SELECT TOP 1 LAST(side) AS x" + SIDES + "ORDER BY «x»",
     "LAST(side) in HAVING or ORDER BY, which is of type string", COMPARED, "LAST of any other type can be selected"),
    ("SELECT TOP 1 side" + SIDES + "HAVING «COUNT(*)» ORDER BY COUNT(*)",
     "a condition must be true or false, and this is a BIGINT",
     "a comparison such as `price > 10`, or a BOOLEAN column", None),
    ("SELECT TOP 1 COUNT(*) AS n" + SIDES + "HAVING «n + 1» ORDER BY COUNT(*)",
     "a condition must be true or false, and this is a BIGINT",
     "a comparison such as `price > 10`, or a BOOLEAN column", None),
    ("SELECT TOP 1 side" + SIDES + "HAVING «CASE WHEN COUNT(*) > 1 THEN side END = 'a'» ORDER BY COUNT(*)",
     "`side` beside aggregates in HAVING, which is of type string", COMPARED + ", or a condition on it alone", None),
    ("SELECT TOP 1 side" + SIDES + "HAVING «side > 3» ORDER BY COUNT(*)", "`>` does not take a STRING and a BIGINT",
     "values of one type", None),
    ("SELECT TOP 1 side" + SIDES + "ORDER BY «COUNT(*) > 5»",
     "a score must be a number or a time, and this is a BOOLEAN", SCORED, None),
    ("SELECT TOP 1 side, «MAX(ts) + 1» AS x" + SIDES + "ORDER BY COUNT(*)",
     "`+` does not take a TIMESTAMP and a BIGINT", "a BIGINT or a DOUBLE", "unix_micros(x) makes a number of a time"),
    ("SELECT TOP 1 side" + SIDES + "ORDER BY «SUM(size + side)»", "`+` does not take a BIGINT and a STRING",
     "a BIGINT or a DOUBLE", None),
    ("SELECT TOP 1 price" + F + " GROUP BY «price» ORDER BY COUNT(*)", "GROUP BY price, which is of type double",
     GROUPABLE, None),
    ("SELECT TOP 1 PER «price»" + Q, "PER price, which is of type double", GROUPABLE, None),
    ("SELECT TOP 1 AT MOST 2 PER side, «price»" + Q, "AT MOST ... PER price, which is of type double", GROUPABLE, None),
    ("SELECT TOP 1" + F + " OBJECT side ACROSS «price» (SUM) ORDER BY SUM(size)",
     "OBJECT ... ACROSS price, which is of type double", GROUPABLE, None),
]  # fmt: skip

SCHEMA = pa.schema(
    {"price": pa.float64(), "Size": pa.int64(), "side": pa.string(), "ts": pa.timestamp("us"), "l": pa.list_(pa.int8()),
     "flag": pa.bool_()}
)  # fmt: skip
KNOWN = "one of price, Size, side, ts, l, flag"

SCORES = [
    ("1 + «prise»", "there is no column `prise`", KNOWN, "did you mean `price`?"),
    ("«price + side»", "`+` does not take a DOUBLE and a STRING", "a BIGINT or a DOUBLE", None),
    ("1 + «abs(side)»", "abs() does not take a STRING", "a BIGINT or a DOUBLE", None),
    ("«abs(price, 2)»", "abs() does not take 2 arguments", "1", None),
    ("«least(price)» + 1", "least() does not take 1 argument", "2 or 3 or 4 or 5", None),
    ("«ts + 1»", "`+` does not take a TIMESTAMP_NTZ and a BIGINT", "a BIGINT or a DOUBLE",
     "unix_micros(x) makes a number of a time"),
    ("«flag * 2»", "`*` does not take a BOOLEAN and a BIGINT", "a BIGINT or a DOUBLE",
     "a condition such as `x > 0` is a BOOLEAN"),
    ("«price DIV 2»", "`div` does not take a DOUBLE and a BIGINT", "a BIGINT", None),
    ("«l»", "column `l` is of type list<item: int8>, which expressions cannot use",
     "a column of numbers, strings, booleans, dates or timestamps", None),
    ("round(price, «Size»)", "the number of decimals must be a whole number from 0 to 15, written out", None, None),
    ("«coalesce(price, side)»", "coalesce() does not take a DOUBLE and a STRING", "values of one type", None),
    ("«price > 1»", "a score must be a number or a time, and this is a BOOLEAN", SCORED, None),
    ("2 * «sum»(price)", "sum() looks at many records, an expression at one", "a function of one record's columns",
     MANY),
    ("2 * «COUNT(*)»", "count() looks at many records, an expression at one", "a function of one record's columns",
     MANY),
    ("1 + «COUNT(DISTINCT price)»", "count() looks at many records, an expression at one",
     "a function of one record's columns", MANY),
    ("«max»(price, Size)", "max() looks at many records, an expression at one", "a function of one record's columns",
     "of several columns the largest is greatest(a, b); " + MANY),
    ("1 + «frobnicate»(price)", "there is no function `frobnicate`", None,
     "docs/language.md lists the functions there are"),
    ("«rank() over (order by price)»", "a window function (OVER) cannot stand in an expression", ALLOWED,
     "TOP k PER column is a list for each value of the column"),
    ("«price in (select 1)»", "a subquery cannot stand in an expression", ALLOWED,
     "a condition on other records cannot be; JOIN ... USING looks up a row of a table"),
    ("«price || side»", "`||` cannot stand in an expression", ALLOWED, "concat(a, b)"),
    ("«price & 1»", "a bitwise operator cannot stand in an expression", ALLOWED, None),
    ("1 + «cast(price as int)»", "CAST AS INT cannot stand in an expression", ALLOWED,
     "integers are BIGINT and other numbers DOUBLE in expressions; times: TIMESTAMP '2026-01-31 12:00:00'"),
    ("«1e999»", "the number 1e999 is too large", "at most 1.79e308", None),
    ("price «price»", "cannot make sense of `price` here", "one expression over the stream's columns",
     "a column whose name is a word of SQL goes in double quotes"),
    ("«»", "an expression is missing", None, None),
    ("«NULL»", "a score must be a number or a time, and this is a VOID", SCORED, None),
]  # fmt: skip

FILTERS = [
    ("«ts > '2026-01-31'»", "`>` does not take a TIMESTAMP_NTZ and a STRING", "values of one type",
     "a constant time is written TIMESTAMP '2026-01-31'"),
    ("ts > TIMESTAMP «'soon'»", "'soon' is not a TIMESTAMP",
     "TIMESTAMP '2026-01-31' or TIMESTAMP '2026-01-31 12:00:00'", None),
    ("ts > DATE «'2026-13-01'»", "'2026-13-01' is not a DATE", "DATE '2026-01-31'", None),
    ("«flag AND price»", "`and` does not take a BOOLEAN and a DOUBLE", "a BOOLEAN",
     "a condition such as `x > 0` is a BOOLEAN"),
    ("side LIKE «side»", "the pattern of LIKE must be a string, written out", None, None),
    ("side LIKE «'a\\\\b'»", "in a pattern `\\` must be followed by `%`, `_` or `\\`", None, None),
]  # fmt: skip

Case = tuple[str, str, str | None, str | None]


def check(error: SkybandError, case: Case) -> None:
    text, message, expected, hint = case
    plain = text.replace("«", "").replace("»", "")
    start, end = text.index("«"), text.index("»") - 1
    assert (error.message, error.expected, error.hint) == (message, expected, hint)
    assert error.span is not None
    assert error.span.source == plain
    assert (error.span.start, error.span.end) == (start, end), plain[error.span.start : error.span.end]


@pytest.mark.parametrize("case", STATEMENTS, ids=lambda case: case[0])
def test_statements(case: Case) -> None:
    with pytest.raises(SkybandError) as caught:
        parse(case[0].replace("«", "").replace("»", ""))
    check(caught.value, case)


@pytest.mark.parametrize("case", QUERIES, ids=lambda case: case[0])
def test_queries(case: Case) -> None:
    test_statements((S + case[0], *case[1:]))


@pytest.mark.parametrize("case", BOUND, ids=lambda case: case[0])
def test_declared_columns_are_checked_at_once(case: Case) -> None:
    test_statements((D + case[0], *case[1:]))


@pytest.mark.parametrize("case", TYPED, ids=lambda case: case[0])
def test_types_of_aggregates_and_groups_are_checked_at_once(case: Case) -> None:
    test_statements((D + case[0], *case[1:]))


@pytest.mark.parametrize("case", SCORES, ids=lambda case: case[0])
def test_scores(case: Case) -> None:
    with pytest.raises(SkybandError) as caught:
        compile_score(case[0].replace("«", "").replace("»", ""), SCHEMA)
    check(caught.value, case)


@pytest.mark.parametrize("case", FILTERS, ids=lambda case: case[0])
def test_filters(case: Case) -> None:
    with pytest.raises(SkybandError) as caught:
        compile_filter(case[0].replace("«", "").replace("»", ""), SCHEMA)
    check(caught.value, case)


def test_an_ambiguous_spelling_is_no_column() -> None:
    with pytest.raises(SkybandError, match="there is no column `ID`"):
        compile_score("ID", pa.schema({"id": pa.int64(), "Id": pa.int64()}))


def test_the_qualifier_must_be_the_stream_if_one_is_known() -> None:
    assert compile_score("s.price", SCHEMA, stream="S").columns == {"price"}
    with pytest.raises(SkybandError, match="`t` is not the stream"):
        compile_score("t.price", SCHEMA, stream="S")


def test_a_table_without_the_column_is_refused() -> None:
    score = compile_score("price", SCHEMA)
    with pytest.raises(SkybandError, match="there is no column `price`"):
        score.evaluate(pa.table({"x": [1]}))


def test_the_error_prints_line_column_and_underline() -> None:
    with pytest.raises(SkybandError) as caught:
        parse(D + "SELECT TOP 3\n  FROM trades [ROWS 5]\n  ORDER BY size * pric DESC")
    assert str(caught.value).splitlines()[:3] == [
        "there is no column `pric` (line 4, column 19)",
        "4 |   ORDER BY size * pric DESC",
        "  |                   ^^^^",
    ]
