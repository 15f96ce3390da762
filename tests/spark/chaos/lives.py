"""A streaming job that is killed and started again with the same command, until it has ended in order."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.spark import jobs
from tests.spark.chaos import processes
from tests.spark.chaos.moments import Moment, Progress, Watch, progress
from tests.spark.chaos.victims import Blow

LATE = 300.0
"""Seconds after which nothing more is to be expected."""
LOST = (0, 3, -signal.SIGKILL)
"""Exit codes of a job that was killed, or a part of it: it goes on by itself, or says that the same command may do well
later; never that something does not fit (2, 4), nor that we made a mistake (1)."""


@dataclass
class Life:
    """Of one checkpoint."""

    words: Sequence[str | Path]
    folder: Path
    last: int
    """The last micro-batch that has records."""
    draw: random.Random
    starts: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    _job: subprocess.Popen[bytes] | None = None
    _started: Progress | None = None
    _struck: list[str] = field(default_factory=list)
    """What this start has suffered."""
    _known: dict[int, str] = field(default_factory=dict)
    """All processes there were when somebody was killed, and when they began."""

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def suffer(self, blow: Blow) -> bool:
        """Whether the job was at work when the blow fell."""
        job = self._running()
        if not self._wait_for(job, blow.moment):
            return False
        time.sleep(self.draw.uniform(0, blow.moment.spread))
        self._take_down(job)
        hit = job.poll() is None and blow.victim.strike(job.pid, self.draw)
        if hit:
            self._struck.append(str(blow))
            self.hits[str(blow)] += 1
            if blow.victim.fatal:
                self._ended(job)
        return hit

    def end(self) -> None:
        """Let it go on to its end; who has lost a part may need another start for that."""
        for _ in range(3):
            if self._ended(self._running()) == 0:
                return
        raise AssertionError(f"it does not end in order: {self._said()}")

    def clear(self) -> None:
        """Nothing is left behind, whatever went wrong."""
        if self._job is not None:
            self._take_down(self._job)
        processes.kill(pid for pid, begun in self._known.items() if processes.begun(pid) == begun != "")
        if self._job is not None:
            self._job.wait()

    def _take_down(self, job: subprocess.Popen[bytes]) -> None:
        pids = [job.pid, *processes.descendants(job.pid)] if job.poll() is None else []
        self._known |= {pid: processes.begun(pid) for pid in pids}

    def _running(self) -> subprocess.Popen[bytes]:
        if self._job is None or self._job.poll() is not None:
            if self._job is not None:
                self._ended(self._job)
            self._job = self._start()
        return self._job

    def _start(self) -> subprocess.Popen[bytes]:
        self._started, self._struck = progress(self.checkpoint), []
        self.starts += 1
        with self._log().open("wb") as log:
            return subprocess.Popen(
                jobs.command(*self.words), start_new_session=True, stdout=subprocess.DEVNULL, stderr=log
            )

    def _wait_for(self, job: subprocess.Popen[bytes], moment: Moment) -> bool:
        assert self._started is not None
        before, late = progress(self.checkpoint), time.monotonic() + LATE
        while job.poll() is None:
            if moment.has_come(Watch(self._started, before, progress(self.checkpoint), self.last)):
                return True
            assert time.monotonic() < late, f"{moment.name} does not come: {self._said()}"
            time.sleep(moment.blink)
        return False

    def _ended(self, job: subprocess.Popen[bytes]) -> int:
        """Its exit code: 0, unless somebody was killed."""
        code = job.wait(LATE)
        assert code in (LOST if self._struck else (0,)), f"start {self.starts} ended with {code}: {self._said()}"
        return code

    def _log(self) -> Path:
        return self.folder / f"said-{self.starts}"

    def _said(self) -> str:
        return f"{self._log().read_text(errors='replace')[-3_000:]}\nafter {self._struck}, in all {dict(self.hits)}"
