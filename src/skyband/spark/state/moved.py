"""A checkpoint that was moved, or is a copy, goes on where it is now.

Spark notes by whole path where the schemas of the state lie, and looks for them there: a checkpoint in another place
cannot be read, or is read with the schemas of the one it was copied from.
"""

from __future__ import annotations

import json

from skyband.errors import DataError
from skyband.spark.io.small_files import small_file
from skyband.spark.io.storage import Storage

PATHS = "stateSchemaFilePaths"


def at_home(folder: Storage) -> None:
    """Let the notes of the state name the schemas of this folder. Where they do, nothing is written."""
    for operator in (folder / "state").names():
        notes = folder / "state" / operator / "_metadata" / "v2"
        for name in notes.names():
            if name.isdigit():
                _settle(folder, notes / name)


def _settle(folder: Storage, note: Storage) -> None:
    version, _, text = note.read().partition("\n")
    said = json.loads(text)
    for store in said["stateStoreInfo"]:
        store[PATHS] = [_here(folder, path) for path in store.get(PATHS, ())]
    if said != json.loads(text):
        small_file(note).write(f"{version}\n{json.dumps(said, separators=(',', ':'))}")


def _here(folder: Storage, path: str) -> str:
    """The same file of this checkpoint."""
    below = "state/" + path.rpartition("/state/")[2]
    mine = folder / below
    if not mine.exists():
        raise DataError(
            f"the checkpoint {folder} is not whole: {below} is missing",
            expected="all files of the checkpoint it was copied from",
            hint="copy that once more, while no job runs with it",
        )
    return str(mine.system.makeQualified(mine.path).toString())
