"""A checkpoint whose watermark has run away, by a record of a time that cannot be true: set back to where it was with
the newest true time, which somebody names. What the state holds of windows of time went with the watermark, so their
queries begin anew; positions of ROWS windows, and what was read of the sources, stay."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.model.time_bounds import moment_text
from skyband.planner import Plan
from skyband.spark.event_time import from_watermark, to_timer
from skyband.spark.io.small_files import small_file
from skyband.spark.io.storage import Storage
from skyband.spark.state.joining import Joining

LOGS = {"offsets": "batchWatermarkMs", "commits": "nextBatchWatermarkMs"}
"""Where Spark notes the watermark, and how: of a micro-batch that was begun, and behind one that is done."""


class Mend:
    """Of one checkpoint, to one time. What makes no sense is refused by the constructor; nothing is written by it."""

    def __init__(self, folder: Storage, newest: int, streams: Sequence[Stream]) -> None:
        # Spark has one watermark for all streams. A window is complete if it begins behind that and the lateness.
        to = newest - min(each.lateness for each in streams)
        self._folder, self._to = folder, to
        notes = [note for _, note in self._notes()]
        if not notes:
            raise SkybandError(f"--mend: no micro-batch was begun with {folder}", hint="leave --mend out")
        now = from_watermark(max(int(note[LOGS[name]]) for name, note in notes))
        if now <= to:
            raise SkybandError(
                f"--mend: the watermark of {folder} is at {_said(now)}, and would be at {_said(to)}",
                expected="the newest time that was true, from which on it ran ahead",
            )

    def joining(self, plan: Plan, joining: Joining, next_batch: int) -> Joining:
        """Who begins anew with the next micro-batch: whoever asks for windows of time."""
        anew = {str(query): next_batch for query in plan.queries if query.window.kind == "range"}
        return replace(joining, with_batch=dict(joining.with_batch) | anew)

    def set_back(self) -> None:
        """Where it is in the logs. Done twice it is done once."""
        for file, (name, note) in self._notes():
            lines = file.read().split("\n")
            lines[1] = json.dumps(note | {LOGS[name]: to_timer(self._to)}, separators=(",", ":"))
            small_file(file).write("\n".join(lines))

    def _notes(self) -> Iterator[tuple[Storage, tuple[str, dict[str, Any]]]]:
        """The last entries of the logs, each with what it says."""
        for name, key in LOGS.items():
            last = max((int(each) for each in (self._folder / name).names() if each.isdigit()), default=None)
            if last is None:
                continue
            file = self._folder / name / str(last)
            lines = file.read().split("\n")
            note = json.loads(lines[1]) if len(lines) > 1 and lines[1].startswith("{") else {}
            if key not in note:
                raise SkybandError(
                    f"--mend: {file} does not say what the watermark is",
                    expected="a log of Spark 4.1 to 4.3",
                    hint="start with a new checkpoint",
                )
            yield file, (name, note)


def _said(at: int) -> str:
    """Also where there is no datetime of it."""
    try:
        return moment_text(at)
    except OverflowError:
        return f"{at} microseconds from 1970"
