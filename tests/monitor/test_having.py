"""HAVING on the columns of a group, alone and beside aggregates: every row of every window is the oracle's."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.model import Query
from skyband.model.frozen import set_fields
from tests import groups
from tests.drawn import examples
from tests.support import micros


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _either(one: bool | None, other: bool | None) -> bool | None:
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


def _is(value: Any, wanted: Any) -> bool | None:
    return None if value is None else value == wanted


def _more(value: int | None, n: int) -> bool | None:
    return None if value is None else n > value


CONDITIONS: dict[str, tuple[set[str], Callable[[Any], bool | None]]] = {
    "client = 'a'": ({"client"}, lambda it: _is(it["client"], "a")),
    "NOT client = 'a'": ({"client"}, lambda it: None if it["client"] is None else it["client"] != "a"),
    "isnull(client)": ({"client"}, lambda it: it["client"] is None),
    "client = 'b' OR COUNT(*) > 1": ({"client"}, lambda it: _either(_is(it["client"], "b"), it["n"] > 1)),
    "host = 1 AND COUNT(*) > 1": ({"host"}, lambda it: _both(_is(it["host"], 1), it["n"] > 1)),
    "COUNT(*) > host": ({"host"}, lambda it: _more(it["host"], it["n"])),
    "COUNT(*) > coalesce(host, 0) + 1": ({"host"}, lambda it: it["n"] > (it["host"] or 0) + 1),
    "(host = 1) = (COUNT(*) > 1)": (
        {"host"},
        lambda it: None if it["host"] is None else (it["host"] == 1) == (it["n"] > 1),
    ),
    "CASE WHEN host = 1 THEN COUNT(*) > 1 ELSE client = 'a' END": (
        {"client", "host"},
        lambda it: it["n"] > 1 if it["host"] == 1 else _is(it["client"], "a"),
    ),
}


@st.composite
def queries(draw: st.DrawFn, number: int) -> Query:
    query = copy(draw(groups.queries(number)))
    fitting = [text for text, (columns, _) in CONDITIONS.items() if columns <= set(query.group_by)]
    set_fields(query, having=draw(st.sampled_from([None, *fitting])))
    return query


@st.composite
def workloads(draw: st.DrawFn) -> sb.Workload:
    members = [draw(queries(number)) for number in range(draw(st.integers(1, 3)))]
    return sb.Workload(members, stream=sb.Stream("s", time="ts", lateness=micros(draw(st.integers(0, 6)))))


@examples(300)
@given(workload=workloads(), tables=groups.tables())
def test_every_row_is_the_oracles(workload: sb.Workload, tables: list[pa.Table]) -> None:
    """The oracle is given each column of the group as one more aggregate."""
    assert sb.Workload.from_sql(str(workload)) == workload
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "ASKED", groups.ASKED | {"client": "LAST(client)", "host": "LAST(host)"})
        patch.setattr(
            groups, "HAVING", {None: groups.HAVING[None]} | {text: it for text, (_, it) in CONDITIONS.items()}
        )
        wanted = groups.expected(workload, tables)
    assert groups.run_monitor(workload, tables) == wanted


HEAD = "CREATE STREAM s WITH (TIME = ts); SELECT TOP 5"
ROWS = [(0, "a", 1, 1, 1.0, "red"), (1, "a", 1, 1, 1.0, "red"), (2, "b", 2, 1, 1.0, "red"), (3, None, 2, 1, 1.0, "red")]


def listed(text: str) -> list[Any]:
    workload = sb.Workload.from_sql(HEAD + text)
    assert sb.Workload.from_sql(str(workload)) == workload
    monitor = sb.Monitor(workload)
    table = pa.concat_tables([monitor.push(groups.table_of(ROWS)), monitor.close()])
    return [row[table.column_names[-1]] for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("having", "wanted"),
    [
        ("client = 'a'", ["a"]),
        ("CLIENT = 'a'", ["a"]),
        ("who = 'a'", ["a"]),
        ("s.client = 'a' OR COUNT(*) < 2 AND length(who) > 0", ["a", "b"]),
        ("client LIKE 'b%'", ["b"]),
        ("client IS NULL", [None]),
        ("upper(client) = 'B'", ["b"]),
        ("1 = 1", ["a", None, "b"]),
        ("client = NULL", []),
    ],
)
def test_columns_of_the_group_by_any_of_their_names(having: str, wanted: list[str | None]) -> None:
    text = f" client AS who FROM s [ROWS 4] GROUP BY client HAVING {having} ORDER BY COUNT(*)"
    assert listed(text) == wanted


def test_a_column_of_the_group_goes_before_a_name_of_select() -> None:
    """So that the text of a query says the same once more."""
    text = " host AS client, client AS host FROM s [ROWS 4] GROUP BY client, host HAVING {} ORDER BY COUNT(*)"
    assert listed(text.format("host = 2")) == [None, "b"]
    assert listed(text.format("client = 'a'")) == ["a"]


def test_what_having_turns_away_is_in_the_rest() -> None:
    """Unlike what WHERE turns away."""
    text = " COUNT(*) AS n FROM s [ROWS 4] {} ORDER BY COUNT(*) DESC WITH REST"
    assert listed(text.format("GROUP BY client HAVING client = 'a'")) == [2, 2]
    assert listed(text.format("WHERE client = 'a' GROUP BY client")) == [2]


def test_explain_says_the_condition_as_it_was_written() -> None:
    text = " client FROM s [ROWS 4] GROUP BY client HAVING client = 'a' AND COUNT(*) > 1 ORDER BY COUNT(*)"
    said = sb.Workload.from_sql(HEAD + text).explain()
    assert "client = 'a' AND COUNT(*) > 1" in said


def test_select_takes_expressions_of_any_type() -> None:
    text = " client, {} AS x FROM s [ROWS 4] GROUP BY client ORDER BY COUNT(*)"
    assert listed(text.format("upper(client)")) == ["A", None, "B"]
    assert listed(text.format("COUNT(*) > 1")) == [True, False, False]
    assert listed(text.format("CASE WHEN COUNT(*) > 1 THEN 'many' ELSE client END")) == ["many", None, "b"]
    assert listed(text.format("MAX(ts) > TIMESTAMP '1970-01-01'")) == [True, True, True]
