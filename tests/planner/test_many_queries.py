"""Thousands of queries: planned once, with work that grows as they do, and told of in a page."""

from __future__ import annotations

import cProfile
import gc
import pickle
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.language import canonical, parse, shape
from skyband.model.many import MOST_COLUMNS, Attribute
from skyband.planner import Family, families
from skyband.planner.families.multi_score import _in_eights
from tests.drawn import examples

STREAM = "CREATE STREAM s (ts TIMESTAMP, id BIGINT, name STRING, a DOUBLE, b DOUBLE) WITH (TIME = ts, KEY = id);\n"
UNCERTAIN = "CREATE STREAM s WITH (TIME = ts, KEY = id, PROBABILITY = p);\n"


def windows(n: int) -> str:
    return STREAM + "".join(
        f"CREATE QUERY q{i} AS SELECT TOP {1 + i % 100} * FROM s [RANGE {10 + i} s SLIDE {1 + i % 9} s] ORDER BY a;\n"
        for i in range(n)
    )


def filters(n: int) -> str:
    return STREAM + "".join(
        f"CREATE QUERY q{i} AS SELECT TOP 3 name FROM s [RANGE 9 s] WHERE name = 'n{i}' ORDER BY a * b DESC;\n"
        for i in range(n)
    )


def scores(n: int) -> str:
    return STREAM + "".join(
        f"CREATE QUERY q{i} AS SELECT TOP 3 PER name * FROM s [RANGE {9 + i % 7} s] ORDER BY {i}.5 * a - 2.0 * b;\n"
        for i in range(n)
    )


def riders(n: int) -> str:
    return UNCERTAIN + "".join(
        f"CREATE QUERY q{i} AS SELECT TOP {1 + i % 20} * FROM s [RANGE 9 min {'SLIDE ' * (i % 2)}"
        f"{f'{1 + i % 50} s' * (i % 2)}] ORDER BY a {f'FREQUENCY {1 + i % 50} s' * (1 - i % 2)};\n"
        for i in range(n)
    )


@pytest.mark.parametrize("text", [windows, filters, scores, riders])
def test_ten_times_the_queries_are_ten_times_the_work(text: Callable[[int], str]) -> None:
    """From text to a Monitor, counted in calls: seconds depend on who else uses the machine."""
    sb.Monitor(sb.Workload.from_sql(text(3)))
    some, many = (_calls(text(n)) for n in (100, 1000))
    assert many <= 11 * some


def _calls(text: str) -> int:
    with cProfile.Profile() as profile:
        sb.Monitor(sb.Workload.from_sql(text))
    return sum(each.callcount for each in profile.getstats())


def test_a_workload_is_planned_once() -> None:
    workload = sb.Workload.from_sql("CREATE STREAM s WITH (TIME = ts); SELECT TOP 1 FROM s [ROWS 5] ORDER BY x;")
    plan = workload.plan()
    assert workload.plan() is plan
    assert workload.plan(schemas={"s": pa.schema({"ts": pa.timestamp("us"), "x": pa.float64()})}) is plan
    exact = workload.plan(schemas={"s": pa.schema({"ts": pa.timestamp("us"), "x": pa.int64()})})
    assert exact.families[0].family.score_type.whole
    assert workload.plan("mtopband").families[0].choice.engine == "mtopband"
    assert workload.plan() is plan
    assert pickle.loads(pickle.dumps(workload)).plan() == plan


def test_plans_of_ten_families_are_told_in_full() -> None:
    workload = sb.Workload.from_sql(filters(20))
    assert workload.explain() == workload.explain(all=True)


def test_families_that_are_alike_are_summed_up() -> None:
    text = filters(300) + "SELECT ABOVE 7 FROM s [ROWS 9] ORDER BY b; SELECT TOP 2 PER name FROM s [ROWS 9] ORDER BY b;"
    workload = sb.Workload.from_sql(text)
    told = workload.explain()
    assert told.count("\n") < 80
    assert "302 queries, 302 families" in told
    assert "family 3 of 302: 1 query over s by a * b DESC\n  filter    name = 'n2'" in told
    assert "family 4 of 302" not in told
    assert "family 301 of 302" in told
    assert "family 302 of 302" in told
    assert (
        """\
… and 297 more families like these, from number 4 to 300: 297 queries over s
  scores    a * b DESC
  filters   297, such as name = 'n3'; name = 'n4'; name = 'n299'
  engine    shared
  reports   top 3
  last      9 SECONDS
  every     9 SECONDS
"""
        in told
    )
    everything = workload.explain(all=True)
    assert "family 299 of 302" in everything
    assert "more families" not in everything
    assert sb.Monitor(workload).explain(all=True) == everything


def test_all_queries_of_a_family_are_told_when_asked_for() -> None:
    workload = sb.Workload.from_sql(windows(30))
    assert "… and 18 more" in workload.explain()
    assert "  q29    top 30" in workload.explain(all=True)


@examples(60)
@given(st.lists(st.sets(st.sampled_from("abcdefghijklmnopqrst"), min_size=1, max_size=8), min_size=1, max_size=30))
def test_a_family_joins_the_first_that_has_room(columns: list[set[str]]) -> None:
    queries = [
        sb.TopK(f"q{i}", k=1, by=" + ".join(f"{i + 1}.5 * {name}" for name in sorted(names)), window="9 rows")
        for i, names in enumerate(columns)
    ]
    found = families([sb.Stream("s", time="ts")], queries, canonical)
    plain: list[tuple[set[Attribute], list[Family]]] = []
    for family in found:
        needs = set(shape(family.queries[0].by, None).attributes)
        first = next((each for each in plain if len(each[0] | needs) <= MOST_COLUMNS), None)
        if first is None:
            plain.append((set(needs), [family]))
        else:
            first[0].update(needs)
            first[1].append(family)
    assert _in_eights(found, lambda each: set(shape(each.queries[0].by, each.queries[0].where).attributes)) == [
        members for _, members in plain
    ]


def test_the_collector_runs_again_after_reading() -> None:
    assert gc.isenabled()
    with pytest.raises(sb.SkybandError):
        parse("SELECT")
    assert gc.isenabled()
    parse(STREAM)
    assert gc.isenabled()
