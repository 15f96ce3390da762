"""How to write an engine, once for each data model: four that keep the whole window and sort it for every report.

They are as slow as they are short. Take the one of your data model, put your algorithm in its place, and keep what is
around it: an engine holds what it may still need, answers reports, and can be built anew from what another one held.

    python examples/own_engine.py        runs each of them beside one of ours

The first run says nothing for a minute or two: the kernels of ours are compiled, once.

CONTRIBUTING.md ("How to add an engine") says how one becomes part of skyband.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import skyband as sb
from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.engines.checks import check_rising
from skyband.engines.kernels.grid.score import ranking_scores, standing
from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.many.points import PointEngine
from skyband.engines.many.questions import Questions
from skyband.engines.oracle import objects as objects_oracle, uncertain as worlds_oracle
from skyband.engines.uncertain.pk_topk import Tuples
from skyband.model import NEVER, Answers, AttributeValues, DueReports, Ints, MetaQuery, Records
from skyband.model.many import Points

NONE: Ints = np.empty(0, np.int64)


def answers(lists: list[tuple[Any, Any]]) -> Answers:
    """(labels, scores) of every report, best first, as engines give them."""
    size = np.array([len(labels) for labels, _ in lists], np.int64)
    label = np.concatenate([NONE, *(np.asarray(labels, np.int64) for labels, _ in lists)])
    score = np.concatenate([np.empty(0), *(np.asarray(scores, np.float64) for _, scores in lists)])
    return Answers(np.cumsum(size) - size, size, label, score)


# ------------------------------------------------------------------------------------------ records with one score


@register("window_sort", Capabilities("the window, sorted for every report", "an example", drops=False, priority=-1))
class WindowSort(CandidateEngine):
    """`CandidateEngine` does the clock, labels and late records. Records are known here by the numbers under which they
    were fed, and of equal scores the larger number is the better one."""

    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta)
        self._held = Candidates(NONE, NONE, np.empty(0))
        self._work = {"comparisons": 0, "insertions": 0, "candidates_peak": 0}

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        held, first = self._held, self.fed
        self._held = held = Candidates(
            np.append(held.id, first + np.arange(len(records))),
            np.append(held.at, records.at),
            np.append(held.score, records.score),
        )
        lists = []
        for start, end, k in zip(due_reports.start, due_reports.end, due_reports.k, strict=True):
            inside = np.flatnonzero((held.at >= start) & (held.at < end))
            best = inside[np.lexsort((-held.id[inside], -held.score[inside]))][: int(k)]
            lists.append((held.id[best], held.score[best]))
            self._work["comparisons"] += len(inside)
        self._work["insertions"] += len(records)
        self._work["candidates_peak"] = max(self._work["candidates_peak"], len(held))
        self._clock(records, due_reports)
        self.build(held)
        return answers(lists)

    def kept(self) -> Candidates:
        return self._held

    def build(self, kept: Candidates) -> None:
        self._held = kept.part(self.meta.needed(kept.at, self.until))

    @property
    def counters(self) -> Counters:
        peak = max(self._work["candidates_peak"], len(self._held))
        return {"records": self.taken, "candidates": len(self._held), **self._work, "candidates_peak": peak}

    def recount(self, counters: Counters) -> None:
        self._work = {name: counters[name] for name in self._work}


# ------------------------------------------------------------------------------- values of objects, uncertain records


class WholeWindow:
    """What the next two share: a batch of everything that some window to come holds."""

    def __init__(self, meta: MetaQuery) -> None:
        self.meta = meta
        self.until = int(NEVER)
        self._taken = self._compared = self._peak = 0
        self._batch = self._none()

    def _none(self) -> Any:
        raise NotImplementedError

    def _ranked(self, batch: Any, query: int, k: int) -> tuple[list[int], list[float]]:
        """Labels and scores of the best k of a window."""
        raise NotImplementedError

    def advance(self, batch: Any, due_reports: DueReports) -> Answers:
        held = self._batch.append(batch)
        lists = []
        for start, end, k, query in zip(
            due_reports.start, due_reports.end, due_reports.k, due_reports.query, strict=True
        ):
            inside = held[(held.at >= start) & (held.at < end)]
            lists.append(self._ranked(inside, int(query), int(k)))
            self._compared += len(inside)
        self._taken += len(batch)
        self._peak = max(self._peak, len(held))
        self.until = due_reports.until
        self._batch = held[self.meta.needed(held.at, self.until)]
        return answers(lists)

    def held(self) -> Any:
        return self._batch

    def rebuild(self, batch: Any, until: int, fresh: Ints = NONE) -> None:
        self._taken += len(fresh)
        self.until = max(self.until, until)
        self._batch = batch[self.meta.needed(batch.at, self.until)]
        self._peak = max(self._peak, len(self))

    def candidates(self) -> Ints:
        return np.sort(self._batch.id)

    def __len__(self) -> int:
        return len(self._batch)

    @property
    def counters(self) -> Counters:
        work = {"records": self._taken, "comparisons": self._compared, "insertions": self._taken}
        return work | {"candidates": len(self), "candidates_peak": self._peak}


@register(
    "object_sort",
    Capabilities("every object scored for every report", "an example", data="objects", drops=False, priority=-1),
)
class ObjectSort(WholeWindow):
    """`meta.apart` (an `Assembly`) says how the values of an object make its score, and every combination of it has to
    be served. Scores are as they are: with `meta.ascending` the lowest rank first. The label of an answer is that of
    the object's newest record in the window."""

    def _none(self) -> AttributeValues:
        return AttributeValues.none()

    def _ranked(self, batch: AttributeValues, query: int, k: int) -> tuple[list[int], list[float]]:
        assert self.meta.apart is not None
        fed = [
            objects_oracle.Sighting(*values)
            for values in zip(batch.at, batch.object, batch.stream, batch.value, batch.id, strict=True)
        ]
        best = objects_oracle.ranking(self.meta.apart, fed, self.meta.ascending)[:k]
        return [each.newest.row for each in best], [each.score for each in best]


