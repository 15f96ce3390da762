"""What people know from other dialects is answered with the right spelling here, or with why there is none."""

from __future__ import annotations

import re

import pytest

from skyband.errors import SkybandError
from skyband.language import parse
from skyband.language.expressions import foreign
from skyband.language.expressions.bind import CALLED
from skyband.model.grouping import FUNCTIONS

HEAD = "CREATE STREAM s (ts TIMESTAMP, client STRING, bytes BIGINT, flag BOOLEAN) WITH (TIME = ts);\n"
RECORDS = "SELECT TOP 3 FROM s [RANGE 1 HOUR] ORDER BY "
GROUPS = "SELECT TOP 3 client FROM s [RANGE 1 HOUR] GROUP BY client ORDER BY "
TABLES = {**foreign._FUNCTIONS, **foreign._AGGREGATES, **foreign.SIGNS}


def refused(text: str) -> SkybandError:
    with pytest.raises(SkybandError) as caught:
        parse(HEAD + text)
    assert caught.value.span is not None
    assert caught.value.span.source == HEAD + text
    return caught.value


@pytest.mark.parametrize("word", sorted(TABLES))
def test_what_is_told_is_there(word: str) -> None:
    """And what is there is not called foreign."""
    assert word not in CALLED
    called = {name for name in re.findall(r"(\w+)\(", TABLES[word]) if name not in ("CAST", "s")}
    assert called - set(CALLED) - set(FUNCTIONS) == set()


@pytest.mark.parametrize("word", sorted(foreign._FUNCTIONS))
def test_functions_of_other_dialects(word: str) -> None:
    found = refused(RECORDS + f"1 + {word}(client)")
    assert (found.message, found.hint) == (f"there is no function `{word}`", foreign._FUNCTIONS[word])
    assert found.span is not None
    assert found.span.source[found.span.start : found.span.end] == word


@pytest.mark.parametrize("word", sorted(foreign._AGGREGATES))
def test_aggregates_of_other_dialects(word: str) -> None:
    found = refused(GROUPS + f"1 + {word.upper()}(bytes)")
    assert (found.message, found.expected) == (f"there is no aggregate `{word}`", "one of " + ", ".join(FUNCTIONS))
    assert found.hint == foreign._AGGREGATES[word]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("lenght(client)", "length"),
        ("uper(client)", "upper"),
        ("sqr(bytes)", "sqrt"),
        ("roud(bytes)", "round"),
        ("coalese(bytes, 1)", "coalesce"),
        ("weekdy(ts)", "weekday"),
    ],
)
def test_likely_slips(text: str, word: str) -> None:
    assert refused(RECORDS + text).hint == f"did you mean `{word}`?"
    assert refused(GROUPS + f"SUM({text})").hint == f"did you mean `{word}`?"


