"""Many scores and streams with deletes on Spark's stages, without a cluster: the oracle judges every row.

What only Spark itself does is in `test_deletes.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import skyband as sb
from skyband.spark.clock import from_watermark
from tests import support
from tests.monitor import test_boards as boards
from tests.spark.test_parity import MILLI, in_stream_order
from tests.spark.test_processor import Played

FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
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


@pytest.mark.parametrize(("op", "engine"), [(None, "sma"), ("op", None)])
@FEW
@given(data=st.data(), parts=st.integers(1, 3))
def test_rows_are_the_oracles_whatever_the_restarts(
    op: str | None, engine: str | None, data: st.DataObject, parts: int
) -> None:
    workload = data.draw(boards.workloads(op, windows=WINDOWS, unit=MILLI))
    tables = data.draw(boards.tables(deletes=op is not None, unit=MILLI))
    played, restart = Played(workload, boards.SCHEMA, engine), data.draw(st.integers(0, 4))
    for number, table in enumerate(tables):
        if number == restart:
            played = played.restarted(workload)
        played.push(table, parts)
    found = ordered(support.actual_rows(played.table()))
    assert found == expected(workload, tables, from_watermark(played.watermark))
