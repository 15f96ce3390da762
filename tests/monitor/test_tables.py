"""Static tables joined by key: the rows are those of records that bring the table's columns along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.cli.main import app
from skyband.model import Join, Query
from skyband.runtime import lookups
from tests.drawn import examples

CLIENTS = pa.table(
    {
        "client": pa.array(["ann", "bob", None, "dan", "eve", "fay"]),
        "name": ["Ann", "Bob", "Nobody", "Dan", "Eve", None],
        "weight": pa.array([1, 10, 99, None, 3, -2], pa.int32()),
        "unused": [0.5] * 6,
    }
)
STREAM = sb.Stream("requests", time="ts", key="id", lateness="1 second")
JOIN = Join("clients", "client")
QUERIES: list[dict[str, Any]] = [
    {
        "name": "heavy",
        "k": 3,
        "by": "bytes * weight",
        "window": "6 seconds",
        "slide": "2 seconds",
        "where": "bytes > 0",
    },
    {"name": "lowest", "k": 2, "by": "weight", "window": "5 seconds", "ascending": True, "select": ["id", "name"]},
    {"name": "counted", "k": 2, "by": "bytes", "window": "5 rows", "slide": 2, "select": ["id", "client", "name"]},
    {"name": "each", "k": 1, "by": "bytes", "window": "6 seconds", "slide": "3 seconds", "per": "name", "select": "id"},
    {"name": "groups", "k": 1, "by": "bytes", "window": "3 rows", "per": "name", "select": ["id", "weight"]},
    {"name": "log", "k": 2, "by": "weight * 2", "window": "4 seconds", "changes": True, "select": "name"},
    {"name": "some", "k": 3, "by": "bytes", "window": "6 seconds", "at_most": (1, "name"), "select": ["id", "bytes"]},
    {"name": "or", "k": 4, "by": "bytes", "window": "4 seconds", "where": "bytes = 1 OR weight > 2", "select": "id"},
    {
        "name": "talkers",
        "k": 2,
        "by": "SUM(bytes * weight)",
        "window": "6 seconds",
        "slide": "3 seconds",
        "group_by": "name",
        "select": ["name", "COUNT(*) AS many"],
        "having": "COUNT(weight) > 1",
        "changes": True,
    },
    {
        "name": "seen",
        "k": 2,
        "by": "MAX(weight)",
        "window": "4 rows",
        "group_by": ["client", "name"],
        "select": ["name", "COUNT(*) AS many"],
        "rest": True,
    },
]
ABOVE: dict[str, Any] = {
    "name": "above",
    "threshold": 5,
    "by": "weight",
    "window": "4 seconds",
    "select": ["id", "weight"],
}
ALONE = sb.TopK("alone", k=3, by="bytes", window="4 seconds")


def write(folder: Path, table: pa.Table = CLIENTS, name: str = "clients.parquet") -> sb.Table:
    path = folder / name
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".json":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        pq.write_table(table, path)
    return sb.Table("clients", str(path), key="client")


def joined(table: sb.Table) -> sb.Workload:
    queries: list[Query] = [sb.TopK(**each, join=JOIN) for each in QUERIES]
    return sb.Workload([*queries, sb.Above(**ABOVE, join=JOIN), ALONE], stream=STREAM, tables=[table])


def brought() -> sb.Workload:
    """The same queries over records that have a partner's columns, and a column that says whether there is one."""

    def asked(each: dict[str, Any]) -> dict[str, Any]:
        where = f"partner AND ({each['where']})" if "where" in each else "partner"
        columns = ["ts", "id", "client", "bytes", "name", "weight", "unused"]
        return each | {"where": where, "select": each.get("select", columns)}

    queries: list[Query] = [sb.TopK(**asked(each)) for each in QUERIES]
    alone = sb.TopK("alone", k=3, by="bytes", window="4 seconds", select=["ts", "id", "client", "bytes"])
    return sb.Workload([*queries, sb.Above(**asked(ABOVE)), alone], stream=STREAM)


def records(rows: list[tuple[int, str | None, int | None]]) -> pa.Table:
    at, client, size = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "ts": pa.array([1_000 * each for each in at], pa.timestamp("us")),
            "id": pa.array(range(len(rows)), pa.int64()),
            "client": pa.array(client, pa.string()),
            "bytes": pa.array(size, pa.int64()),
        }
    )


