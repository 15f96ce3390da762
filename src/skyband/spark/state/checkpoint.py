"""A checkpoint and what it was made with. What would be misread is refused before the start."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from skyband.engines.codec import VERSION, unsealed
from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.planner import Plan
from skyband.runtime.partitioning import GROUP_PARTS, OBJECT_PARTS, QUERY_PARTS
from skyband.spark.io.storage import Storage
from skyband.spark.state.joining import Joining
from skyband.spark.state.keys import LATE, state_locations
from skyband.spark.state.store import KIND

NOTE = "skyband.json"


class Checkpoint:
    """Spark's folder, with a note of ours inside that says whose it is."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path
        self._spark = spark
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

    def check(self, plan: Plan) -> Joining:
        """Refuse what this plan would misread; since when its queries are there."""
        old = self._old()
        if old is None:
            return Joining({str(query): 0 for query in plan.queries})
        self._compare(old, plan)
        next_batch = -1 if self.committed is None else self.committed
        with_batch = _with_batch(old, plan, next_batch + 1)
        in_rows = [query for query in plan.queries if query.window.kind == "rows" and with_batch[str(query)]]
        return Joining(with_batch, self._records() if in_rows else {})

    def claim(self, plan: Plan, joining: Joining) -> None:
        """Leave a note for the next start."""
        (self._folder / NOTE).write(json.dumps(_note(plan) | {"joined": dict(joining.with_batch)}, indent=2) + "\n")

    def _records(self) -> dict[str, int]:
        """By stream, the records that the micro-batches done so far have let in."""
        found: dict[str, int] = {}
        for operator in operators(self._spark, self.path):
            clock = state_variable(self._spark, self.path, operator, "clock").where(f"key.state_key = '{LATE}'")
            for row in clock.select("value.value").collect():
                value = json.loads(unsealed(KIND, bytes(row.value))["state"])
                found[value["stream"]] = value["records"]
        return found

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


def _with_batch(old: dict[str, Any], plan: Plan, next_batch: int) -> dict[str, int]:
    """By query, as text: the micro-batch with which it joined. One that was not there at the last start joins now, and
    so does one whose state is elsewhere now: it finds nothing there of what came before."""
    now, then = state_locations(plan.families), old["locations"]
    stayed = [text for text in now if text in old["workload"] and then.get(text) == now[text]]
    joined = old.get("joined", {})
    return dict.fromkeys(now, next_batch) | {text: joined.get(text, 0) for text in stayed}


def operators(spark: SparkSession, checkpoint: str) -> list[int]:
    """The stateful operators of a checkpoint, one a stream."""
    found = spark.read.format("state-metadata").load(checkpoint).select("operatorId").distinct().collect()
    return sorted(row.operatorId for row in found)


def state_variable(spark: SparkSession, checkpoint: str, operator: int, name: str) -> DataFrame:
    """What a checkpoint holds of one state variable."""
    reader = spark.read.format("statestore").option("operatorId", operator).option("stateVarName", name)
    return reader.load(checkpoint)


def _note(plan: Plan) -> dict[str, Any]:
    return {
        "version": VERSION,
        "buckets": GROUP_PARTS,
        "query_buckets": QUERY_PARTS,
        "object_buckets": OBJECT_PARTS,
        "locations": state_locations(plan.families),
        "streams": [_identity(stream) for stream in plan.streams],
        "workload": [str(part) for part in (*plan.streams, *plan.queries)],
    }


def _identity(stream: Stream) -> dict[str, str | None]:
    return {"name": stream.name, "time": stream.time, "key": stream.key}


def _told(streams: list[dict[str, str | None]]) -> str:
    return ", ".join(f"{each['name']} (TIME = {each['time']}, KEY = {each['key']})" for each in streams)
