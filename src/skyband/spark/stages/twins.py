"""Encoded rows on their way between stages: a column that is there twice crosses once.

Time, score and key are mostly columns of the stream, and shown as such. Whether they are is seen from their values, bit
for bit, and not from how they were made.
"""

from __future__ import annotations

import json

import pyarrow as pa

from skyband.engines.codec import table_of
from skyband.runtime.encoded import AT, KEY, SCORE

TWINS = b"twins"
MOMENTS = (pa.timestamp("us"), pa.timestamp("us", "UTC"))


def without_twins(rows: pa.Table) -> pa.Table:
    """Without those columns that another one can stand for; the schema says which."""
    shown = [name for name in rows.column_names if not name.startswith("#")]
    twins = {name: _twin(rows, name, shown) for name in (AT, SCORE, KEY) if name in rows.column_names}
    found = {name: twin for name, twin in twins.items() if twin is not None}
    note = {TWINS: json.dumps({"columns": rows.column_names, "twins": found}).encode()}
    return rows.drop_columns(list(found)).replace_schema_metadata(note) if found else rows


def with_twins(data: bytes | pa.Buffer) -> pa.Table | None:
    """The rows as they were."""
    rows = table_of(data)
    if rows is None or TWINS not in (rows.schema.metadata or {}):
        return rows
    note = json.loads(rows.schema.metadata[TWINS])
    columns = {name: rows.column(note["twins"].get(name, name)) for name in note["columns"]}
    return pa.table(columns | {AT: _bits(columns[AT])})


def _twin(rows: pa.Table, name: str, shown: list[str]) -> str | None:
    column = rows.column(name)
    kinds = (column.type, *MOMENTS) if name == AT else (column.type,)
    alike = (other for other in shown if rows.schema.field(other).type in kinds)
    return next((other for other in alike if _bits(rows.column(other)).equals(_bits(column))), None)


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers and moments as whole numbers: 0 and -0 are not the same there. Others as they are."""
    kind = column.type
    if pa.types.is_int64(kind) or not (pa.types.is_float64(kind) or kind in MOMENTS):
        return column
    return pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())