def with_partners(table: pa.Table, clients: pa.Table = CLIENTS) -> pa.Table:
    known = {row["client"]: row for row in clients.to_pylist() if row["client"] is not None}
    rows = [known.get(client, {}) for client in table["client"].to_pylist()]
    for name in ("name", "weight", "unused"):
        table = table.append_column(name, pa.array([row.get(name) for row in rows], clients.schema.field(name).type))
    return table.append_column("partner", pa.array([bool(row) for row in rows], pa.bool_()))


def rows_of(workload: sb.Workload, parts: list[pa.Table]) -> tuple[list[str], Any]:
    monitor = sb.Monitor(workload)
    found = [row for part in parts for row in monitor.push(part).to_pylist()] + monitor.close().to_pylist()
    shown = [{name: value for name, value in row.items() if value is not None} for row in found]
    return sorted(str(sorted(row.items(), key=str)) for row in shown), monitor.counters["queries"]


CLIENT = st.sampled_from(["ann", "bob", "dan", "eve", "fay", "zoe", "", None])


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> sb.Table:
    return write(tmp_path_factory.mktemp("tables"))


@examples(40)
@given(
    st.lists(st.tuples(st.integers(0, 20_000), CLIENT, st.none() | st.integers(0, 9)), max_size=40), st.integers(1, 9)
)
def test_rows_and_counters_are_those_of_records_with_the_columns(
    clients: sb.Table, rows: list[tuple[int, str | None, int | None]], size: int
) -> None:
    """Some of the records late, some without a partner, some of whose columns are NULL."""
    table = records(rows)
    parts = [table.slice(first, size) for first in range(0, len(table), size)]
    expected = rows_of(brought(), [with_partners(part) for part in parts])
    assert rows_of(joined(clients), parts) == expected


def test_a_list_by_hand(clients: sb.Table) -> None:
    table = records([(0, "ann", 5), (1, "zoe", 99), (2, None, 98), (3, "bob", 2), (4, "dan", 7), (5, "eve", 0)])
    monitor = sb.Monitor(joined(clients))
    monitor.push(table)
    rows = monitor.results.of("heavy").rows(monitor.close()).to_pylist()
    last = [(row["rank"], row["id"], row["name"], row["score"]) for row in rows if row["window_end"].second == 2]
    assert last == [(1, 3, "Bob", 20), (2, 0, "Ann", 5)]
    counts = monitor.counters["queries"]
    assert counts["heavy"]["unranked"] == 1  # dan has no weight; zoe is nobody's client


def test_a_snapshot_goes_on_and_the_table_is_read_anew(tmp_path: Path) -> None:
    workload = joined(write(tmp_path))
    table = records([(1_000 * n, ["ann", "bob", "zoe"][n % 3], n) for n in range(20)])
    expected = rows_of(workload, [table])
    monitor = sb.Monitor(workload)
    found = monitor.push(table.slice(0, 7)).to_pylist()
    monitor = sb.Monitor.restore(workload, monitor.snapshot())
    found += monitor.push(table.slice(7)).to_pylist() + monitor.close().to_pylist()
    shown = [{name: value for name, value in row.items() if value is not None} for row in found]
    assert sorted(str(sorted(row.items(), key=str)) for row in shown) == expected[0]
    write(tmp_path, CLIENTS.slice(0, 1))
    assert len(rows_of(workload, [table])[0]) < len(expected[0])


@pytest.mark.parametrize("name", ["clients.csv", "clients.json", "clients.parquet"])
def test_every_kind_of_file(tmp_path: Path, name: str) -> None:
    table = records([(1_000 * n, ["ann", "bob", "zoe"][n % 3], n) for n in range(9)])
    workload = joined(write(tmp_path, CLIENTS.slice(0, 2), name))
    assert rows_of(workload, [table]) == rows_of(brought(), [with_partners(table, CLIENTS.slice(0, 2))])


