"""Expressions in SELECT: shown under the names that queries give them, computed of the rows that are reported."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from tests import support
from tests.drawn import examples

STREAM = "CREATE STREAM s WITH (TIME = ts, KEY = id);"
WINDOW = "FROM s [RANGE 10 SECONDS]"
TABLE = pa.table(
    {
        "ts": pa.array([1, 2, 3], pa.timestamp("s")),
        "id": [1, 2, 3],
        "price": [5.0, None, 4.0],
        "size": pa.array([2, 3, 2**62]),
        "venue": ["a", "b", None],
        "tags": [["x"], [], None],
    }
)


def rows(*queries: str, table: pa.Table = TABLE) -> pa.Table:
    workload = sb.Workload.from_sql(STREAM + ";".join(queries))
    assert sb.Workload.from_sql(str(workload)) == workload
    monitor = sb.Monitor(workload)
    return pa.concat_tables([monitor.push(table), monitor.close()])


def query(name: str, select: str, rest: str = "ORDER BY id ASC") -> str:
    return f"CREATE QUERY {name} AS SELECT TOP 3 {select} {WINDOW} {rest}"


def test_each_type_is_shown_as_itself_and_null_where_there_is_no_value() -> None:
    found = rows(
        query(
            "q",
            "price * size AS value, upper(venue) AS venue, tags AS words, size + size AS twice, size > 2 AS large, "
            "CASE WHEN id = 2 THEN venue ELSE 'none' END AS chosen, 7 AS seven, s.id AS \"an id\"",
        )
    )
    said = {name: found.column(name).to_pylist() for name in found.column_names[11:]}
    assert said == {
        "value": [10.0, None, 4.0 * 2**62],
        "venue": ["A", "B", None],
        "words": [["x"], [], None],
        "twice": [4, 6, None],
        "large": [False, True, True],
        "chosen": ["none", "b", "none"],
        "seven": [7, 7, 7],
        "an id": [1, 2, 3],
    }
    kinds = {name: found.schema.field(name).type for name in ("value", "twice", "large", "seven")}
    assert kinds == {"value": pa.float64(), "twice": pa.int64(), "large": pa.bool_(), "seven": pa.int64()}


def test_queries_of_one_family_share_a_column_of_one_type() -> None:
    """Each row shows what its own query says, whoever else is called so."""
    found = rows(
        query("q1", "upper(venue) AS venue"),
        query("q2", "venue"),
        query("q3", "concat(venue, '!') AS venue, id"),
        query("q4", "venue", "ORDER BY size ASC"),
    )
    told = found.to_pylist()
    said = {name: [row["venue"] for row in told if row["query"] == name] for name in ("q1", "q2", "q3", "q4")}
    assert said == {"q1": ["A", "B", None], "q2": ["a", "b", None], "q3": ["a!", "b!", None], "q4": ["a", "b", None]}
    assert [row["id"] for row in told] == [None] * 6 + [1, 2, 3] + [None] * 3


def test_what_a_query_shows_has_its_own_schema() -> None:
    workload = sb.Workload.from_sql(STREAM + query("a", "size + 1 AS more, id") + ";" + query("b", "price"))
    monitor = sb.Monitor(workload)
    found = pa.concat_tables([monitor.push(TABLE), monitor.close()])
    own = monitor.results.of("a").rows(found)
    assert own.column_names[11:] == ["more", "id"]
    assert own.column("more").to_pylist() == [3, 4, 2**62 + 1]


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (
            ["upper(venue) AS x", "size + 1 AS x"],
            "query b: its column x is of type int64, and that of query a of type string",
        ),
        (
            ["size > 1 AS venue", "venue"],
            "query b: its column venue is of type string, and that of query a of type bool",
        ),
        (
            ["venue", "size > 1 AS venue"],
            "query b: its column venue is of type bool, and that of query a of type string",
        ),
        (["id", "size + 1 AS rank"], "query b: rank is a column of every row"),
        (["id", "sze + 1 AS x"], "query b: there is no column `sze`"),
        (["id", "upper(size) AS x"], "query b: "),
        (["id", "NULL AS x"], "query b: this is a VOID"),
    ],
)
def test_what_cannot_be_shown_is_refused_naming_the_query(queries: list[str], message: str) -> None:
    with pytest.raises(sb.SkybandError, match=re.escape(message)):
        rows(*(query(name, select) for name, select in zip("ab", queries, strict=True)))


def test_objects_and_uncertain_records_show_expressions_too() -> None:
    objects = query("q", "venue, size + 1 AS more", "OBJECT venue ACROSS id (SUM) ORDER BY SUM(id)")
    assert [(row["venue"], row["more"]) for row in rows(objects).to_pylist()] == [("b", 4), ("a", 3)]
    text = STREAM.replace("KEY = id", "KEY = id, PROBABILITY = p") + query("q", "upper(venue) AS loud", "ORDER BY id")
    monitor = sb.Monitor(sb.Workload.from_sql(text))
    monitor.push(TABLE.append_column("p", pa.array([0.5, 0.6, 0.7])))
    assert sorted(monitor.close().column("loud").to_pylist(), key=str) == ["A", "B", None]


def test_a_query_with_other_parameters_shows_the_same() -> None:
    asked = sb.TopK("q", 1, "x", "5 rows", select={"id": "id", "value": "price * size"}, then="y ASC")
    assert replace(replace(asked, k=7), k=1) == asked
    assert "SELECT TOP 7 id, price * size AS value" in str(replace(asked, k=7))


def test_columns_that_only_expressions_need_are_kept_and_not_shown() -> None:
    found = rows(query("q", "price + size AS sum"))
    assert found.column_names[11:] == ["sum"]


@examples(60)
@given(workload=support.workloads(), tables=support.tables(), data=st.data())
def test_an_expression_is_what_its_columns_make(
    workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    """Of every row, also with groups, late records, and a snapshot between two pushes."""
    select = {"id": "id", "twice": "bonus + bonus", "color": "coalesce(color, 'none')", "bonus": "bonus"}
    queries = []
    for each in workload.queries:
        same: dict[str, Any] = {
            "where": each.where, "per": each.per, "ascending": each.ascending, "select": select,
            "then": each.then, "changes": data.draw(st.booleans()),
        }  # fmt: skip
        limited = sb.Above if isinstance(each, sb.Above) else sb.TopK
        limit = each.threshold if isinstance(each, sb.Above) else each.k if isinstance(each, sb.TopK) else 1
        queries.append(limited(each.name, limit, each.by, each.window, **same))  # type: ignore[arg-type]
    asked = sb.Workload(queries, stream=workload.streams[0])
    records = {row["id"]: row for table in tables for row in table.to_pylist()}
    cut = data.draw(st.integers(0, len(tables)))
    monitor, parts = sb.Monitor(asked), []
    for number, table in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(asked, monitor.snapshot())
        parts.append(monitor.push(table))
    for row in pa.concat_tables([*parts, monitor.close()]).to_pylist():
        record = records[row["id"]]
        assert (row["twice"], row["bonus"]) == (2 * record["bonus"], record["bonus"])
        assert row["color"] == record["color"] or (row["color"] == "none" and record["color"] is None)


def test_a_query_that_joins_shows_null_where_nothing_was_kept() -> None:
    workload = sb.Workload.from_sql(STREAM + query("a", "id"))
    monitor = sb.Monitor(workload)
    monitor.push(TABLE)
    monitor.add(sb.TopK("b", 3, "id", "10 seconds", ascending=True, select={"id": "id", "shout": "upper(venue)"}))
    late = TABLE.set_column(1, "id", pa.array([4, 5, 6])).set_column(0, "ts", pa.array([4, 5, 6], pa.timestamp("s")))
    found = pa.concat_tables([monitor.push(late), monitor.close()], promote_options="default")
    said = [(row["id"], row["shout"]) for row in found.to_pylist() if row["query"] == "b"]
    assert said == [(1, None), (2, None), (3, None)]


def test_what_is_refused_changes_nothing() -> None:
    """Neither a first push nor a query that joins leaves a Monitor behind that shows less than it should."""
    wrong = sb.Monitor(sb.Workload.from_sql(STREAM + query("a", "id > 1 AS x") + ";" + query("b", "id AS x")))
    for _ in range(2):
        with pytest.raises(sb.SkybandError, match="query b: its column x is of type int64"):
            wrong.push(TABLE)
    monitor = sb.Monitor(sb.Workload.from_sql(STREAM + query("a", "id AS x")))
    monitor.push(TABLE)
    with pytest.raises(sb.SkybandError, match="query b: its column x is of type bool"):
        monitor.add(sb.TopK("b", 3, "id", "10 seconds", select={"x": "id > 1"}))
    assert monitor.close().column("x").to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("select", "by", "same"),
    [
        ("price * size AS v", "v DESC", "price * size DESC"),
        ("price * size AS v", "V ASC", "price * size ASC"),
        ("price + size AS v", "2 * v - id DESC", "2 * (price + size) - id DESC"),
        ("price + size AS v, upper(venue) AS venue", "s.price DESC, v ASC", "price DESC, price + size ASC"),
        ("-size AS size", "size DESC", "-s.size DESC"),
        ("id AS size, size AS id", "size DESC, id ASC", "s.id DESC, s.size ASC"),
        ("-size AS v", "if(v BETWEEN -3 AND 0, v, 7) DESC", "if(-size BETWEEN -3 AND 0, -size, 7) DESC"),
        ('price AS "a b", size', '-"a b" DESC', "-price DESC"),
    ],
)
def test_order_by_knows_the_names_of_select(select: str, by: str, same: str) -> None:
    """As in SQL they go before columns of the stream. The text of the query says the same once more."""
    names = ["rank", "score"]
    found, wanted = (rows(query("q", select, f"ORDER BY {text}")).select(names) for text in (by, same))
    assert found.to_pylist() == wanted.to_pylist()
    assert len(found) > 0


def test_order_by_knows_the_names_of_select_in_python() -> None:
    asked = sb.TopK("q", 3, "v", "10 seconds", select={"v": "price * size"}, then="v + 1 ASC")
    (settled,) = sb.Workload([asked], stream=sb.Stream("s", time="ts")).queries
    assert (settled.by, str(settled.then)) == ("price * size", "(price * size) + 1 ASC")


@pytest.mark.parametrize("where", ["v > 3", "V > 3 AND price > 1"])
@pytest.mark.parametrize("deletes", ["", ", OP = op"])
@pytest.mark.parametrize("columns", ["", "(ts TIMESTAMP, id BIGINT, price DOUBLE, op STRING)"])
def test_a_condition_on_a_name_of_select_is_told_what_to_write(where: str, deletes: str, columns: str) -> None:
    stream = f"CREATE STREAM s {columns} WITH (TIME = ts, KEY = id{deletes});"
    hint = "WHERE comes before SELECT gives the name: write `price * 2` in place of `v`"
    text = stream + query("q", "price * 2 AS v", f"WHERE {where} ORDER BY v")
    table = TABLE.append_column("op", pa.array(["I", "I", "I"]))
    with pytest.raises(sb.SkybandError, match=r"there is no column `[vV]`") as caught:
        sb.Monitor(sb.Workload.from_sql(text)).push(table)
    assert caught.value.hint == hint
    assert (caught.value.span is not None and caught.value.span.start > len(stream)) or not columns