@register(
    "chance_sort",
    Capabilities("the usual recurrence for every report", "an example", data="uncertain", drops=False, priority=-1),
)
class ChanceSort(WholeWindow):
    """PK_TOPK only: the other semantics it refuses when it is built. The score of an answer is the probability."""

    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta)
        self._left_out = 0
        if any(using.name != "PK_TOPK" for using in meta.using or ()):
            raise sb.SkybandError("engine chance_sort answers PK_TOPK only", expected="another engine")

    def _none(self) -> Tuples:
        return Tuples.none()

    def _ranked(self, batch: Tuples, query: int, k: int) -> tuple[list[int], list[float]]:
        rules = [None if rule == NO_RULE else rule for rule in batch.rule.tolist()]
        made = list(map(worlds_oracle.Tuple, batch.p.tolist(), rules, range(len(batch))))
        # In this order the records of a rule are let in, until their probabilities make 1.
        in_turn = [made[place] for place in batch.turn.tolist()]
        fits = worlds_oracle.fitting(in_turn)
        self._left_out += fits.count(False)
        counted = [record for record, counts in zip(in_turn, fits, strict=True) if counts]
        ranked = sorted(counted, key=lambda record: (-batch.score[record.row], -record.row))
        free = all(record.rule is None for record in ranked)
        chance = (worlds_oracle.recurrence if free else worlds_oracle.recurrence_with_rules)(ranked, k)
        # Within 1e-12 probabilities are equal, and the better score is first.
        best = worlds_oracle.highest(chance, k)
        return [int(batch.id[ranked[rank].row]) for rank in best], [chance[rank] for rank in best]

    @property
    def counters(self) -> Counters:
        return super().counters | {"left_out": self._left_out}


# ------------------------------------------------------------------------------------------ a score for each query


