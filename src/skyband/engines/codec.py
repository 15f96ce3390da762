"""The state codec: named parts in one blob with a magic word, a version, a kind and a checksum; never pickle.

Snapshots of a Monitor, what Spark's state store holds, and what an engine has learnt are all written by it. A blob is
read only when its checksum is right, so what is inside is what was written. By whom is another question: what a kernel
will see is looked at besides (`limits.py`; `stored_rows.py` and `stored_values.py` of `runtime/`), and whatever else
goes wrong while a state is read is told as a state that cannot be read (`reading`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from struct import Struct

import numpy as np
import pyarrow as pa

from skyband.errors import DataError, SkybandError

MAGIC = b"skyband\n"
VERSION = 2
_HEAD = Struct("<8sHII")
"""Magic word, version, checksum of all that follows (and of the length), length of the header."""
ANEW = "read it with the skyband release that wrote it, or start anew"


def sealed(kind: str, parts: Mapping[str, bytes]) -> bytes:
    """Named parts as one blob."""
    header = json.dumps({"kind": kind, "parts": [[name, len(data)] for name, data in parts.items()]}).encode()
    body = b"".join((header, *parts.values()))
    return _HEAD.pack(MAGIC, VERSION, _checksum(body, len(header)), len(header)) + body


def unsealed(kind: str, blob: bytes) -> dict[str, bytes]:
    """What `sealed` was given; bytes of another kind or version, and damaged ones, are refused instead of misread."""
    body, length = _checked(kind, blob)
    with reading(kind):
        header = json.loads(body[:length])
        found, sizes = header["kind"], [(str(name), int(size)) for name, size in header["parts"]]
    if found != kind:
        raise DataError(f"a snapshot of {found}", expected=f"a snapshot of {kind}")
    if length + sum(size for _, size in sizes) != len(body) or any(size < 0 for _, size in sizes):
        raise damaged(kind, "its parts are not as long as it says")
    parts, begin = {}, length
    for name, size in sizes:
        parts[name] = body[begin : begin + size]
        begin += size
    return parts


def damaged(kind: str, why: str) -> SkybandError:
    """A state that is not what this codec writes."""
    return DataError(
        f"a snapshot of {kind} that is damaged: {why}",
        expected="the bytes as they were written",
        hint="take an earlier snapshot, or start anew",
    )


@contextmanager
def reading(kind: str) -> Iterator[None]:
    """Around what is made of stored bytes: whatever goes wrong there, they are to blame, and that is said."""
    try:
        yield
    except SkybandError:
        raise
    except Exception as error:
        raise damaged(kind, f"it cannot be read ({type(error).__name__}: {str(error)[:200]})") from error


def _checksum(body: bytes, length: int) -> int:
    return zlib.crc32(body, length)


def _checked(kind: str, blob: bytes) -> tuple[bytes, int]:
    if len(blob) < _HEAD.size or not blob.startswith(MAGIC):
        if _is_first_version(blob):
            raise DataError("a snapshot of version 1", expected=f"version {VERSION}", hint=ANEW)
        raise DataError("these bytes are not a skyband snapshot", expected=f"a snapshot of {kind}")
    _, version, checksum, length = _HEAD.unpack_from(blob)
    if version != VERSION:
        raise DataError(f"a snapshot of version {version}", expected=f"version {VERSION}", hint=ANEW)
    body = bytes(blob[_HEAD.size :])
    if _checksum(body, length) != checksum:
        raise damaged(kind, "its checksum is wrong")
    return body, length


def _is_first_version(blob: bytes) -> bool:
    """Arrow with the word in its metadata, or, in a state store, plain JSON."""
    return b'"magic": "skyband"' in blob[:100_000] or (blob.startswith(b"{") and b'"version": 1' in blob)


def table_bytes(table: pa.Table | None) -> bytes:
    """A table as Arrow IPC; empty for None."""
    return b"" if table is None else bytes(table_buffer(table).to_pybytes())


def table_buffer(table: pa.Table) -> pa.Buffer:
    """The same where it was written: a copy of many megabytes costs more than writing them."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def one_value(data: pa.Buffer) -> pa.Array:
    """These bytes as a column of one row, where they are."""
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(np.array([0, data.size], np.int32)), data])


def table_of(data: bytes | pa.Buffer) -> pa.Table | None:
    return pa.ipc.open_stream(data).read_all() if len(data) else None


def stored_table(kind: str, data: bytes) -> pa.Table | None:
    """The same of bytes that were stored: every offset is looked at before anything relies on it. What texts
    say is not: those of records may be no UTF-8."""
    with reading(kind):
        table = table_of(data)
        if table is not None:
            _with_texts_as_bytes(table).validate(full=True)
            if len(set(table.column_names)) != len(table.column_names):
                raise damaged(kind, "two of its columns have the same name")
        return table


def _with_texts_as_bytes(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([_as_bytes(field) for field in table.schema]))


def _as_bytes(field: pa.Field) -> pa.Field:
    if pa.types.is_string(field.type):
        return field.with_type(pa.binary())
    return field.with_type(pa.large_binary()) if pa.types.is_large_string(field.type) else field


def pack(kind: str, columns: Mapping[str, np.ndarray | list[bytes]], numbers: Mapping[str, int]) -> bytes:
    """Arrays (or bytes) of equal number, and whole numbers, as bytes."""
    table = pa.table({name: _column(values) for name, values in columns.items()})
    return sealed(kind, {"columns": table_bytes(table), "numbers": json.dumps(dict(numbers)).encode()})


def unpack(kind: str, state: bytes) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """What `pack` was given."""
    parts = unsealed(kind, state)
    with reading(kind):
        table = stored_table(kind, parts["columns"])
        assert table is not None
        numbers = json.loads(parts["numbers"])
        if any(table[name].null_count for name in table.column_names) or any(
            type(n) is not int for n in numbers.values()
        ):
            raise damaged(kind, "a number is missing")
        return {name: table[name].to_numpy() for name in table.column_names}, numbers


def _column(values: np.ndarray | list[bytes]) -> pa.Array:
    return pa.array(values, pa.large_binary() if isinstance(values, list) else None)
