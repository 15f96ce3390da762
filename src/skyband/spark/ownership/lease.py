"""One process at a time writes to a checkpoint and to a sink.

A lease is a small file in the folder: whose it is (a job), and which process holds it. The holder writes it anew every
few seconds. Whoever comes and finds it held looks on: a text that changes has a holder that lives; one that stands
still for `LEASE` seconds is taken over. On one machine nobody waits: a process that has ended holds nothing. (A JVM
that outlives its Python process is given as long to go.) Clocks of different machines are never compared.

Where files can be made only if they are not there yet (a disk, HDFS, object stores with conditional writes), of two
that start on an empty folder one gets it. A process that was held up for longer than `LEASE` seconds, and comes back,
learns before its next write that it has lost the lease; what it was writing at that moment may still arrive.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from skyband.errors import DataError, SkybandError
from skyband.spark.io.small_files import SmallFile
from skyband.spark.ownership.processes import is_gone, is_left_behind, this_process, told

log = logging.getLogger("skyband")
BEAT = 5.0
LEASE = 20.0
SETTLE = 0.3
"""Seconds in which another that took the same lease over shows."""
LOOK = 0.5


@dataclass
class Lease:
    """Of one folder, by one start of a job."""

    file: SmallFile
    where: str
    job: str
    checkpoint: str = ""
    """Of the job, for messages."""
    holder: str = field(default_factory=lambda: uuid4().hex)
    beats: int = 0

    def take(self) -> None:
        """Wait for as long as it is not clear who holds it; refuse if somebody does."""
        if self.file.create(self._text()):
            return
        if not is_free(self.file.read(), self.where):
            self._watch()
        self.file.write(self._text())
        # Another may have done the same in this moment, and the last one has it.
        time.sleep(SETTLE)
        self.check()

    def _watch(self) -> None:
        first, late, said = self.file.read(), time.monotonic() + LEASE, False
        while time.monotonic() < late:
            seen = self.file.read()
            if is_free(seen, self.where):
                return
            if seen != first or (_lives_here(seen) and not is_left_behind(read(seen)["process"])):
                raise _held(self.where, read(seen))
            if not said:
                who = told(read(seen).get("process", {}))
                log.warning("%s may still write to %s: waiting up to %.0f s", who, self.where, LEASE)
                said = True
            time.sleep(LOOK)
        if _lives_here(seen := self.file.read()) and not is_free(seen, self.where):
            raise _held(self.where, read(seen))

    def beat(self) -> None:
        if read(self.file.read()).get("holder") == self.holder:
            self.beats += 1
            self.file.write(self._text())

    def check(self) -> None:
        """Said before every write."""
        known = read(self.file.read())
        if known.get("holder") != self.holder:
            raise DataError(
                f"{self.where} is not this job's to write any more: {told(known.get('process', {}))} has taken it over",
                expected=f"to write to it at least every {LEASE:.0f} s, or others take a job for dead",
                hint="end one of the two; the same command goes on from --checkpoint",
            )

    def release(self) -> None:
        if read(self.file.read()).get("holder") == self.holder:
            self.holder = ""
            try:
                self.file.write(self._text())
            except OSError:
                self.file.overwrite(self._text())

    def _text(self) -> str:
        process = this_process() if self.holder else {}
        said = {"job": self.job, "checkpoint": self.checkpoint, "where": self.where}
        return json.dumps(said | {"holder": self.holder, "beats": self.beats, "process": process}) + "\n"


def read(text: str | None) -> dict[str, Any]:
    """What a lease says; nothing where it is cut short."""
    with suppress(json.JSONDecodeError):
        found = json.loads(text or "")
        return found if isinstance(found, dict) else {}
    return {}


def is_free(text: str | None, where: str) -> bool:
    """Nobody holds it: let go, of a process that has ended, or a copy of the lease of another folder."""
    known = read(text)
    if text is None or (known and not known.get("holder")):
        return True
    return bool(known) and (known.get("where") != where or is_gone(known["process"]))


def _lives_here(text: str | None) -> bool:
    process = read(text).get("process", {})
    return bool(process.get("machine")) and process["machine"] == this_process()["machine"]


def _held(where: str, known: dict[str, Any]) -> SkybandError:
    return DataError(
        f"{where} is in use: {told(known.get('process', {}))} writes to it",
        expected="one job at a time",
        hint=f"end that one first, or take another place; one that died is taken over after {LEASE:.0f} s",
    )


class Leases:
    """All that a start holds, kept alive by a thread of its own."""

    def __init__(self) -> None:
        self._held: list[Lease] = []
        self._ended, self._lock = Event(), Lock()
        self._thread: Thread | None = None

    def take(self, lease: Lease) -> None:
        lease.take()
        with self._lock:
            self._held.append(lease)
        if self._thread is None:
            self._thread = Thread(target=self._keep, name="skyband leases", daemon=True)
            self._thread.start()

    def check(self) -> None:
        with self._lock:
            for lease in self._held:
                lease.check()

    def release(self) -> None:
        """Also of a job that failed: the next start need not wait."""
        self._ended.set()
        self._try(Lease.release)
        self._held.clear()

    def _keep(self) -> None:
        while not self._ended.wait(BEAT):
            self._try(Lease.beat)

    def _try(self, action: Callable[[Lease], None]) -> None:
        """A place that does not answer now may with the next beat, and keeps nobody from the others; whoever writes is
        told."""
        with self._lock:
            for lease in self._held:
                with suppress(OSError, Py4JError, ConnectionError):
                    action(lease)
