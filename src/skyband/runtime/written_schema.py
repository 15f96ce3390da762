"""Columns as they come, and as they are when the times in them have been read."""

from __future__ import annotations

import pyarrow as pa

from skyband.language import written_columns
from skyband.model import Stream


def read_schema(stream: Stream, schema: pa.Schema) -> pa.Schema:
    """The columns that come so, when their times are read."""
    for name, written in written_columns(stream.columns).items():
        if name in schema.names:
            place = schema.get_field_index(name)
            written.check(schema.field(place).type, stream.name)
            if not written.is_read(schema.field(place).type):
                schema = schema.set(place, pa.field(name, written.kind))
    return schema
