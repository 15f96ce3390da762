"""When somebody is killed: moments of a job's life, told from outside by what appears in its checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NOTE = "skyband.json"
Signature = tuple[int, int]


@dataclass(frozen=True)
class Progress:
    """How far a checkpoint has come."""

    note: Signature
    note_beside: Signature
    """Under the name that it has while it is written; one that was cut off stays."""
    begun: int
    done: int
    commits: frozenset[str]
    """Hidden names too: Spark writes under one, and renames."""


def progress(checkpoint: Path) -> Progress:
    commits = _names(checkpoint / "commits")
    return Progress(
        _signature(checkpoint / NOTE),
        _signature(checkpoint / f"{NOTE}.new"),
        _last(_names(checkpoint / "offsets")),
        _last(commits),
        commits,
    )


def _signature(path: Path) -> Signature:
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_mtime_ns
    return 0, 0


def _names(folder: Path) -> frozenset[str]:
    with suppress(FileNotFoundError):
        return frozenset(os.listdir(folder))
    return frozenset()


def _last(names: frozenset[str]) -> int:
    return max((int(name) for name in names if name.isdigit()), default=-1)


@dataclass(frozen=True)
class Watch:
    """Of a checkpoint: as the job found it, as it was when somebody began to wait, and as it is."""

    started: Progress
    before: Progress
    now: Progress
    last: int
    """The last micro-batch that has records."""


@dataclass(frozen=True)
class Moment:
    name: str
    spread: float
    """Seconds within which the blow falls, from the moment on."""
    blink: float
    """Seconds between two looks."""
    has_come: Callable[[Watch], bool]


def _noting(watch: Watch) -> bool:
    now, before = watch.now, watch.before
    return (now.note, now.note_beside) != (before.note, before.note_beside)


def _working(watch: Watch) -> bool:
    return watch.now.begun > watch.before.begun or _draining(watch)


def _committing(watch: Watch) -> bool:
    return bool(watch.now.commits - watch.before.commits) or _draining(watch)


def _draining(watch: Watch) -> bool:
    """This start has read all records, or found them read: what is left is to report open windows."""
    return watch.now.done >= watch.last and watch.now.note != watch.started.note


NOTING = Moment("note", 0.004, 0.0003, _noting)
WORKING = Moment("work", 1.5, 0.05, _working)
COMMITTING = Moment("commit", 0.02, 0.001, _committing)
DRAINING = Moment("drain", 4.0, 0.05, _draining)
