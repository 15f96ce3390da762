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
from skyband.runtime.groups import Member

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
    """Everything that decides a family's future answers."""
    payload, groups = run.payload, run.groups
    payload.sweep(run.live())
    clock = {
        "until": run.until,
        "next_id": payload.next_id,
        "late": run.late.tolist(),
        "dropped": run.dropped.tolist(),
        "gone": dict(groups.gone),
        "peak": groups.peak,
    }
    rows = None if payload.rows is None else payload.rows.append_column(ID, pa.array(payload.ids))
    return sealed(
        "family",
        {
            "clock": json_bytes(clock),
            "held": table_bytes(run.held),
            "payload": table_bytes(rows),
            "members": table_bytes(_members(list(groups.members.values()))),
            "changes": table_bytes(_previous(run.changes.previous)),
        },
    )


def restore_family(run: FamilyRun, blob: bytes) -> None:
    """Go on where `family_bytes` was taken; `run` is new."""
    parts = unsealed("family", blob)
    clock = json.loads(parts["clock"])
    run.until, run.payload.next_id = clock["until"], clock["next_id"]
    run.late, run.dropped = np.array(clock["late"]), np.array(clock["dropped"])
    run.groups.gone.update(clock["gone"])
    run.groups.peak = clock["peak"]
    run.held = table_of(parts["held"])
    rows = table_of(parts["payload"])
    if rows is not None:
        run.payload.ids = rows.column(ID).to_numpy().copy()
        run.payload.rows = rows.drop_columns([ID])
    members = table_of(parts["members"])
    for row in members.to_pylist() if members is not None else []:
        _restore_member(run.groups.member(row["name"]), row)
    changes = table_of(parts["changes"])
    for row in changes.to_pylist() if changes is not None else []:
        run.changes.previous[row["query"], row["group"]] = np.array(row["ids"], np.int64)


def _members(members: list[Member]) -> pa.Table:
    whole, several = pa.int64(), pa.list_(pa.int64())
    return pa.table(
        {
            "name": pa.array([member.name for member in members], pa.string()),
            "last": pa.array([member.last for member in members], whole),
            "until": pa.array([member.until for member in members], whole),
            "fed": pa.array([member.fed for member in members], whole),
            "shared": pa.array([member.shared for member in members], several),
            "engine": pa.array([member.engine.snapshot() for member in members], pa.large_binary()),
        }
    )


def _restore_member(member: Member, row: Mapping[str, Any]) -> None:
    member.engine.restore(row["engine"])
    member.last, member.until, member.fed = row["last"], row["until"], row["fed"]
    member.local, member.shared = member.engine.candidates(), np.array(row["shared"], np.int64)


def _previous(previous: Mapping[tuple[int, str], Ints]) -> pa.Table:
    return pa.table(
        {
            "query": pa.array([query for query, _ in previous], pa.int64()),
            "group": pa.array([group for _, group in previous], pa.string()),
            "ids": pa.array(list(previous.values()), pa.list_(pa.int64())),
        }
    )
