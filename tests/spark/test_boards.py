"""Many scores and streams with deletes on Spark's stages, without a cluster: the oracle judges every row.

What only Spark itself does is in `test_deletes.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, strategies as st

import skyband as sb
from skyband.runtime.partitioning import QUERY_PARTS
from skyband.spark.event_time import from_watermark
from skyband.spark.state.checkpoint import _note, _with_batch
from skyband.spark.state.keys import by_state_key
from tests import support
from tests.drawn import examples
from tests.monitor import test_boards as boards
from tests.spark.test_parity import MILLI, in_stream_order
from tests.spark.test_processor import Played

FEW = examples(25, suppress_health_check=list(HealthCheck))
WINDOWS = [*boards.frames(MILLI), {"window": "6 rows", "slide": 2}]


def ordered(rows: list[support.Expected]) -> list[support.Expected]:
    return sorted(rows, key=lambda row: (row.query, row.end, row.rank))


def expected(workload: sb.Workload, tables: Sequence[pa.Table], reached: int) -> list[support.Expected]:
    """What the oracle says of windows that the watermark reached, and of ROWS windows that are full."""
    told = [in_stream_order(table, "id") for table in tables]
    in_rows = {query.name for query in workload.queries if query.window.kind == "rows"}
    ops = [op for table in told for op in table.column("op").to_pylist()]
    deletes = workload.streams[0].op is not None
    seen = sum(not deletes or (op or "i").lower()[0] != "d" for op in ops)
    rows = boards.expected_rows(workload, told)
    return ordered([row for row in rows if row.end <= (seen if row.query in in_rows else reached)])


@pytest.mark.parametrize(
    ("op", "engine", "state_parts"), [(None, "sma", None), ("op", None, None), (None, "sma", 3), ("op", None, 5)]
)
@FEW
@given(data=st.data(), parts=st.integers(1, 3))
def test_rows_are_the_oracles_whatever_the_restarts(
    op: str | None, engine: str | None, state_parts: int | None, data: st.DataObject, parts: int
) -> None:
    workload = data.draw(boards.workloads(op, windows=WINDOWS, unit=MILLI))
    tables = data.draw(boards.tables(deletes=op is not None, unit=MILLI))
    played, restart = Played(workload, boards.SCHEMA, engine, state_parts=state_parts), data.draw(st.integers(0, 4))
    for number, table in enumerate(tables):
        if number == restart:
            played = played.restarted(workload)
        played.push(table, parts)
    found = ordered(support.actual_rows(played.table()))
    assert found == expected(workload, tables, from_watermark(played.watermark))


def scores(count: int) -> sb.Workload:
    queries = [sb.TopK(f"q{i}", k=2, by=f"{i + 0.5} * a + b * 0.25", window="9 milliseconds") for i in range(count)]
    return sb.Workload(queries, stream=sb.Stream("s", time="ts", key="id"))


def test_a_boards_queries_are_dealt_to_buckets_by_their_names() -> None:
    (board,) = scores(40).plan().families
    known = by_state_key([board])
    assert len(known) == QUERY_PARTS
    assert sorted(query.name for each in known.values() for query in each.family.queries) == sorted(
        query.name for query in board.family.queries
    )
    fewer = by_state_key(scores(20).plan().families)
    for key, each in fewer.items():
        assert set(each.family.queries) <= set(known[key].family.queries), "nobody moves when others come and go"


def test_whoever_moves_to_a_board_is_new_there() -> None:
    """The eighth score makes a board of seven families; what they kept is not there, and their rows must say so."""
    before, after = scores(7).plan(), scores(8).plan()
    assert set(_with_batch(_note(before), before, 5).values()) == {0}
    assert set(_with_batch(_note(before), after, 5).values()) == {5}
    grown = list(_with_batch(_note(after), scores(9).plan(), 5).values())
    assert grown.count(0) == 8, "a ninth changes nothing for the others"


def test_a_bucket_keeps_only_what_its_queries_may_still_report() -> None:
    workload = scores(12)
    played = Played(workload, boards.SCHEMA)
    for first in range(0, 9_000, 3_000):
        rows = [(3 * i, i, float(i * 7919 % 1_000), i * 31 % 17, "I") for i in range(first, first + 3_000)]
        played.push(boards.table_of(rows))
    stored = [played.clock(key)["stored"] for key in played.known]
    assert len(stored) > 4
    assert max(stored) < 600, "of three thousand in a window, dead rows not yet swept out included"


def test_a_delete_is_no_record_of_the_stream() -> None:
    """Positions of windows that a later start asks for go on behind the records, as a Monitor's do."""
    queries = [sb.TopK("q", k=2, by="a", window="3 rows", slide=1)]
    played = Played(sb.Workload(queries, stream=sb.Stream("s", time="ts", key="id", op="op")), boards.SCHEMA)
    rows = [(3 * i, i, float(i), i, "I") for i in range(6)] + [(40, 2, 2.0, 2, "D"), (41, 3, 3.0, 3, "D")]
    played.push(boards.table_of(rows))
    assert played.clock("late/0")["records"] == 6
