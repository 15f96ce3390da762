"""ORDER BY a, b: equal scores are ranked by a second key, whatever the window, the groups and the pushes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.model import Query
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.state import operator_bytes, restore_operator
from tests import support
from tests.drawn import examples
from tests.monitor.test_score_types import GREATEST, KINDS, LEAST, Kind, table, with_scores

STREAM = "CREATE STREAM s (ts TIMESTAMP, id BIGINT, a BIGINT, b DOUBLE, name STRING) WITH (TIME = ts, KEY = id);"
DOUBLES = Kind(pa.float64(), [float("nan"), -np.inf, np.inf, 0.0, -0.0, 1.5])
# The outermost of the BIGINTs has the place of its neighbour: NULL needs one of its own.
WHOLE = replace(KINDS["BIGINT"], values=KINDS["BIGINT"].values[1:-1])
TYPES = KINDS | {"BIGINT": WHOLE, "DOUBLE": DOUBLES}


def asked(data: st.DataObject, workload: sb.Workload) -> sb.Workload:
    """The same queries by `bonus`, which has four values, then by `score`."""
    found: list[Query] = []
    for query in workload.queries:
        then = data.draw(st.sampled_from(["score ASC", "score DESC"]))
        options: dict[str, Any] = {"per": query.per, "where": query.where, "ascending": query.ascending, "then": then}
        if isinstance(query, sb.Above):
            found.append(sb.Above(query.name, query.threshold, "bonus", query.window, **options))
        else:
            k = query.k if isinstance(query, sb.TopK) else 3
            found.append(sb.TopK(query.name, k, "bonus", query.window, **options))
    return sb.Workload(found, stream=workload.streams[0])


@pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES.keys())
@examples(40)
@given(data=st.data())
def test_every_row_is_the_oracles(kind: Kind, data: st.DataObject) -> None:
    workload = asked(data, data.draw(support.workloads()))
    tables = with_scores(data, data.draw(support.tables()), kind)
    cut = data.draw(st.integers(0, len(tables)))
    monitor, parts = sb.Monitor(workload), []
    for number, pushed in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.push(pushed))
        support.check_structures(monitor)
    rows = pa.concat_tables([*parts, monitor.close()])
    assert support.in_order(workload, support.actual_rows(rows)) == support.expected_rows(workload, tables)


def listed(order: str, limit: str = "TOP 9") -> list[int]:
    """Ids, best first, of records a second apart."""
    given: dict[str, list[Any]] = {"a": [5, 5, 4, 5, 5], "b": [1.0, 9.0, 2.0, None, 9.0]}
    records = table(id=range(5), name=["x"] * 5, **given)
    text = f"{STREAM} CREATE QUERY q AS SELECT {limit} id FROM s [RANGE 10 SECONDS] ORDER BY {order};"
    monitor = sb.Monitor(sb.Workload.from_sql(text))
    monitor.push(records)
    rows = monitor.close()
    assert rows.column("score").to_pylist() == [given["a"][id] for id in rows.column("id").to_pylist()]
    found: list[int] = rows.column("id").to_pylist()
    return found


def test_each_key_has_its_direction_and_null_is_last_in_both() -> None:
    assert listed("a DESC, b ASC") == [0, 4, 1, 3, 2]
    assert listed("a DESC, b DESC") == [4, 1, 0, 3, 2]
    assert listed("a ASC, b ASC") == [2, 0, 4, 1, 3]
    assert listed("a, b") == listed("a DESC, b DESC")
    assert listed("a, b ASC", "ABOVE 4") == [0, 4, 1, 3]


def test_the_outermost_integers_come_before_null() -> None:
    records = support.table_of([(at, at, 1.0, bonus, "x") for at, bonus in enumerate([None, LEAST, GREATEST, None])])
    for then, ids in (("bonus", [2, 1, 3, 0]), ("bonus ASC", [1, 2, 3, 0])):
        query = sb.TopK("q", 9, "score", "10 rows", then=then)
        monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts", key="id")))
        monitor.push(records)
        assert monitor.close().column("id").to_pylist()[:4] == ids


@pytest.mark.parametrize("per", [(), "color"])
def test_one_large_push_of_few_scores_keeps_few(per: Any) -> None:
    """The best score alone rules out nothing where a third of all records have it."""
    draw = np.random.default_rng(7)
    columns = range(3_000), range(3_000), draw.integers(0, 3, 3_000).tolist(), draw.permutation(3_000).tolist()
    records = support.table_of(list(zip(*columns, draw.choice(list("ab"), 3_000).tolist(), strict=True)))
    query = sb.TopK("q", 3, "score", "900 microseconds", "300 microseconds", per=per, then="bonus ASC")
    workload = sb.Workload([query], stream=sb.Stream("s", time="ts", key="id"))
    assert support.run_monitor(workload, [records]) == support.expected_rows(workload, [records])
    monitor = sb.Monitor(workload)
    monitor.push(records)
    monitor.close()
    assert max(each["candidates_peak"] for each in monitor.counters["families"].values()) <= 150


def test_a_log_of_changes_folds_into_the_lists() -> None:
    """A record that is as good, with a better second key, takes the place of a newer one."""
    query = sb.TopK("log", 1, "score", "3 rows", 1, changes=True, then="bonus")
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts", key="id")))
    rows = monitor.push(support.table_of([(at, at, 1.0, bonus, "x") for at, bonus in enumerate([1, 2, 1, 0, 0])]))
    said = [(row["row_end"], row["change"], row["id"]) for row in rows.to_pylist()]
    assert said == [(1, "enter", 0), (2, "leave", 0), (2, "enter", 1), (5, "leave", 1), (5, "enter", 2)]


def test_queries_with_another_second_key_share_nothing() -> None:
    queries = [
        sb.TopK(f"q{number}", 1 + number, "price", "1 minute", then=then)
        for number, then in enumerate([None, "size", "SIZE desc ", "size ASC", " size  DESC"])
    ]
    plan = sb.Workload(queries, stream=sb.Stream("s", time="ts")).plan()
    assert [family.family.places for family in plan.families] == [(0,), (1, 4), (2,), (3,)]
    assert len({family.family.fingerprint for family in plan.families}) == 4


def test_many_scores_with_a_second_key_stay_by_themselves() -> None:
    """An index for many scores ranks by one number each."""
    queries = [sb.TopK(f"q{number}", 1, f"price * {number + 1}", "1 minute", then="size") for number in range(12)]
    plan = sb.Workload(queries, stream=sb.Stream("s", time="ts")).plan()
    assert [family.family.data_model for family in plan.families] == ["complete"] * 12


@pytest.mark.parametrize(
    ("options", "more", "why"),
    [
        ("OP = name", "", "has deletes"),
        ("PROBABILITY = b", "", "possible worlds"),
        ("LATENESS = 1 SECOND", " WITH ERROR b", "possible worlds"),
        ("LATENESS = 1 SECOND", " OBJECT name ACROSS id (SUM)", "ranks objects"),
    ],
)
def test_where_there_can_be_none_it_is_refused(options: str, more: str, why: str) -> None:
    text = STREAM.replace("KEY = id", f"KEY = id, {options}") + " SELECT TOP 3 id FROM s [RANGE 1 MINUTE]"
    order = " ORDER BY SUM(a), b" if "OBJECT" in more else f" ORDER BY a, b{more}"
    with pytest.raises(sb.SkybandError, match=why) as refused:
        sb.Workload.from_sql(text + (more if "OBJECT" in more else "") + order)
    assert refused.value.expected == "ORDER BY one expression"


def test_a_second_key_whose_type_changed_is_refused_and_not_misread() -> None:
    query = sb.TopK("q", 1, "x", "2 rows", then="y")
    workload, given = sb.Workload([query], stream=sb.Stream("s", time="ts")), {"x": [1.0]}
    monitor, other = sb.Monitor(workload), sb.Monitor(workload)
    monitor.push(table(y=[1], **given))
    monitor._streams["s"].catch_up()
    (blob,) = [operator_bytes(each) for each in monitor._streams["s"].families]
    other.push(table(y=[1.5], **given))
    with pytest.raises(sb.SkybandError, match="saved second keys are 64-bit integers, and now they are of type DOUBLE"):
        restore_operator(FamilyOperator(other._streams["s"].families[0].planned), blob, {"": 1})
