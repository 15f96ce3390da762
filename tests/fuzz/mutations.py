"""Sealed states with something wrong in them, and whoever has damaged them has repaired every checksum.

An edit is data (which state, which part of it, what is done there), so what was found can be kept: `corpus/` has it.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from skyband.engines.codec import MAGIC, sealed, table_bytes, table_of, unsealed

EXTREMES = (0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 2**53, 2**61, -(2**62), 2**63 - 1, -(2**63), 2**70)
ODD: tuple[Any, ...] = (None, True, "", "x", [], {}, [1], {"": 1}, 0.5, 1e300, *EXTREMES)


JSON, VALUE = -1, -2


@dataclass(frozen=True)
class Edit:
    """What is done to the part at `path` of a stored state: bytes `place` to `place + length` become `data`; or, of
    JSON (length -1), the value there (counted through all) becomes another; or that of a table (length -2). An empty
    path is the blob itself, checksum and all."""

    state: str
    path: tuple[str, ...]
    place: int
    length: int
    data: str
    """Hexadecimal; JSON where `length` is below 0."""

    def dumps(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def loads(text: str) -> Edit:
        read = json.loads(text)
        return Edit(**(read | {"path": tuple(read["path"])}))

    def apply(self, blob: bytes) -> bytes:
        return _edited(blob, self.path, self)


def _edited(blob: bytes, path: tuple[str, ...], edit: Edit) -> bytes:
    if path:
        return _packed(blob, path[0], _edited(_parts(blob)[path[0]], path[1:], edit))
    if edit.length == VALUE:
        return _with_value(blob, edit.place, json.loads(edit.data))
    if edit.length == JSON:
        return json.dumps(_replaced(json.loads(blob), [edit.place], json.loads(edit.data))).encode()
    return blob[: edit.place] + bytes.fromhex(edit.data) + blob[edit.place + edit.length :]


def any_edit(state: str, blob: bytes, rng: random.Random, repaired: bool) -> Edit:
    """An edit of one of its parts, drawn at random: each with the same chance, however long it is."""
    path: tuple[str, ...] = ()
    if repaired:
        leaves = _leaves(blob)
        weights = [min(len(part), 4_000) ** 0.5 for _, part in leaves]
        ((path, blob),) = rng.choices(leaves, weights)
    if path and blob.startswith((b"{", b"[")) and rng.random() < 0.8:
        known = _flat(json.loads(blob))
        place = rng.randrange(len(known))
        other = _near(known[place], rng) if type(known[place]) is int and rng.random() < 0.6 else rng.choice(ODD)
        return Edit(state, path, place, JSON, json.dumps(other))
    if path and (size := _cells_of(blob)) and rng.random() < 0.6:
        return Edit(state, path, rng.randrange(size), VALUE, json.dumps(rng.choice(ODD)))
    place = rng.randrange(max(len(blob), 1))
    if len(blob) > 1_000 and rng.random() < 0.5:
        place = rng.randrange(len(blob) // 2, len(blob))  # Where a table has its values.
    length = rng.choice((1, 1, 1, 2, 4, 8, 0, 64))
    return Edit(state, path, place, length, _bytes(blob, place, length, rng).hex())


def _near(number: int, rng: random.Random) -> int:
    """Another that might be right."""
    return number + rng.choice((-1, 1, 2, -(10**6), 10**6, -(10**9), 10**12, number, -number, rng.randrange(100)))


def _bytes(blob: bytes, place: int, length: int, rng: random.Random) -> bytes:
    """What is put there: a flipped bit, random bytes, an extreme number, bytes from elsewhere, or nothing."""
    kind = rng.randrange(6)
    if kind < 2 and length == 1 and place < len(blob):
        return bytes([blob[place] ^ 1 << rng.randrange(8)])
    if kind == 2:
        return (rng.choice(EXTREMES) % 2**64).to_bytes(8, "little")
    if kind == 3:
        begin = rng.randrange(len(blob) + 1)
        return blob[begin : begin + length]
    return b"" if kind == 4 and length else rng.randbytes(length or 3)


def _cells_of(blob: bytes) -> int:
    """How many values a table has; none if it is not one."""
    try:
        table = table_of(blob)
    except Exception:
        return 0
    return 0 if table is None else table.num_rows * table.num_columns


def _with_value(blob: bytes, place: int, value: Any) -> bytes:
    """The table with one value replaced by another, or by what comes nearest to it in its type."""
    table = table_of(blob)
    assert table is not None
    number, row = divmod(place, table.num_rows)
    values, kind = table.column(number).to_pylist(), table.schema.field(number).type
    for other in (value, str(value), float("nan"), None):
        try:
            column = pa.array([*values[:row], other, *values[row + 1 :]], kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue
        return table_bytes(table.set_column(number, table.schema.field(number), column))
    return blob


# ------------------------------------------------------------------------------------------------------ parts of a blob


def _leaves(blob: bytes, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], bytes]]:
    """The parts that have no parts, with the way to each."""
    parts = _parts(blob)
    if not parts:
        return [(path, blob)]
    return [leaf for name, part in parts.items() for leaf in _leaves(part, (*path, name))]


def _parts(blob: bytes) -> dict[str, bytes]:
    """The parts of a sealed blob, or the cells of a column of bytes; none of anything else."""
    if blob.startswith(MAGIC):
        return unsealed(_kind(blob), blob)
    column = _cells(blob)
    return {} if column is None else {str(place): cell for place, cell in enumerate(column)}


def _packed(blob: bytes, name: str, part: bytes) -> bytes:
    """The same with another part; its checksum is right."""
    if blob.startswith(MAGIC):
        return sealed(_kind(blob), unsealed(_kind(blob), blob) | {name: part})
    table, cells = table_of(blob), _cells(blob)
    assert table is not None
    assert cells is not None
    cells[int(name)] = part
    return table_bytes(pa.table([pa.array(cells, pa.large_binary())], names=table.column_names))


def _kind(blob: bytes) -> str:
    found = re.search(rb'"kind": "([^"]*)"', blob)
    assert found is not None
    return found[1].decode()


def _cells(blob: bytes) -> list[bytes] | None:
    """What an engine has learnt is a column of arrays."""
    if blob.startswith((b"{", b"[")) or len(blob) < 100:
        return None
    try:
        table = table_of(blob)
    except Exception:
        return None
    return table.column(0).to_pylist() if table is not None and table.column_names == ["part"] else None


# ------------------------------------------------------------------------------------------------------------- of JSON


def _flat(value: Any) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(each for one in inside for each in _flat(one))]


def _replaced(value: Any, left: list[int], other: Any) -> Any:
    """The value with one replaced, the one before which so many others stand."""
    left[0] -= 1
    if left[0] < 0:
        left[0] = 2**62
        return other
    if isinstance(value, dict):
        return {name: _replaced(each, left, other) for name, each in value.items()}
    return [_replaced(each, left, other) for each in value] if isinstance(value, list) else value
