"""What the JSON of a stored state has to be: its shape, said once, before anything is taken from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from skyband.engines.codec import damaged, reading
from skyband.engines.limits import FARTHEST
from skyband.model import NEVER

Shape = Callable[[Any], bool]
"""Whether a value has it."""


def whole(low: int = int(NEVER), high: int = FARTHEST) -> Shape:
    return lambda value: type(value) is int and low <= value <= high


def text(value: Any) -> bool:
    return isinstance(value, str)


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def bits(value: Any) -> bool:
    """64 of them."""
    return type(value) is int and -(2**63) <= value < 2**63


def items(of: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(of, value))


def by_name(of: Shape) -> Shape:
    return lambda value: isinstance(value, dict) and all(map(of, value.values()))


def several(*of: Shape) -> Shape:
    """A list with these, in this order."""
    return lambda value: isinstance(value, list) and len(value) == len(of) and all(map(lambda f, v: f(v), of, value))


def either(*of: Shape) -> Shape:
    return lambda value: any(each(value) for each in of)


def nothing(value: Any) -> bool:
    return value is None


def record(known: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """With these names, and perhaps the optional ones. Others are of a later release, or of nobody: left alone."""
    more = optional or {}

    def fits(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and shape(value[name]) for name, shape in known.items())
            and all(shape(value[name]) for name, shape in more.items() if name in value)
        )

    return fits


COUNT = whole(0, 2**62)
PLACE = whole()
"""A time, a position, or NEVER."""


def read_json(kind: str, data: bytes, shape: Shape) -> Any:
    """What was written as JSON; refused where it has another shape."""
    with reading(kind):
        value = json.loads(data)
        if not shape(value):
            raise damaged(kind, "what it says has another form")
        return value