def test_slips_of_aggregates() -> None:
    found = refused(GROUPS + "summ(bytes)")
    assert (found.message, found.hint) == ("there is no function `summ`", "did you mean `SUM`?")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("extract(hour from ts)", "there is no function `extract`", foreign._PART),
        ("1 + extract(hour from ts) * 2", "there is no function `extract`", foreign._PART),
        ("position('a' in client)", "there is no function `position`", foreign._PLACE),
        ("trim(both ' ' from client)", "words between the arguments of `trim`", "trim(x), ltrim(x) and rtrim(x)"),
        ("substring(client from 1 for 2)", "words between the arguments of `substring`", "substr(x, 1, 4)"),
        ("client || 'a'", "`||` cannot stand in an expression", "concat(a, b)"),
        ("flag xor flag", "there is no `xor` between operands", "a <> b of two conditions"),
        ("client ILIKE 'a%'", "there is no `ILIKE` between operands", "lower(x) LIKE 'a%'"),
        ("client similar to 'a'", "there is no `similar` between operands", foreign._PATTERN),
        ("client rlike 'a'", "RLIKE cannot stand in an expression", foreign._PATTERN),
        ("bytes ** 2", "there is no `**` between operands", "power(a, b)"),
        ("bytes // 2", "there is no `//` between operands", "a DIV b"),
        ("bytes ^ 2", "a bitwise operator cannot stand in an expression", "a power is power(a, b)"),
        ("ts - interval 1 hour", "an INTERVAL cannot stand in an expression", "unix_seconds(a) - unix_seconds(b)"),
        ("row_number() over (order by bytes)", "a window function (OVER) cannot stand", "TOP k PER column"),
        ("bytes in (select 1)", "a subquery cannot stand in an expression", "JOIN ... USING"),
        ("bytes in flag", "IN without a list cannot stand in an expression", "IN ('a', 'b')"),
        ("current_timestamp", "there is no column `current_timestamp`", foreign._CLOCK),
        ("window_end", "there is no column `window_end`", "every result row has it"),
    ],
)
def test_forms_of_other_dialects(text: str, message: str, hint: str) -> None:
    found = refused(RECORDS + text)
    assert found.message.startswith(message)
    assert found.hint is not None
    assert found.hint.startswith(hint) or hint in found.hint


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("sum(bytes) filter (where flag)", "there is no `filter` between operands", "SUM(CASE WHEN"),
        ("max(bytes, 1)", "MAX of several expressions", "greatest(a, b)"),
        ("count(bytes, flag)", "COUNT of several expressions", "COUNT(DISTINCT concat(a, '|', b))"),
        ("SUM(DISTINCT bytes)", "SUM(DISTINCT ...)", "of values that count once only their number is kept"),
        ("SUM(bytes), COUNT(*)", "groups are ranked by one expression, and here are two", "of equal groups"),
        ("SUM(bytes) DESC, n ASC", "groups are ranked by one expression, and here are two", "1000000 * SUM(a)"),
        ("COUNT(*) DECAY 10 MINUTES", "found `DECAY` where a clause should be", "DECAY HALF LIFE 10 MINUTES"),
        ("COUNT(*) APPROXIMATE WITH REST", "query q1 has both APPROXIMATE and WITH REST", ""),
    ],
)
def test_groups(text: str, message: str, hint: str) -> None:
    found = refused(GROUPS + text)
    assert found.message.startswith(message)
    assert hint in (found.hint or "")


@pytest.mark.parametrize(
    "by", ["client, TUMBLE(ts, '1 hour')", "window(ts, '1 hour'), client", "date_trunc('hour', ts)", "HOP(ts, 1, 2)"]
)
def test_groups_by_time_are_windows(by: str) -> None:
    found = refused(f"SELECT TOP 3 client FROM s [RANGE 1 HOUR] GROUP BY {by} ORDER BY COUNT(*)")
    assert found.message == "groups are made by columns, not by expressions"
    assert found.hint is not None
    assert "FROM s [RANGE 1 HOUR] has a list for each hour" in found.hint


@pytest.mark.parametrize(
    ("window", "hint"),
    [
        ("TUMBLE 1 HOUR", "[RANGE 1 HOUR]: one window follows the other"),
        ("HOP 1 HOUR 1 MINUTE", "[RANGE 1 HOUR SLIDE 1 MINUTE]"),
        ("SLIDING 1 HOUR", "[RANGE 1 HOUR SLIDE 1 MINUTE]"),
        ("CUMULATE 1 DAY", "[RANGE 1 DAY CUMULATE 1 MINUTE]"),
        ("30 MINUTES", "[RANGE 30 MINUTES] is a window of time, [ROWS 30] one of records"),
        ("RANGE 1 HOUR HOP 1 MINUTE", "SLIDE says how far the next window starts behind this one"),
        ("RANGE 1 HOUR EVERY 1 MINUTE", "SLIDE says how far the next window starts behind this one"),
    ],
)
def test_windows_of_other_dialects(window: str, hint: str) -> None:
    found = refused(f"SELECT TOP 3 client FROM s [{window}] ORDER BY bytes")
    assert found.hint is not None
    assert found.hint.startswith(hint)
