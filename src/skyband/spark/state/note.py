"""The note in a checkpoint, `skyband.json`: whose it is, and what it was made with."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from skyband.errors import DataError
from skyband.spark.io.small_files import BESIDE, small_file
from skyband.spark.io.storage import Storage

NOTE = "skyband.json"
log = logging.getLogger("skyband")


def read_note(folder: Storage, fresh: bool = False) -> dict[str, Any] | None:
    """What the last start left. One that was cut off while it wrote the note left it under another name; where nothing
    was begun (`fresh`) since, a part of it says nothing."""
    text, beside = small_file(folder / NOTE).read(), small_file(folder / f"{NOTE}{BESIDE}").read()
    if (found := _parsed(text)) is not None:
        return found
    if (found := _parsed(beside)) is not None:
        log.warning(
            "%s: the note %s is %s; %s%s beside it is whole, and is taken",
            folder, NOTE, "missing" if text is None else "cut short", NOTE, BESIDE,
        )  # fmt: skip
        return found
    if fresh or (text is None and beside is None):
        return None
    name, said = (NOTE, text) if text is not None else (f"{NOTE}{BESIDE}", beside)
    raise DataError(
        f"{folder}/{name} is cut short: of the note that says what this checkpoint was made with {len(said or ''):,} "
        "letters are left",
        expected="the whole note",
        hint="put it back from a copy of the checkpoint; without it begin anew, with another checkpoint",
    )


def write_note(folder: Storage, note: Mapping[str, Any]) -> None:
    small_file(folder / NOTE).write(json.dumps(note, indent=2) + "\n")


def _parsed(text: str | None) -> dict[str, Any] | None:
    try:
        found = json.loads(text or "")
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and "streams" in found else None
