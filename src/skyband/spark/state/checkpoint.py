"""A checkpoint and what it was made with. What would be misread is refused before the start."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skyband.engines.codec import VERSION, unsealed
from skyband.errors import DataError, SkybandError
from skyband.model import Stream
from skyband.planner import NOWHERE, Placement, Plan
from skyband.planner.families import placement
from skyband.runtime.owned_folders import MARK
from skyband.runtime.partitioning import GROUP_PARTS, OBJECT_PARTS, QUERY_PARTS
from skyband.spark.io.small_files import small_file
from skyband.spark.io.storage import Storage
from skyband.spark.ownership.lease import Lease, Leases
from skyband.spark.ownership.owner import Owner, new_job
from skyband.spark.state.gone import Noted, forgotten_keys, gone_state, kept, noted_state, woken_keys
from skyband.spark.state.joining import Joining
from skyband.spark.state.keys import LATE, state_locations
from skyband.spark.state.moved import at_home
from skyband.spark.state.note import NOTE, read_note, write_note
from skyband.spark.state.store import KIND


@dataclass(frozen=True)
class Surroundings:
    """What a job reads and writes, as the note remembers it."""

    sources: Mapping[str, str] = field(default_factory=dict)
    """By stream."""
    sinks: Sequence[str] = ()
    columns: Mapping[str, pa.Schema] = field(default_factory=dict)
    """By stream."""
    accepted: frozenset[str] = frozenset()
    """What may be other than it was."""

    def note(self) -> dict[str, Any]:
        types = {name: {each.name: str(each.type) for each in schema} for name, schema in self.columns.items()}
        return {"sources": dict(self.sources), "sinks": list(self.sinks), "columns": types}


NOTHING_AROUND = Surroundings()


class Checkpoint:
    """Spark's folder, with a note of ours inside that says whose it is."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path
        self._spark = spark
        self._folder = Storage(spark, path)
        self._job = self._named = ""
        self._gone: Noted = []
        self._away: dict[str, Any] = {}
        self._attributes: placement.Noted = {}

    def owner(self, leases: Leases, overwrite: bool = False, accepted: frozenset[str] = frozenset()) -> Owner:
        """Take it: no other process works with it from here on."""
        note = read_note(self._folder, self.fresh)
        if note is None and not self.fresh:
            raise self._foreign()
        job = (note or {}).get("job")
        self._job = job or new_job()
        # Rows of an earlier release keep the identities they have.
        self._named = self._job if note is None or self.fresh else note.get("named", "")
        mark = small_file(self._folder / MARK)
        leases.take(Lease(mark, str(self._folder), self._job, self.path))
        known = self.committed if not self.fresh else None
        committed = known if known is not None or self.fresh else -1
        return Owner(self._job, self._named, self.path, committed, job is not None, overwrite, accepted, leases)

    @property
    def fresh(self) -> bool:
        """No micro-batch was begun with it."""
        return not (self._folder / "offsets").names()

    @property
    def committed(self) -> int | None:
        """The number of the last micro-batch that is done."""
        done = [int(name) for name in (self._folder / "commits").names() if name.isdigit()]
        return max(done, default=None)

    def placement(self) -> Placement:
        """In which families the queries of the last start are."""
        old = self._old()
        if old is None or "attributes" not in old:
            return NOWHERE
        self._attributes = old["attributes"]
        return placement.read(self._attributes, (*old.get("away", ()), *old["workload"]))

    def parts(self, asked: int | None) -> int | None:
        """Into how many the state of each family is split, as it was when the checkpoint was begun."""
        old = self._old()
        known = asked if old is None else old.get("parts")
        if asked is not None and asked != known:
            raise DataError(
                f"--parts {asked}, and the state in {self.path} is in {_parts_told(known)}",
                expected="the parts that the checkpoint was begun with",
                hint="leave --parts out, or begin anew, with another checkpoint",
            )
        return known

    def check(self, plan: Plan, around: Surroundings = NOTHING_AROUND, forget: Sequence[str] = ()) -> Joining:
        """Refuse what this plan would misread; since when its queries are there, and what else the state holds, of
        which queries to `forget` may go."""
        old = self._old()
        self._gone = gone_state(old or {}, plan, forget)
        if old is None:
            return Joining({str(query): 0 for query in plan.queries}, gone={})
        self._compare(old, plan)
        check_surroundings(self.path, old, around)
        at_home(self._folder)
        next_batch = -1 if self.committed is None else self.committed
        with_batch = _with_batch(old, plan, next_batch + 1)
        in_rows = [query for query in plan.queries if query.window.kind == "rows" and with_batch[str(query)]]
        self._away = _away(old, with_batch, next_batch + 1)
        gone = kept(self._gone) if "state" in old else None
        expires = any(stream.expire is not None for stream in plan.streams)
        records = self._records() if in_rows or expires else {}
        return Joining(with_batch, records, gone, forgotten_keys(self._gone), woken_keys(self._gone))

    def claim(self, plan: Plan, joining: Joining, around: Surroundings = NOTHING_AROUND) -> None:
        """Leave a note for the next start."""
        said: dict[str, Any] = {"job": self._job, "named": self._named, "joined": dict(joining.with_batch)}
        said |= {"state": noted_state(plan), "gone": self._gone, "away": self._away}
        said["attributes"] = {text: self._attributes[text] for text in self._away if text in self._attributes}
        said["attributes"] |= placement.noted(plan)
        write_note(self._folder, _note(plan) | said | around.note())

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
        if self.fresh:
            return None
        if (found := read_note(self._folder)) is None:
            raise self._foreign()
        return found

    def _foreign(self) -> SkybandError:
        return DataError(
            f"{self.path} is a checkpoint, and not one of `skyband run`: there is no {NOTE} in it",
            expected="a new folder, or the checkpoint of an earlier run",
        )

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
                raise DataError(
                    f"the checkpoint {self.path} holds {what} {old[name]}",
                    expected=f"{new[name]}, as this release reads it",
                    hint="start with a new checkpoint",
                )
        if old["streams"] != new["streams"]:
            raise DataError(
                f"the checkpoint {self.path} is of another stream: {_told(old['streams'])}",
                expected=_told(new["streams"]),
                hint="queries may change; streams with their TIME and KEY need a new checkpoint",
            )


