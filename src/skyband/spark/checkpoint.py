"""A checkpoint and what it was made with. What would be misread is refused before the start."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.planner import Plan
from skyband.spark.keys import BOARD_BUCKETS, BUCKETS, homes
from skyband.spark.spread import OBJECT_BUCKETS
from skyband.spark.storage import Storage
from skyband.spark.stream import VERSION

NOTE = "skyband.json"


class Checkpoint:
    """Spark's folder, with a note of ours inside that says whose it is."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path
        self._folder = Storage(spark, path)

    @property
    def fresh(self) -> bool:
        """No micro-batch was begun with it."""
        return not (self._folder / "offsets").names()

    @property
    def committed(self) -> int | None:
        """The number of the last micro-batch that is done."""
        done = [int(name) for name in (self._folder / "commits").names() if name.isdigit()]
        return max(done, default=None)

    def check(self, plan: Plan) -> frozenset[str]:
        """Refuse what this plan would misread; names of the queries that were not there from the first start on."""
        old = self._old()
        if old is None:
            return frozenset()
        self._compare(old, plan)
        stayed = _stayed(old, plan)
        return frozenset(query.name for query in plan.queries if str(query) not in stayed)

    def claim(self, plan: Plan) -> None:
        """Leave a note for the next start."""
        old = self._old()
        texts = [str(query) for query in plan.queries]
        stayed = texts if old is None else _stayed(old, plan)
        (self._folder / NOTE).write(json.dumps(_note(plan) | {"from_the_start": stayed}, indent=2) + "\n")

    def _old(self) -> dict[str, Any] | None:
        """The last start's note; None if nothing was begun since."""
        note = self._folder / NOTE
        if self.fresh:
            return None
        if not note.exists():
            raise SkybandError(
                f"{self.path} is a checkpoint, and not one of `skyband run`",
                expected="a new folder, or the checkpoint of an earlier run",
            )
        found: dict[str, Any] = json.loads(note.read())
        return found

    def _compare(self, old: dict[str, Any], plan: Plan) -> None:
        new = _note(plan)
        held = {
            "version": "state of version",
            "buckets": "PER groups in buckets,",
            "query_buckets": "scores in buckets,",
            "object_buckets": "objects in buckets,",
        }
        for name, what in held.items():
            if old.get(name, new[name]) != new[name]:
                raise SkybandError(
                    f"the checkpoint {self.path} holds {what} {old[name]}",
                    expected=f"{new[name]}, as this release reads it",
                    hint="start with a new checkpoint",
                )
        if old["streams"] != new["streams"]:
            raise SkybandError(
                f"the checkpoint {self.path} is of another stream: {_told(old['streams'])}",
                expected=_told(new["streams"]),
                hint="queries may change; streams with their TIME and KEY need a new checkpoint",
            )


def _stayed(old: dict[str, Any], plan: Plan) -> list[str]:
    """Queries, as text, that were there from the first start on and are kept where they were: whoever moves to a board,
    or from one, finds nothing there of what came before."""
    now, then = homes(plan.families), old.get("homes")
    if then is None:
        # Written before there were boards on Spark.
        then = {text: home for text, home in now.items() if "/" not in home}
    return [text for text in now if text in old["from_the_start"] and then.get(text) == now[text]]


def _note(plan: Plan) -> dict[str, Any]:
    return {
        "version": VERSION,
        "buckets": BUCKETS,
        "query_buckets": BOARD_BUCKETS,
        "object_buckets": OBJECT_BUCKETS,
        "homes": homes(plan.families),
        "streams": [_identity(stream) for stream in plan.streams],
        "workload": [str(part) for part in (*plan.streams, *plan.queries)],
    }


def _identity(stream: Stream) -> dict[str, str | None]:
    return {"name": stream.name, "time": stream.time, "key": stream.key}


def _told(streams: list[dict[str, str | None]]) -> str:
    return ", ".join(f"{each['name']} (TIME = {each['time']}, KEY = {each['key']})" for each in streams)
