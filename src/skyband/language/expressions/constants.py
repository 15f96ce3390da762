"""Constants that stand outside of expressions."""

from __future__ import annotations

from datetime import datetime, timedelta

from skyband.language.expressions.expression import EPOCH, read
from skyband.language.expressions.nodes import Literal
from skyband.language.expressions.types import Type

_UNITS = {Type.DATE: timedelta(days=1), Type.TIMESTAMP: timedelta(microseconds=1)}


def time_constant(text: str, source: str, offset: int) -> datetime | None:
    """`TIMESTAMP '2026-01-31 12:00:00'`, or a `DATE`, which is its midnight; None if it is something else."""
    node = read(text, source, offset)
    if not isinstance(node, Literal) or node.type not in _UNITS or not isinstance(node.value, int):
        return None
    return EPOCH + node.value * _UNITS[node.type]
