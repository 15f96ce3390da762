"""One stream at work: its watermark, its record count, and the families that read it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from skyband.model import NEVER, Ints, Stream
from skyband.planner import Family, PlannedFamily
from skyband.runtime.board_intake import Intake, bind
from skyband.runtime.census import Census
from skyband.runtime.family import END, FOREVER, QUERY, FamilyRun
from skyband.runtime.intake import DELETE, StreamIntake, group_text, operations
from skyband.runtime.packed import GROUP
from skyband.runtime.state import family_bytes, json_bytes, restore_family, sealed, table_bytes, table_of, unsealed

Answered = list[tuple[Family, pa.Table]]


class StreamRun:
    """Feeds every table to every family; `bind` fixes the columns first."""

    def __init__(self, stream: Stream, planned: Sequence[PlannedFamily]) -> None:
        self.stream = stream
        self.families = [FamilyRun(each) for each in planned]
        self.intake: StreamIntake | None = None
        self._intakes: list[Intake] = []
        self.watermark = int(NEVER)
        self.records = 0
        self.late = 0
        self.dropped = 0
        self._unranked = [np.zeros(len(each.family.queries), np.int64) for each in planned]
        self._late = [np.zeros((2, len(each.family.queries)), np.int64) for each in planned]
        self.census = Census(each.family for each in planned)
        self._reports = {query.name: Counter[str]() for each in planned for query in each.family.queries}

    def bind(self, schema: pa.Schema) -> None:
        """Check the stream and compile every expression against its columns."""
        plain = schema.remove_metadata()
        intakes = [bind(run.planned, plain) for run in self.families]
        self.intake, self._intakes = StreamIntake(self.stream, plain), intakes

    def push(self, table: pa.Table) -> Answered:
        assert self.intake is not None
        table, at = self.intake.clean(table)
        self.records += len(at)
        self._count_late(at)
        before = self.watermark
        if len(at):
            self.watermark = max(before, int(at.max()) - self.stream.lateness)
        group = {per: group_text(table, per) for per in {run.planned.family.per for run in self.families} if per}
        everyone, grouped = self._counted(table), dict[int, tuple[Ints, dict[str, int]]]()
        answers: Answered = []
        for number, (run, intake) in enumerate(zip(self.families, self._intakes, strict=True)):
            per = run.planned.family.per
            in_rows = run.planned.family.kind == "rows"
            if in_rows:
                positions = self.census.of(run.planned.family)
                if per and id(positions) not in grouped:
                    grouped[id(positions)] = positions.place(len(table), group[per])
                placed, seen = grouped[id(positions)] if per else everyone
                packed = intake.pack(table, placed, group.get(per), int(NEVER))
                found = run.feed_positions(packed.rows, seen)
            else:
                packed = intake.pack(table, at, group.get(per), before)
                found = run.feed(packed.rows, self.watermark)
            for reason, records in packed.rejected:
                self.intake.reject(reason, records)
            self._unranked[number] += packed.unranked
            self._late[number] += np.stack((packed.late, packed.dropped))
            self._add(answers, run, found)
        return answers

    def _counted(self, table: pa.Table) -> tuple[Ints, dict[str, int]]:
        """Positions in the stream; a delete has none, and stands where the next record will."""
        if self.stream.op is None:
            return self.census.everything.place(len(table), None)
        record = operations(table, self.stream.op) != DELETE
        before, first = np.cumsum(record) - record, self.census.records
        return first + before, self.census.everything.place(int(record.sum()), None)[1]

    def close(self) -> Answered:
        """Everything that is still to be reported."""
        answers: Answered = []
        for run in self.families:
            self._add(answers, run, run.close(FOREVER))
        return answers

    @property
    def bad(self) -> Counter[str]:
        """Records left out, by reason."""
        return Counter() if self.intake is None else self.intake.bad

    def query_counters(self) -> dict[str, dict[str, int]]:
        """By query: reports and rows sent, records without a score, late and dropped ones."""
        found = {}
        for run, unranked, (late, dropped) in zip(self.families, self._unranked, self._late, strict=True):
            for i, query in enumerate(run.planned.family.queries):
                sent = self._reports[query.name]
                found[query.name] = {
                    "reports": sent["reports"],
                    "rows": sent["rows"],
                    "unranked": int(unranked[i]),
                    "late": int(late[i]),
                    "dropped": int(dropped[i]),
                }
        return found

    def snapshot(self) -> bytes:
        clock = {
            "watermark": self.watermark,
            "records": self.records,
            "late": self.late,
            "dropped": self.dropped,
            "families": [run.planned.family.fingerprint for run in self.families],
            "unranked": [counts.tolist() for counts in self._unranked],
            "late_by_query": [counts.tolist() for counts in self._late],
            "bad": self.bad,
            "reports": self._reports,
            "positions": self.census.state(),
        }
        parts = {"clock": json_bytes(clock), "columns": b""}
        if self.intake is not None:
            parts["columns"] = table_bytes(self.intake.schema.empty_table())
        return sealed("stream", parts | {run.planned.family.fingerprint: family_bytes(run) for run in self.families})

    def restore(self, blob: bytes) -> None:
        parts = unsealed("stream", blob)
        columns = table_of(parts["columns"])
        clock = json.loads(parts["clock"])
        if columns is not None:
            self.bind(columns.schema)
            self.bad.update(clock["bad"])
        self.watermark, self.records = clock["watermark"], clock["records"]
        self.late, self.dropped = clock["late"], clock["dropped"]
        here = [run.planned.family.fingerprint for run in self.families]
        # Families stand as they came, and after a restart as the plan has them.
        order = [clock.get("families", here).index(name) for name in here]
        self._unranked = [np.array(clock["unranked"][place], np.int64) for place in order]
        self._late = [np.array(clock["late_by_query"][place]) for place in order]
        self._reports = {name: Counter(counts) for name, counts in clock["reports"].items()}
        self.census.restore(clock["positions"], self.records)
        for run in self.families:
            restore_family(run, parts[run.planned.family.fingerprint], self.seen(run.planned.family))

    def seen(self, family: Family) -> dict[str, int] | None:
        """For ROWS: the records of each group so far."""
        return self.census.of(family).seen if family.kind == "rows" else None

    def seat(self, number: int | None, run: FamilyRun, joining: bool = False, leaving: int | None = None) -> None:
        """Put a family where number `number` is, or behind all: with its last query new, or one query less."""
        family, none = run.planned.family, np.zeros(0, np.int64)
        if number is None:
            self.families.append(run)
            self._unranked.append(none)
            self._late.append(np.zeros((2, 0), np.int64))
            self._intakes += [] if self.intake is None else [bind(run.planned, self.intake.schema)]
            number = len(self.families) - 1
            self.census.enter(family)
        self.families[number] = run
        if joining:
            self._unranked[number] = np.append(self._unranked[number], 0)
            self._late[number] = np.pad(self._late[number], ((0, 0), (0, 1)))
            self._reports[family.queries[-1].name] = Counter()
        if leaving is not None:
            self._unranked[number] = np.delete(self._unranked[number], leaving)
            self._late[number] = np.delete(self._late[number], leaving, axis=1)
        if self.intake is not None:
            self._intakes[number] = bind(run.planned, self.intake.schema)

    def unseat(self, number: int) -> None:
        """A family goes with its last query."""
        others = [each.planned.family for place, each in enumerate(self.families) if place != number]
        self.census.leave(self.families[number].planned.family, others)
        for parts in (self.families, self._unranked, self._late, self._intakes):
            if len(parts) > number:
                del parts[number]

    def _count_late(self, at: Ints) -> None:
        """A record is late if some window of it was reported, dropped if all were: windows of rows are never reported
        before their records came."""
        old = at[at < self.watermark]
        ranged = [run.planned.meta for run in self.families if run.planned.family.kind == "range"]
        if not len(old) or not ranged:
            return
        ends = [meta.window_ends(old) for meta in ranged]
        self.late += int((np.concatenate([first for first, _ in ends]) <= self.watermark).any(axis=0).sum())
        if len(ranged) == len(self.families):
            self.dropped += int((np.concatenate([last for _, last in ends]) <= self.watermark).all(axis=0).sum())

    def _add(self, answers: Answered, run: FamilyRun, found: pa.Table | None) -> None:
        if found is None:
            return
        answers.append((run.planned.family, found))
        queries = run.planned.family.queries
        rows = np.bincount(found.column(QUERY).to_numpy(), minlength=len(queries)).tolist()
        distinct = found.select([QUERY, END, GROUP]).group_by([QUERY, END, GROUP]).aggregate([])
        reports = np.bincount(distinct.column(QUERY).to_numpy(), minlength=len(queries)).tolist()
        for i, query in enumerate(queries):
            sent = self._reports[query.name]
            sent["rows"] += rows[i]
            sent["reports"] += reports[i]
