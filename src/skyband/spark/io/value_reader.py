"""Who makes columns of the payloads that were written with one schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from skyband.model import Flags

UNDECODABLE = "undecodable value"


class Made(NamedTuple):
    """A column, and which of its values cannot be what they say; None if none."""

    column: pa.Array
    wrong: Flags | None = None


@dataclass(frozen=True)
class SchemaColumn:
    """A field of a schema that is a column: its type, and how the column is made of the values that a library reads."""

    name: str
    type: pa.DataType
    make: Callable[[list[Any]], Made]


class ValueReader(Protocol):
    """Reads the payloads of one schema."""

    @property
    def columns(self) -> pa.Schema:
        """The fields that are columns."""
        ...

    @property
    def nested(self) -> Mapping[str, str]:
        """The fields that are none, and what they are."""
        ...

    @property
    def refusal(self) -> str:
        """Why a value is left out that is not read."""
        ...

    def read(self, payloads: Sequence[bytes]) -> tuple[pa.Table, Flags]:
        """The records of payloads that can be read, in their order, and which those are."""
        ...

    def absent(self) -> pa.Table:
        """One record: what each column is where a value was written without it."""
        ...


@dataclass(frozen=True)
class Unread:
    """Where there is no schema to read a value with."""

    refusal: str
    columns: pa.Schema = field(default_factory=lambda: pa.schema([]))
    nested: Mapping[str, str] = field(default_factory=dict)

    def read(self, payloads: Sequence[bytes]) -> tuple[pa.Table, Flags]:
        return self.columns.empty_table(), np.zeros(len(payloads), bool)

    def absent(self) -> pa.Table:
        return self.columns.empty_table()


def made_table(columns: Sequence[SchemaColumn], values: Sequence[list[Any]], count: int) -> tuple[pa.Table, Flags]:
    """The columns of so many records, without those records of which some value is wrong, and which are left."""
    made = [each.make(mine) for each, mine in zip(columns, values, strict=True)]
    good = np.ones(count, bool)
    for each in made:
        if each.wrong is not None:
            good &= ~each.wrong
    table = pa.table([each.column for each in made], pa.schema([(each.name, each.type) for each in columns]))
    return table if good.all() else table.filter(pa.array(good)), good


def is_given(values: list[Any]) -> Flags:
    return np.fromiter((value is not None for value in values), bool, len(values))
