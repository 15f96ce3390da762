"""The demo as a person sees it: in a terminal, with an empty kernel cache and with a full one."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median
from time import monotonic

from bench.harness import Ratio, Result, Run, row
from skyband.engines.compiling import SETTING

UP, LISTS = "Spark is up", "candidates kept"
MOMENT, MICRO_BATCH = re.compile(r"at (\d\d:\d\d:\d\d)"), re.compile(r"micro-batch (\d+) took (\d+\.\d) s")

ASKED = {
    "lists move, s after": ("lists move, s after Spark is up", 25.0),
    "longest, s": ("longest micro-batch, s", 1.5),
}


@dataclass(frozen=True)
class Settings:
    seconds: int = 40
    """From the first lists on."""
    seed: int = 0


@dataclass
class Seen:
    """When, in seconds after the command was given; and how long micro-batches took, by their number."""

    up: float | None = None
    lists: float | None = None
    moving: float | None = None
    took: dict[int, float] | None = None

    def line(self, name: str) -> dict[str, str | float | None]:
        assert self.lists is not None, "no list was shown"
        took = list((self.took or {}).values())
        return {
            "kernel cache": name,
            "Spark up": self.up,
            "first lists, s after": self.lists - (self.up or 0.0),
            "lists move, s after": None if self.moving is None else self.moving - (self.up or 0.0),
            "micro-batches": len(took),
            "longest, s": max(took, default=None),
            "the first apart, s": max(took[1:], default=None),
            "median, s": median(took) if took else None,
        }


@row("demo", "`skyband demo` in a terminal: when lists come, and how long micro-batches take")
def measure(run: Run) -> Result:
    s = Settings(2 if run.quick else 40)
    result = Result(settings={**asdict(s), "queries": 300, "terminal": "120 x 50"})
    words = ["demo", "--seconds", str(s.seconds), *(["--monitor"] if run.quick else [])]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("empty", "full"):
            run.say(f"kernel cache {name}")
            cache = {"NUMBA_CACHE_DIR": folder} if name == "empty" else {}
            seen = _watched(words, os.environ | cache | {SETTING: "background", "TERM": "xterm"})
            line = seen.line(name)
            result.lines.append(line)
            result.details[name] = {"micro-batches, s": seen.took}
            for figure, (what, most) in ASKED.items():
                if isinstance(value := line[figure], float):
                    result.ratios.append(Ratio(f"{name}: {what}", value, at_most=run.asked(most)))
    result.notes.append(
        "seconds on the wall; micro-batches as far as the page showed them, four times a second. One comes before the "
        "page and is not among them: it prepares workers and state, and the market opens when it is through"
    )
    return result


def _watched(words: list[str], environment: dict[str, str]) -> Seen:
    seen, began = Seen(took={}), monotonic()
    moments = set[str]()
    for text in _shown(words, environment):
        now = monotonic() - began
        if UP in text:
            seen.up = seen.up or now
        if LISTS in text:
            seen.lists = seen.lists or now
        moments |= set(MOMENT.findall(text))
        if len(moments) > 1:
            seen.moving = seen.moving or now
        assert seen.took is not None
        seen.took |= {int(number): float(each) for number, each in MICRO_BATCH.findall(text)}
    return seen


def _shown(words: list[str], environment: dict[str, str]) -> Iterator[str]:
    """What comes to the terminal, bit by bit, without colours."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "skyband", *words]
    size = {"COLUMNS": "120", "LINES": "50"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment | size)
    os.close(theirs)
    try:
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    text = os.read(ours, 1 << 16).decode(errors="replace")
                except OSError:  # It has left.
                    break
                yield re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait()
        os.close(ours)
