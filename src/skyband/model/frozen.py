"""Frozen objects that are made by hand."""

from __future__ import annotations


def set_fields(frozen: object, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(frozen, name, value)