def test_keys_of_several_columns_and_other_widths(tmp_path: Path) -> None:
    path = tmp_path / "places.parquet"
    pq.write_table(
        pa.table({"x": pa.array([1, 1, 2], pa.int16()), "y": ["a", "b", "a"], "cost": [1.5, 2.5, 3.5]}), path
    )
    text = f"""CREATE TABLE places FROM '{path}' KEY x, y; CREATE STREAM s WITH (TIME = ts, KEY = id);
    CREATE QUERY q AS SELECT TOP 9 id FROM s [RANGE 1 HOUR] JOIN places USING (x, y) ORDER BY cost;"""
    workload = sb.Workload.from_sql(text)
    assert sb.Workload.from_sql(str(workload)) == workload
    monitor = sb.Monitor(workload)
    y = pa.array(["a", "b", "a", "b", None, "a"]).dictionary_encode()
    x = pa.array([1, 1, 2, 2, 1, None], pa.int64())
    monitor.push(pa.table({"ts": pa.array(range(6), pa.timestamp("s")), "id": range(6), "x": x, "y": y}))
    assert [(row["id"], row["score"]) for row in monitor.close().to_pylist()] == [(2, 3.5), (1, 2.5), (0, 1.5)]


def test_ties_do_not_depend_on_what_others_use_of_the_table(clients: sb.Table) -> None:
    """Without a key the hash of the stream's own columns decides."""
    stream = sb.Stream("requests", time="ts")
    table = records([(0, ["ann", "bob", "eve"][n % 3], 7) for n in range(30)])
    few = sb.TopK("few", k=5, by="bytes", window="1 second", select="id", join=JOIN)
    more = sb.TopK("more", k=5, by="bytes + weight", window="1 second", join=JOIN)
    plain = sb.TopK("few", k=5, by="bytes", window="1 second", select="id")

    def ids(queries: list[Query]) -> list[int]:
        monitor = sb.Monitor(sb.Workload(queries, stream=stream, tables=[clients]))
        monitor.push(table)
        return [row["id"] for row in monitor.close().to_pylist() if row["query"] == "few"]

    assert ids([few]) == ids([few, more]) == ids([plain]) == ids([plain, more])


def test_keys_with_one_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "hash_rows", lambda keys: np.zeros(len(keys), np.int64))
    table = records([(700 * n, ["ann", "fay", "zoe", None, "eve"][n % 5], n % 7) for n in range(30)])
    workload = joined(write(tmp_path))
    assert rows_of(workload, [table]) == rows_of(brought(), [with_partners(table)])
    twice = pa.concat_tables([CLIENTS, CLIENTS.slice(3, 1)])
    assert "table clients has two rows with client = 'dan'" in refused(lambda: joined(write(tmp_path, twice)))


def test_the_command_line_takes_a_table_from_where_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    workload = joined(write(tmp_path))
    table = records([(1_000 * n, ["ann", "bob", "zoe"][n % 3], n) for n in range(9)])
    pq.write_table(table, "in.parquet")
    Path("w.sql").write_text(str(workload).replace(str(tmp_path / "clients.parquet"), "clients.parquet"))
    app(["run", "w.sql", "--source", "requests=in.parquet", "--sink", "out", "--monitor"], standalone_mode=False)
    found = pa.concat_tables([pq.read_table(path) for path in Path("out").rglob("*.parquet")]).to_pylist()
    shown = [{name: value for name, value in row.items() if value is not None} for row in found]
    assert sorted(str(sorted(row.items(), key=str)) for row in shown) == rows_of(workload, [table])[0]


def test_queries_come_and_go(clients: sb.Table) -> None:
    monitor = sb.Monitor(joined(clients))
    table = records([(1_000 * n, ["ann", "bob", "zoe"][n % 3], n) for n in range(20)])
    monitor.push(table.slice(0, 9))
    monitor.add(sb.TopK("more", k=1, by="weight", window="2 seconds", join=JOIN))
    monitor.push(table.slice(9))
    assert any(row["query"] == "more" for row in monitor.close().to_pylist())
    alone = sb.Monitor(sb.Workload([ALONE], stream=STREAM, tables=[clients]))
    with pytest.raises(sb.SkybandError, match="query more uses columns of table clients that no query used"):
        alone.add(sb.TopK("more", k=1, by="weight", window="2 seconds", join=JOIN))


def test_explain_tells_of_the_table(clients: sb.Table) -> None:
    told = joined(clients).explain()
    said = f"table clients: 5 rows of {clients.where} by client, read at the start"
    assert said in told
    assert said in sb.Monitor(joined(clients)).explain()
    assert "join      clients by client: a record without a row there does not qualify\n  filter    bytes > 0" in told


