"""Top groups in the stateful stage without a cluster: the rows of a Monitor, whatever comes late, in how many parts,
and when another process goes on."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, strategies as st

import skyband as sb
from tests import groups
from tests.drawn import examples
from tests.spark.test_parity import MILLI, in_stream_order
from tests.spark.test_processor import Played


def monitored(workload: sb.Workload, tables: list[pa.Table]) -> list[groups.Told]:
    monitor = sb.Monitor(workload)
    return groups.actual(workload, pa.concat_tables([monitor.push(in_stream_order(table, None)) for table in tables]))


@examples(40, suppress_health_check=list(HealthCheck))
@given(
    workload=groups.workloads(unit=MILLI),
    tables=groups.tables(unit=MILLI),
    parts=st.sampled_from([1, 2, 7]),
    at=st.integers(0, 4),
)
def test_rows_are_those_of_a_monitor(workload: sb.Workload, tables: list[pa.Table], parts: int, at: int) -> None:
    played = Played(workload, groups.SCHEMA)
    for number, table in enumerate(tables):
        if number == at:
            played = played.restarted(workload)
        played.push(table, parts)
    assert groups.actual(workload, played.table()) == monitored(workload, tables)


@pytest.mark.parametrize("asked", [{"having": "COUNT(*) > 1"}, {"where": "bytes > 0"}], ids=["having", "where"])
def test_a_list_may_tell_nothing_but_that_it_is_empty(asked: dict[str, str]) -> None:
    query = sb.TopK("q", 3, "COUNT(*)", "4 milliseconds", group_by="client", changes=True, **asked)  # type: ignore[arg-type]
    played = Played(sb.Workload([query], stream=sb.Stream("s", time="ts")), groups.SCHEMA)
    for rows in [(0, 1), (1, 1)], [(4, 0)], [(8, 0)], [(30, 0)]:
        played.push(groups.table_of([(MILLI * at, "a", 1, size, 1.0, "red") for at, size in rows]))
    told = [(row["change"], row["client"], row["score"]) for row in played.table().to_pylist()]
    assert told == [("enter", "a", 2), ("leave", "a", None)]
