"""What rows of a stored state have to be before an operator goes on with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from skyband.engines.codec import damaged, reading
from skyband.engines.limits import Limits
from skyband.model import Ints
from skyband.runtime.encoded import AT, GONE, GROUP, group_codes, ints

if TYPE_CHECKING:
    from skyband.runtime.operator import FamilyOperator

KIND = "family"
ID = "#id"


def check_rows(operator: FamilyOperator, rows: pa.Table, next_id: int, seen: Mapping[str, int]) -> None:
    """Refuse rows that no encoder of this family makes, with ids that no store gives."""
    _check_columns(operator, rows)
    for name in rows.column_names:
        if name.startswith("#") and name != ID:
            _check_column(name, rows.column(name), operator.model.limits(name))
    if why := operator.model.wrong(rows):
        raise damaged(KIND, why)
    id = _whole(rows, ID)
    if len(id) and (int(id[0]) < 0 or int(id[-1]) >= next_id or bool((id[1:] <= id[:-1]).any())):
        raise damaged(KIND, "the ids of its rows do not rise")
    if operator.planned.family.kind == "rows":
        _check_positions(_whole(rows, AT), rows, seen)


def check_listed(ids: Ints, listed: Ints) -> None:
    """What was told last has to be there: it may have to be named as gone."""
    if not bool(np.isin(listed, ids).all()):
        raise damaged(KIND, "it lists rows that it does not have")


def _check_columns(operator: FamilyOperator, rows: pa.Table) -> None:
    """Where the stream's columns are known, so are those of its rows. What nobody reads is of another release."""
    expected = operator.encoded_schema
    if expected is None:
        return
    for field in rows.schema:
        if field.name in expected.names:
            if expected.field(field.name).type != field.type:
                raise damaged(KIND, f"column {field.name} of its rows is of type {field.type}")
        elif operator.model.reads(field.name) and not operator.model.may_have(field, expected):
            raise damaged(KIND, f"its rows have a column {field.name}")
    missing = [name for name in expected.names if name.startswith("#") and name not in rows.column_names]
    if missing and any(not operator.model.may_have(expected.field(name), expected) for name in missing):
        raise damaged(KIND, f"its rows have no column {missing[0]}")


def _check_column(name: str, column: pa.ChunkedArray, limits: Limits) -> None:
    if name == GROUP:
        with reading(KIND):
            column.validate(full=True)
    if column.null_count and not limits.null:
        raise damaged(KIND, f"column {name} of its rows has a value that is missing")
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = column.drop_null() if column.null_count else column
        if why := limits.wrong(values.to_numpy()):
            raise damaged(KIND, f"column {name} of its rows {why}")


def _check_positions(at: Ints, rows: pa.Table, seen: Mapping[str, int]) -> None:
    """A row of a group has a place among the records that were counted of it; a delete, which is none of them, may
    stand behind the last."""
    code, names = group_codes(rows)
    known = np.array([seen.get(name, 0) for name in names], np.int64)[code]
    last = known if GONE in rows.column_names else known - 1
    if bool(((at < 0) | (at > last)).any()):
        raise damaged(KIND, "it has rows behind the last record that was counted")


def _whole(rows: pa.Table, name: str) -> Ints:
    if name not in rows.column_names or rows.schema.field(name).type != pa.int64() or rows.column(name).null_count:
        raise damaged(KIND, f"its rows have no {name}")
    return ints(rows, name)