def check_surroundings(path: str, old: Mapping[str, Any], around: Surroundings) -> None:
    """What an earlier release did not note is not compared."""
    for stream, place in around.sources.items():
        before = old.get("sources", {}).get(stream, place)
        if before != place and "source" not in around.accepted:
            raise DataError(
                f"the checkpoint {path} has read stream {stream} from {before}, and now it is {place}",
                expected="the source that the checkpoint was begun with",
                hint="--accept source goes on with the other: how far it was read counts there as well",
            )
    before = old.get("sinks", list(around.sinks))
    if before != list(around.sinks) and "sink" not in around.accepted:
        raise DataError(
            f"the rows of the checkpoint {path} went to {_places(before)}, and now they are to go to "
            f"{_places(around.sinks)}",
            expected="the sink that the checkpoint was begun with",
            hint="--accept sink goes on into the other: earlier rows stay where they are",
        )
    for stream, schema in around.columns.items():
        known = old.get("columns", {}).get(stream, {})
        for column in schema:
            if known.get(column.name, str(column.type)) != str(column.type):
                raise _other_type(path, stream, column, known[column.name])


def _other_type(path: str, stream: str, column: pa.Field, before: str) -> SkybandError:
    return DataError(
        f"column {column.name} of stream {stream} is of type {column.type}, and the state in {path} has it as {before}",
        expected=f"{before}, as the checkpoint was begun with",
        hint=f"where the data still fits, CREATE STREAM {stream} with the type of before; else begin anew, with "
        "another checkpoint and another sink",
    )


def _places(sinks: Sequence[str]) -> str:
    return " and ".join(sinks) or "no place that is kept"


def _with_batch(old: dict[str, Any], plan: Plan, next_batch: int) -> dict[str, int]:
    """By query, as text: the micro-batch with which it joined. One that was not there at the last start joins now, and
    so does one whose state is elsewhere now: it finds nothing there of what came before."""
    now, then = state_locations(plan.families), old["locations"]
    stayed = [text for text in now if text in old["workload"] and then.get(text) == now[text]]
    joined, away = old.get("joined", {}), old.get("away", {})
    # Nothing was done while it was away.
    back = [text for text in now if text in away and away[text][1:] == [now[text], next_batch]]
    found = dict.fromkeys(now, next_batch) | {text: away[text][0] for text in back}
    return found | {text: joined.get(text, 0) for text in stayed}


def _away(old: dict[str, Any], with_batch: Mapping[str, int], next_batch: int) -> dict[str, Any]:
    """Queries that leave, or have left since the last micro-batch: since when they were there, where their state is,
    and before which micro-batch they left."""
    left = {
        text: [old.get("joined", {}).get(text, 0), place, next_batch]
        for text, place in old["locations"].items()
        if text not in with_batch
    }
    return left | {text: said for text, said in old.get("away", {}).items() if said[2] == next_batch}


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
        "parts": plan.parts,
        "buckets": plan.parts or GROUP_PARTS,
        "query_buckets": plan.parts or QUERY_PARTS,
        "object_buckets": plan.parts or OBJECT_PARTS,
        "locations": state_locations(plan.families),
        "streams": [_identity(stream) for stream in plan.streams],
        "workload": [str(part) for part in (*plan.streams, *plan.queries)],
    }


def _parts_told(parts: int | None) -> str:
    return f"{parts} parts" if parts else f"{GROUP_PARTS} parts by group, and {OBJECT_PARTS} by query or object"


def _identity(stream: Stream) -> dict[str, str | None]:
    return {"name": stream.name, "time": stream.time, "key": stream.key}


def _told(streams: list[dict[str, str | None]]) -> str:
    return ", ".join(f"{each['name']} (TIME = {each['time']}, KEY = {each['key']})" for each in streams)
