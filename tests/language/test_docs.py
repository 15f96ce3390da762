"""The reference names everything there is, its examples work, and its claims hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skyband.language import parse
from skyband.language.expressions.expression import read
from skyband.language.expressions.functions import FUNCTIONS
from skyband.language.expressions.nodes import ALIASES, calls
from skyband.language.expressions.printing import RESERVED

DOCS = (Path(__file__).parents[2] / "docs" / "language.md").read_text()


def section(title: str) -> str:
    return DOCS.split(f"# {title}\n", 1)[1].split("\n#", 1)[0]


def rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith(("| `", "| columns"))]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def named(title: str) -> set[str]:
    return {name for row in rows(title) for name in re.findall(r"`([^`]+)`", row[0])}


def test_every_function_has_a_row_and_every_row_a_function() -> None:
    found = named("Operators") | named("Functions")
    assert set(FUNCTIONS) - found == set()
    assert found - set(FUNCTIONS) - set(ALIASES) == {"BETWEEN"}


def test_every_alias_is_mentioned() -> None:
    words = set(re.findall(r"\w+", section("Operators") + section("Functions")))
    assert set(ALIASES) - words == set()


def test_every_example_of_a_function_uses_it() -> None:
    for title in ("Operators", "Functions"):
        for row in rows(title):
            wanted = {ALIASES.get(name, name) for name in re.findall(r"`([^`]+)`", row[0])}
            found = {ALIASES.get(call.function, call.function) for call in calls(read(row[-1].strip("` |")))}
            assert found & wanted or wanted == {"BETWEEN"}, row


@pytest.mark.parametrize("title", ["Streams", "Queries"])
def test_every_clause_has_a_row(title: str) -> None:
    streams = "TIME, KEY, LATENESS, AHEAD, EXPIRE, OP, SCORE, PROBABILITY, RULE, SOURCE"
    queries = "TOP k, WITH TIES, AT MOST, ABOVE x, PER, FROM, RANGE, ROWS, SLIDE, CUMULATE, UNBOUNDED, OFFSET, WHERE, "
    queries += "OBJECT ACROSS, JOIN, ORDER BY, DECAY, WITH ERROR, FREQUENCY, USING, EXACT, APPROXIMATE, EMIT CHANGES, "
    queries += "GROUP BY, HAVING, WITH REST"
    wanted = {"Streams": streams, "Queries": queries}
    assert named(title) == set(wanted[title].split(", "))


def test_words_that_need_quotes_are_listed() -> None:
    listed = DOCS.split("need them: ", 1)[1].split(". A column", 1)[0]
    assert {word.lower() for word in re.findall(r"\w+", listed)} <= RESERVED


def test_the_workloads_in_the_page_parse() -> None:
    blocks = re.findall(r"```sql\n(.*?)```", DOCS, re.DOTALL)
    assert blocks
    for block in blocks:
        assert parse(block)[1]
    paper = re.search(r"`(SELECT top-3 .*? 2 mins)`", DOCS)
    assert paper is not None
    assert parse("CREATE STREAM sensor WITH (TIME = t, SCORE = x);" + paper[1])[1]


def test_the_python_in_the_page_does_what_its_comments_say() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    names: dict[str, object] = {}
    exec(block, names)
    shown = re.findall(r"^(\S.*?)  # (.*)$", block, re.MULTILINE)
    assert len(shown) == 4
    for expression, value in shown:
        found = eval(expression, names)
        assert repr(found) == value or found == eval(value, {"frozenset": frozenset}), expression
