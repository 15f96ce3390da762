"""Names of columns, streams and queries in text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

NEAR = 0.72
"""How much of two words has to be the same. `power` has 0.6 of `upper` and `or` 0.67 of `hour`."""
_NAME = re.compile(r"[A-Za-z_]\w*")


def quoted(name: str) -> str:
    """A name as it stands in query text; in double quotes where it has to be."""
    return name if _NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def tuple_of(value: str | Iterable[str]) -> tuple[str, ...]:
    """One name, or several."""
    return (value,) if isinstance(value, str) else tuple(value)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, whatever its letter case; None if none is near: a slip or two, or its
    beginning."""
    by_case = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_case, 1, NEAR)
    near += [name for name in by_case if _one_slip(word.lower(), name)]
    near += [name for name in by_case if len(word) >= 3 and name.startswith(word.lower())]
    return by_case[near[0]] if near else None


def _one_slip(word: str, name: str) -> bool:
    """Of short words a letter is a large part: one that is another, or one too many, or too few."""
    longer, shorter = sorted((word, name), key=len, reverse=True)
    same = next((n for n, (a, b) in enumerate(zip(longer, shorter, strict=False)) if a != b), len(shorter))
    return len(longer) > 1 and longer[same + 1 :] in (shorter[same:], shorter[same + 1 :])


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The same as a hint."""
    near = nearest(word, known)
    return f"did you mean {near!r}?" if near else None
