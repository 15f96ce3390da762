"""Folders that are ours: a mark says so, and every file in them is one that we write. Only such are ever emptied."""

from __future__ import annotations

import re
from collections.abc import Iterable

from skyband.errors import SkybandError

MARK = "_skyband.lease"
"""Readers of rows pass over names that begin with an underscore."""
_HIDDEN = "_skyband"
_OURS = re.compile(
    r"(.*/)?(part-[^/]*|_SUCCESS|_skyband[^/]*|\.[^/]*\.crc)|(.*/)?(_delta_log|_change_data|_skyband\w*)/.*"
)


def content(names: Iterable[str]) -> list[str]:
    """What lies in a folder beside what we keep for ourselves."""
    return [name for name in names if not name.lstrip(".").startswith(_HIDDEN)]


def check_ours(where: str, files: Iterable[str]) -> None:
    """Refuse to empty a folder with a file that is not proven to be ours. `files`: every one below, by its path."""
    found = list(files)
    if MARK not in found:
        raise SkybandError(
            f"--overwrite: nothing says that the rows in {where} are of a job of skyband's ({MARK} is not there)",
            expected="a new or empty folder",
            hint="look what is in it, and remove it by hand",
        )
    other = next((name for name in found if not _OURS.fullmatch(name)), None)
    if other is not None:
        raise SkybandError(
            f"--overwrite: {where} holds {other}, which skyband has not written",
            expected="nothing but rows of skyband's",
            hint="move that file elsewhere",
        )
