"""Snapshots: named NumPy arrays and a few numbers as Arrow IPC bytes with a magic word and a version; never pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError

MAGIC = "skyband"
VERSION = 1


def pack(kind: str, columns: Mapping[str, np.ndarray | Sequence[object]], numbers: Mapping[str, int]) -> bytes:
    """Arrays of equal length and whole numbers, as bytes."""
    batch = pa.record_batch({name: _column(values) for name, values in columns.items()})
    header = {"magic": MAGIC, "version": VERSION, "kind": kind, "numbers": dict(numbers)}
    batch = batch.replace_schema_metadata({"skyband": json.dumps(header)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpack(kind: str, state: bytes) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """What `pack` was given; refuses bytes of another kind or version instead of misreading them."""
    try:
        table = pa.ipc.open_stream(state).read_all()
        header = json.loads((table.schema.metadata or {})[b"skyband"])
    except (pa.ArrowInvalid, KeyError, ValueError) as error:
        raise SkybandError("these bytes are not a skyband snapshot", expected=f"a snapshot of {kind}") from error
    if header["version"] != VERSION:
        raise SkybandError(
            f"a snapshot of version {header['version']}",
            expected=f"version {VERSION}",
            hint="read it with the skyband release that wrote it, or start anew",
        )
    if header["kind"] != kind:
        raise SkybandError(f"a snapshot of {header['kind']}", expected=f"a snapshot of {kind}")
    return {name: table[name].to_numpy() for name in table.column_names}, header["numbers"]


def _column(values: np.ndarray | Sequence[object]) -> pa.Array:
    binary = isinstance(values, list) and bool(values) and isinstance(values[0], bytes)
    return pa.array(values, pa.large_binary() if binary else None)