def refused(workload: Any, table: pa.Table | None = None) -> str:
    some = records([(0, "ann", 1)]) if table is None else table
    with pytest.raises(sb.SkybandError) as found:
        sb.Monitor(workload()).push(some)
    return str(found.value)


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    twice = pa.table(
        {"client": ["ann", "bob", "ann"], "name": ["A", "B", "C"], "weight": [1, 2, 3], "unused": [0.0] * 3}
    )
    assert "table clients has two rows with client = 'ann'" in refused(lambda: joined(write(tmp_path, twice)))
    numbers = twice.set_column(0, "client", pa.array([1, 2, 3]))
    told = refused(lambda: joined(write(tmp_path, numbers)))
    assert "column 'client' is string in stream requests, and int64 in table clients" in told
    assert "table clients has no column 'client', its KEY" in refused(
        lambda: joined(write(tmp_path, numbers.drop_columns("client")))
    )
    both = CLIENTS.append_column("bytes", pa.array([1] * 6))
    assert "both stream requests and table clients have a column 'bytes'" in refused(
        lambda: joined(write(tmp_path, both))
    )
    assert "there is no" in refused(lambda: joined(sb.Table("clients", str(tmp_path / "no.csv"), key="client")))
    (tmp_path / "bad.parquet").write_text("nothing")
    told = refused(lambda: joined(sb.Table("clients", str(tmp_path / "bad.parquet"), key="client")))
    assert "cannot be read" in told
    good = write(tmp_path)
    told = refused(lambda: joined(good), records([(0, "ann", 1)]).drop_columns("client"))
    assert "stream requests has no column 'client', the key of table clients" in told


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("JOIN client USING (client)", "joins 'client', and there is no such table"),
        ("JOIN clients USING (id)", "joins clients by id"),
        ("JOIN clients ON client", "found `ON` after JOIN clients"),
        ("JOIN clients USING client", "found `client` after USING"),
        ("LEFT JOIN clients USING (client)", "does not qualify: write JOIN"),
        ("JOIN clients USING (client) WHERE clients.weight > 1", "just 'weight'"),
        ("", "there is no column 'weight'"),
    ],
)
def test_queries_that_are_wrong_are_refused(clients: sb.Table, query: str, message: str) -> None:
    text = f"CREATE STREAM s WITH (TIME = ts); {clients} CREATE QUERY other AS SELECT TOP 1 name FROM s [ROWS 2] "
    text += "JOIN clients USING (client) ORDER BY weight;"
    text += f"CREATE QUERY q AS SELECT TOP 1 FROM s [ROWS 2] {query} ORDER BY weight;"
    assert message in refused(lambda: sb.Workload.from_sql(text)).replace("`weight`", "'weight'")


def test_deletes_and_names_that_are_taken_are_refused(clients: sb.Table) -> None:
    deletes = sb.Stream("s", time="ts", key="id", op="op")
    query = sb.TopK("q", k=1, by="weight", window="2 rows", join=JOIN)
    with pytest.raises(sb.SkybandError, match="JOIN over stream s, which has deletes"):
        sb.Workload([query], stream=deletes, tables=[clients])
    with pytest.raises(sb.SkybandError, match="two streams or tables are called 'clients'"):
        sb.Workload([query], stream=sb.Stream("clients", time="ts"), tables=[clients])


def test_objects_and_uncertain_streams_join_as_well(clients: sb.Table) -> None:
    table = records([(700 * n, ["ann", "bob", "eve", "zoe"][n % 4], n % 7) for n in range(30)])
    table = table.append_column("p", pa.array([0.1 + 0.05 * (n % 9) for n in range(30)]))
    for stream, query in (
        (STREAM, {"by": "SUM(bytes * weight)", "across": sb.Across("client", "id", "SUM"), "select": "client"}),
        (
            sb.Stream("requests", time="ts", key="id", probability="p"),
            {"by": "bytes * weight", "select": ["id", "name"]},
        ),
    ):
        asked: dict[str, Any] = {"name": "q", "k": 3, "window": "6 seconds", "slide": "2 seconds", **query}
        one = sb.Workload([sb.TopK(**asked, join=JOIN)], stream=stream, tables=[clients])
        other = sb.Workload([sb.TopK(**asked, where="partner")], stream=stream)
        found, expected = rows_of(one, [table]), rows_of(other, [with_partners(table)])
        assert found[0]
        assert found == expected