class PointSort:
    """An index of points: `PointEngine` does labels, report moments and deletes. Points are numbered as they come."""

    def __init__(self, columns: int, row_window: int | None = None) -> None:
        self._questions = Questions(columns)
        self._points = Points(NONE, np.empty((0, columns)))
        self._dead: set[int] = set()
        self.first = 0
        self._scored = self._peak = 0

    def add(self, asked: Any) -> Ints:
        return self._questions.add(asked)

    def remove(self, place: int) -> None:
        self._questions.remove(place)

    def advance(self, points: Points, deleted: Ints, since: int) -> None:
        at, x = np.append(self._points.at, points.at), np.concatenate((self._points.x, points.x))
        gone = int(np.searchsorted(at, since))
        self.first, self._points = self.first + gone, Points(at[gone:], x[gone:])
        self._dead = {number for number in (*self._dead, *deleted.tolist()) if number >= self.first}
        self._peak = max(self._peak, len(self))

    def answers(self, places: Ints) -> Answers:
        number = np.setdiff1d(self.first + np.arange(len(self)), np.array([*self._dead], np.int64))
        x, queries = np.ascontiguousarray(self._points.x[number - self.first]), self._questions.columns
        _, counts = standing(queries, places, x)
        lists = []
        for column, place in enumerate(places.tolist()):
            own = np.flatnonzero(counts[:, column])
            score = ranking_scores(queries, np.full(len(own), place), np.ascontiguousarray(x[own]))
            if not np.isnan(queries.threshold[place]):
                # ABOVE: the threshold is about the merit, whose sign is changed in the score where it is `turned`.
                above = queries.turn[place] * score > queries.threshold[place]
                own, score = own[above], score[above]
            best = np.lexsort((-number[own], -score))[: int(queries.k[place])]
            lists.append((number[own][best], score[best]))
            self._scored += len(own)
        return answers(lists)

    def window(self) -> Points:
        return self._points

    def __len__(self) -> int:
        return len(self._points)

    def check(self) -> None:
        """Assert what must hold, for tests."""
        check_rising(self._points.at, "points: times")
        assert all(self.first <= number < self.first + len(self) for number in self._dead), "points: deleted, not there"

    @property
    def counters(self) -> Counters:
        fed = self.first + len(self)
        work = {"records": fed, "comparisons": self._scored, "insertions": fed}
        return work | {"candidates": len(self), "candidates_peak": self._peak}


@register(
    "point_sort",
    Capabilities(
        "every score of every point", "an example", data="multi_score", thresholds=True, deletes=True, priority=-1
    ),
)
def point_sort(meta: MetaQuery) -> PointEngine:
    return PointEngine(meta, PointSort)


# ------------------------------------------------------------------------------------------------------- trying them


def workloads() -> dict[tuple[str, str], sb.Workload]:
    """One for each of these engines, and an engine that it is compared with."""
    plain, doubtful = sb.Stream("s", time="ts", key="id"), sb.Stream("s", time="ts", key="id", probability="p")
    across = sb.Across("client", "server", "SUM")
    best = sb.TopK("best", k=3, by="x", window="20 seconds", slide="5 seconds")
    total = sb.TopK("total", k=3, by="SUM(x)", window="20 seconds", slide="5 seconds", across=across)
    weighted = [
        sb.TopK(f"q{n}", k=2, by=f"{n}.0 * x + y", window="20 seconds", slide="5 seconds") for n in range(1, 10)
    ]
    return {
        ("window_sort", "shared"): sb.Workload([best], stream=plain),
        ("object_sort", "eaa"): sb.Workload([total], stream=plain),
        ("chance_sort", "pk_topk"): sb.Workload([best], stream=doubtful),
        ("point_sort", "sma"): sb.Workload(weighted, stream=plain),
    }


def records(count: int = 200) -> pa.Table:
    draw = np.random.default_rng(7)
    return pa.table(
        {
            "ts": pa.array(np.sort(draw.integers(0, 60_000_000, count))).cast(pa.timestamp("us")),
            "id": np.arange(count),
            "x": draw.integers(0, 50, count).astype(float),
            "y": draw.random(count),
            "p": 1 - draw.random(count),
            "client": draw.integers(0, 9, count),
            "server": draw.choice(["a", "b"], count),
        }
    )


def rows(workload: sb.Workload, engine: str) -> list[dict[str, Any]]:
    monitor, table = sb.Monitor(workload, engine=engine), records()
    parts = [monitor.push(table.slice(low, 30)) for low in range(0, len(table), 30)]
    found: list[dict[str, Any]] = pa.concat_tables([*parts, monitor.close()]).to_pylist()
    return found


if __name__ == "__main__":
    for (name, other), workload in workloads().items():
        mine, theirs = rows(workload, name), rows(workload, other)
        same = [(row["query"], row["rank"], row["id"]) for row in mine] == [
            (row["query"], row["rank"], row["id"]) for row in theirs
        ]
        how = "the same as" if same else "OTHER THAN"
        print(f"{name:<12} {len(mine):>4} rows, {how} those of {other}")
