"""Queries over streams that declare their columns: what does not fit is refused when the workload is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb

COLUMNS = [("ts", "TIMESTAMP"), ("client", "STRING"), ("bytes", "BIGINT"), ("weight", "DOUBLE"), ("at", "DATE")]
STREAM = sb.Stream("s", time="ts", columns=COLUMNS)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "SUM(client)", "group_by": "client"}, "SUM or AVG of client"),
        ({"by": "AVG(ts)", "group_by": "client"}, "SUM or AVG of ts"),
        ({"by": "MIN(client)", "group_by": "bytes"}, "MIN(client) of a column of type string"),
        ({"by": "COUNT(*)", "group_by": "client", "having": "COUNT(*)"}, "a condition must be true or false"),
        ({"by": "COUNT(*)", "group_by": "weight"}, "GROUP BY weight, which is of type double"),
        ({"by": "bytes", "per": "weight"}, "PER weight, which is of type double"),
        ({"by": "bytes", "at_most": (1, "weight")}, "AT MOST ... PER weight, which is of type double"),
        ({"by": "client"}, "a score must be a number or a time"),
        ({"by": "bytes", "where": "client > 3"}, "`>` does not take a STRING and a BIGINT"),
        ({"by": "bytes", "then": "client"}, "a score must be a number or a time"),
        ({"by": "LAST(at)", "group_by": "client", "k": "no"}, "this must be a number, and is a DATE"),
        ({"by": "SUM(bytes)"}, "sum() looks at many records"),
        ({"by": "bytes", "select": {"x": "upper(bytes)"}}, "upper() does not take a BIGINT"),
        ({"by": "SUM(client)", "across": sb.Across("client", "bytes", "SUM")}, "a score must be a number or a time"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_does_not_fit_is_refused_before_anything_runs(asked: dict[str, Any], said: str) -> None:
    kind = sb.TopK if "k" not in asked else sb.Above
    query = kind("q", 3, window="5 rows", **{name: value for name, value in asked.items() if name != "k"})
    with pytest.raises(sb.SkybandError, match=re.escape(said)) as caught:
        sb.Workload([query], stream=STREAM)
    assert caught.value.message.startswith("query q")


def test_columns_of_a_table_are_known_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"client": ["a"], "rate": [1.5], "name": ["Ada"]}), tmp_path / "clients.parquet")
    table, join = sb.Table("clients", str(tmp_path / "clients.parquet"), key="client"), sb.Join("clients", "client")
    sb.Workload([sb.TopK("q", 3, "rate", "5 rows", join=join)], stream=STREAM, tables=[table])
    with pytest.raises(sb.SkybandError, match="query q: SUM or AVG of name, which is of type string"):
        sb.Workload(
            [sb.TopK("q", 3, "SUM(name)", "5 rows", join=join, group_by="client")], stream=STREAM, tables=[table]
        )
