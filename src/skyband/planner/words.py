"""Small words that the parts of `explain` share."""

from __future__ import annotations


def some(count: int, one: str, many: str) -> str:
    """`3 queries`."""
    return f"{count:,} {one if count == 1 else many}"
