"""One process of a machine compiles a unit, and everybody knows whether it still does.

It holds a lock beside the note that it is to write. The system takes the lock back when the process ends, however it
ends: no lock outlives who held it. What the process said on its way stays in a file until one has succeeded.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

SETTING = "SKYBAND_COMPILE"
"""`background` (the default): answer in NumPy while another process compiles. `first`: compile, then answer."""
PATIENCE = 600.0
"""Seconds before an attempt that failed is repeated."""
IN_TURN, ONE_BY_ONE = "--in-turn", "--one-by-one"
COMPILED, FAILED = "compiled\n", "failed\n"
"""What a process answers that compiles one by one."""
SAID = 300
"""Characters of what it said last that are told."""
_children: list[subprocess.Popen[bytes]] = []


class Attempt:
    """The right to compile a unit; given up at the end of a `with`, unless a process was started that has it then."""

    def __init__(self, note: Path, lock: int) -> None:
        self._note, self._lock = note, lock

    @staticmethod
    def claim(note: Path) -> Attempt | None:
        """None where another process has it. A folder that cannot be written is an `OSError`."""
        lock = _lock_file(note)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except OSError:
            os.close(lock)
            raise
        return Attempt(note, lock)

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._lock)

    @property
    def _log(self) -> Path:
        return log_of(self._note)

    def recent_failure(self) -> str | None:
        """What the last process said that ended without a note, if that is not long ago."""
        try:
            if time.time() - self._log.stat().st_mtime > PATIENCE:
                return None
            lines = self._log.read_text(errors="replace").strip().splitlines()
        except FileNotFoundError:
            return None
        return lines[-1][-SAID:] if lines else "the process that compiled them ended without a word"

    def start(self, unit: str) -> bool:
        """Let a process compile in the background, after those that do already; False where none can be started."""
        try:
            with self._log.open("wb") as log:
                _children.append(
                    subprocess.Popen(
                        [*_command(), IN_TURN, unit],
                        env=_environment(),
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=log,
                        pass_fds=[self._lock],
                        start_new_session=True,
                    )
                )
        except OSError:
            return False
        return True

    def run(self, unit: str, compiler: Compiler) -> str | None:
        """Compile it now and wait for that; what went wrong."""
        return None if compiler.run(unit, self._log) else self.recent_failure()


class Compiler:
    """A process that compiles one unit after the other: what Python and Numba need first, a second, it needs once."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, unit: str, log: Path) -> bool:
        """Whether that went well; if not, the log says what did not."""
        if self._process is None:
            with log.open("wb") as errors:
                self._process = subprocess.Popen(
                    [*_command(), ONE_BY_ONE],
                    env=_environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        with suppress(BrokenPipeError):
            print(unit, file=asked, flush=True)
        said = answers.readline()
        if not said:
            self.end()  # It ended by itself: the next unit gets another, and is not blamed for this one.
        return said == COMPILED

    def end(self) -> None:
        if self._process is not None:
            with suppress(BrokenPipeError):
                self._process.communicate()
            self._process = None


def _command() -> list[str]:
    return [sys.executable, "-m", "skyband.cli.exercise"]


def _environment() -> dict[str, str]:
    return os.environ | {SETTING: "first", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def log_of(note: Path) -> Path:
    """What whoever was to write the note has said."""
    return note.with_suffix(".log")


@contextmanager
def alone(note: Path) -> Iterator[None]:
    """While no other process compiles the same, here or in the background; where there are no locks, with others."""
    try:
        lock = _lock_file(note)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _lock_file(note: Path) -> int:
    note.parent.mkdir(parents=True, exist_ok=True)
    return os.open(note.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o666)


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """One process after the other: whoever answers meanwhile needs the machine too."""
    with (folder / "in-turn.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def note_compiled(note: Path) -> None:
    """All of its code is on disk."""
    note.touch()
    forget_attempt(note)


def forget_attempt(note: Path) -> None:
    """It succeeded, or was called off."""
    log_of(note).unlink(missing_ok=True)
