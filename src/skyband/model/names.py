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


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, whatever its letter case; None if none is near."""
    by_case = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_case, 1)
    return by_case[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The same as a hint."""
    near = nearest(word, known)
    return f"did you mean {near!r}?" if near else None
