"""Snapshots of a running workload: named parts in one sealed blob; tables as Arrow IPC, never pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.engines.codec import pack, unpack
from skyband.model import Ints
from skyband.runtime.family import FamilyRun
from skyband.runtime.ledger import work
from skyband.runtime.packed import ints
from skyband.runtime.worlds import Worlds

ID = "#id"


def sealed(kind: str, parts: Mapping[str, bytes]) -> bytes:
    """Named parts as one blob with magic word, version and kind."""
    return pack(kind, {"name": list(parts), "data": list(parts.values())}, {})


def unsealed(kind: str, blob: bytes) -> dict[str, bytes]:
    columns, _ = unpack(kind, blob)
    return dict(zip(columns["name"], columns["data"], strict=True))


def table_bytes(table: pa.Table | None) -> bytes:
    """Empty for None."""
    if table is None:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def table_of(data: bytes) -> pa.Table | None:
    return pa.ipc.open_stream(data).read_all() if data else None


def json_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def family_bytes(run: FamilyRun) -> bytes:
    """Everything that decides a family's future answers: its rows and its clock."""
    rows = run.rows()
    memory = run.memory()
    clock = {
        "until": run.until,
        "next_id": run.payload.next_id,
        "records": run.records,
        "work": work(run.keeper.counters),
        "peak": run.keeper.counters["candidates_peak"],
        "since": run.since.tolist(),
        "since_in_group": run.since_in_group,
        "waiting": run.keeper.waiting if isinstance(run.keeper, Worlds) else {},
    }
    parts = {
        "clock": json_bytes(clock),
        "rows": table_bytes(None if rows is None else rows.append_column(ID, pa.array(run.payload.ids))),
        "changes": table_bytes(_previous(run.changes.previous)),
        "memory": memory,
    }
    return sealed("family", parts)


def restore_family(run: FamilyRun, blob: bytes, seen: Mapping[str, int] | None) -> None:
    """Go on where `family_bytes` was taken; `run` is new. `seen` for ROWS: the records of each group so far."""
    parts = unsealed("family", blob)
    clock = json.loads(parts["clock"])
    changes = table_of(parts["changes"])
    for row in changes.to_pylist() if changes is not None else []:
        run.changes.previous[row["query"], row["group"]] = np.array(row["ids"], np.int64)
    run.payload.next_id, run.records, run.until = clock["next_id"], clock["records"], clock["until"]
    since = np.array(clock.get("since", []), np.int64)[: len(run.since)]
    run.since[: len(since)] = since
    in_group = clock.get("since_in_group", [])[: len(run.since_in_group)]
    run.since_in_group[: len(in_group)] = in_group
    rows = table_of(parts["rows"])
    if rows is not None:
        run.resume(rows.drop_columns([ID]), ints(rows, ID), clock["until"], seen, parts.get("memory", b""))
    run.keeper.resume(clock["work"], clock["peak"])
    if isinstance(run.keeper, Worlds):
        run.keeper.hand_over(clock.get("waiting", {}), run.planned)


def _previous(previous: Mapping[tuple[int, str], Ints]) -> pa.Table:
    return pa.table(
        {
            "query": pa.array([query for query, _ in previous], pa.int64()),
            "group": pa.array([group for _, group in previous], pa.string()),
            "ids": pa.array(list(previous.values()), pa.list_(pa.int64())),
        }
    )
