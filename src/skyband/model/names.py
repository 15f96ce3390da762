"""Names of columns, streams and queries in text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_NAME = re.compile(r"[A-Za-z_]\w*")


def quoted(name: str) -> str:
    """A name as it stands in query text; in double quotes where it has to be."""
    return name if _NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def tuple_of(value: str | Sequence[str]) -> tuple[str, ...]:
    """One name, or several."""
    return (value,) if isinstance(value, str) else tuple(value)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint: the known name that is nearest to `name`; None if none is near."""
    near = get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else None
