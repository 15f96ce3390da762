"""What the checks know of an engine of any data model, and the desk that feeds one and compares it with its oracle.

All engines have one protocol. A data model says in its own file which streams to feed them, as which batches, what the
oracle says, and what may be held. The checks are written over that, and only once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from hypothesis import strategies as st

import skyband as sb
from skyband.engines.base import AnyEngine, Counters, DataModelName, registration
from skyband.engines.lift import lifted
from skyband.model import NEVER, Answers, Floats, Ints, Kind, MetaQuery
from tests.drawn import several

Report = tuple[int, int]
"""A query, and the end of its window."""
Listed = list[tuple[int, float]]
"""The answer of one report, best first: numbers of records, each with its score or probability."""
Column = Callable[[np.random.Generator, int], Floats]
"""A long column of scores between 0 and 1, of some shape."""
Build = Callable[[MetaQuery], AnyEngine]
LABEL = 10_000_000
"""Labels fall along the stream: no engine may rely on their order."""


@dataclass(frozen=True, eq=False)
class Case:
    """Queries, a stream in feed order, and the moments to which the clock is moved, call by call.

    A record is known by its place in `at`. One with a `delay` comes so many calls later than it should, when reports
    have passed it by; the others come with the first call whose moment is after them.
    """

    meta: MetaQuery
    at: Ints
    untils: tuple[int, ...]
    delay: Ints

    def batch(self, numbers: Ints) -> Any:
        """These records as the engines of the data model want them, labelled with LABEL - number."""
        raise NotImplementedError

    def times(self, numbers: Ints) -> Ints:
        """When those of them came that make reports due."""
        return self.at[numbers]

    def calls(self) -> Iterator[tuple[int, Ints, Ints]]:
        """By call: its moment, the records that are late by now, and those that come in time."""
        due = np.searchsorted(np.array(self.untils), self.at, side="right") + self.delay
        for number, until in enumerate(self.untils):
            now = due == number
            yield until, np.flatnonzero(now & (self.delay > 0)), np.flatnonzero(now & (self.delay == 0))

    def windows(self, after: int, until: int) -> Iterator[tuple[int, int, int]]:
        """(query, start, end) of all windows that end in (after, until], by query."""
        beats = (self.meta.query, self.meta.width, self.meta.period, self.meta.phase)
        for query, width, period, phase in zip(*(column.tolist() for column in beats), strict=True):
            for end in range(after + 1 + (phase - after - 1) % period, until + 1, period):
                yield query, end - width, end


def builder(name: str) -> Build:
    """How the planner builds an engine: one that knows a single query is lifted to the family."""

    def build(meta: MetaQuery) -> AnyEngine:
        known = registration(name)
        return known.build(meta) if known.capabilities.several_queries else lifted(meta, known.build)

    return build


def accepts(name: str, meta: MetaQuery) -> bool:
    """An engine refuses when it is built what it cannot do, and its capabilities have no word for."""
    try:
        builder(name)(meta)
    except sb.SkybandError:
        return False
    return True


class Subject:
    """An engine under test, with the clock that the runtime keeps for it."""

    def __init__(self, case: Case, engine: str | Build) -> None:
        self.case = case
        self.engine = (builder(engine) if isinstance(engine, str) else engine)(case.meta)
        self.last = int(NEVER)
        self.until = int(NEVER)

    def advance(self, numbers: Ints, until: int) -> dict[Report, Listed]:
        """Feed these records and move the clock; every report that was due."""
        due_reports = self.case.meta.due_reports(self.case.times(numbers), self.last, self.until, until)
        answers: Answers = self.engine.advance(self.case.batch(numbers), due_reports)
        assert len(answers) == len(due_reports)
        self._note(numbers)
        self.until = until
        numbers, values = (LABEL - answers.id).tolist(), answers.score.tolist()
        parts = (answers[i] for i in range(len(answers)))
        reports = zip(due_reports.query.tolist(), due_reports.end.tolist(), parts, strict=True)
        return {(query, end): list(zip(numbers[part], values[part], strict=True)) for query, end, part in reports}

    def admit(self, numbers: Ints) -> None:
        """Records that come late."""
        both = np.union1d(LABEL - self.engine.candidates(), numbers)
        self.engine.rebuild(self.case.batch(both), self.until, LABEL - numbers)
        self._note(numbers)

    def held(self) -> set[int]:
        """The records that a report to come may need, as the engine says; after it dropped what it can."""
        if hasattr(self.engine, "settle"):
            self.engine.settle()
        held = (LABEL - self.engine.held().id).tolist()
        assert held == sorted(held), "not in feed order"
        assert np.sort(held)[::-1].tolist() == (LABEL - self.engine.candidates()).tolist()
        return set(held)

    def successor(self, engine: str | Build) -> Subject:
        """An engine made from what this one holds and nothing else, that goes on in its place."""
        fresh, held = Subject(self.case, engine), self.engine.held()
        fresh.engine.rebuild(held, self.until)
        fresh.until = self.until
        fresh._note(LABEL - held.id)
        return fresh

    def _note(self, numbers: Ints) -> None:
        self.last = int(self.case.times(numbers).max(initial=self.last))


class Model(Protocol):
    """The adapter of a data model."""

    name: DataModelName
    precision: float
    """The share of the true lists that engines which are not exact are asked for."""

    def cases(self, *engines: str, late: bool = False, tied: bool = False) -> st.SearchStrategy[Any]:
        """Small workloads that these engines can all serve (see `served`), with every number that may reach them:
        infinities, and NaN where the runtime lets it through; with records that come late, or with nothing but ties."""

    def long(self, engine: str, shape: Column, n: int, untils: Sequence[int]) -> Any:
        """A long stream of one record per moment, windows of 500 and less."""

    def truth(self, case: Any, query: int, numbers: Ints) -> Any:
        """What the oracle says of a window that holds these records, for `agree`."""

    def agree(self, case: Any, query: int, found: Listed, truth: Any) -> None:
        """Assert that an answer is the oracle's."""

    def hits(self, case: Any, query: int, found: Listed, truth: Any) -> tuple[int, int]:
        """How much of the true list was found, and how long that is."""

    def needed(self, engine: str, case: Any, until: int, arrived: Ints) -> tuple[set[int], set[int]]:
        """What an engine must hold at least, and at most, when its clock is at `until`."""

    def copies(self, case: Any) -> int:
        """How often a record may be counted among the candidates."""

    def work(self, engine: str, case: Any, counters: Counters) -> tuple[int, int]:
        """Fewer comparisons than this cannot be, and more would be more than the engine's card says; or, where no
        card is known here, than looking at every record of every window that is reported."""


@dataclass
class Desk:
    """Feeds a subject call by call, and compares every report with the oracle unless told not to."""

    model: Model
    case: Any
    subject: Subject
    compares: bool = True
    after: int = int(NEVER)
    answered: dict[Report, Listed] = field(default_factory=dict)
    _came: list[Ints] = field(default_factory=lambda: [np.empty(0, np.int64)])

    @staticmethod
    def of(model: Model, engine: str, case: Any) -> Desk:
        return Desk(model, case, Subject(case, engine))

    @property
    def arrived(self) -> Ints:
        """The records that came so far, in feed order."""
        return np.sort(np.concatenate(self._came))

    def run(self, between: Callable[[int], None] = lambda call: None) -> Desk:
        """Every call of the case; `between` is called before each."""
        for call, (until, late, in_time) in enumerate(self.case.calls()):
            between(call)
            self.step(until, late, in_time)
        return self

    def step(self, until: int, late: Ints, in_time: Ints) -> None:
        if len(late):
            self.subject.admit(late)
        found = self.subject.advance(in_time, until)
        self._came += [late, in_time]
        assert not set(found) & set(self.answered), "a report was made twice"
        self.answered |= found
        if self.compares:
            self._compare(found, until)
        self.after = until

    def _compare(self, found: dict[Report, Listed], until: int) -> None:
        """Every window that holds a record is reported; other reports say nothing."""
        arrived, told = self.arrived, set(found)
        at = self.case.at[arrived]
        first = max(self.after, int(at.min())) if len(at) else until
        for query, start, end in self.case.windows(first, until):
            numbers = arrived[(at >= start) & (at < end)]
            if len(numbers):
                truth = self.model.truth(self.case, query, numbers)
                self.model.agree(self.case, query, found.get((query, end), []), truth)
                told.discard((query, end))
        assert not any(found[report] for report in told), "a window without records had an answer"


def in_some_window(case: Case, until: int, arrived: Ints) -> set[int]:
    """The records that some window still to be reported holds."""
    _, last = case.meta.window_ends(case.at[arrived])
    return set(arrived[(last > until).any(axis=0)].tolist())


def windows_looked_at(case: Case) -> int:
    """Of a long stream with a record at every moment: the records of every window that is reported, in all."""
    return sum(end - max(start, 0) for _, start, end in case.windows(0, len(case.at)))


def held_bytes(thing: object, seen: set[int] | None = None) -> int:
    """All numbers that an engine holds, wherever they are, arrays each once; what it was asked is not its state."""
    seen = set() if seen is None else seen
    if isinstance(thing, int | float):
        return 8
    if id(thing) in seen or isinstance(thing, type | MetaQuery):
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, dict):
        return held_bytes([*thing, *thing.values()], seen)
    if isinstance(thing, list | tuple | set | deque):
        return sum(held_bytes(each, seen) for each in thing)
    return held_bytes(getattr(thing, "__dict__", {}), seen)


# --------------------------------------------------------------------------------------------------------- strategies

C = TypeVar("C", bound=Case)
WIDEST = 24
GAPS = (0, 0, 0, 1, 1, 1, 1, 2, 3, WIDEST - 1, WIDEST, WIDEST + 1, 5 * WIDEST)


def served(engines: Sequence[str], cases: st.SearchStrategy[C]) -> st.SearchStrategy[C]:
    """The cases that none of these engines refuses. One that refuses every case fails: Hypothesis finds none."""
    return cases.filter(lambda case: all(accepts(name, case.meta) for name in engines))


def kinds(engines: Sequence[str], late: bool) -> list[Kind]:
    """The windows that all of these engines have; positions are never late."""
    able = [sb.engines()[name] for name in engines]
    ranges: list[Kind] = ["range"] * all(each.time_windows for each in able)
    rows: list[Kind] = ["rows"] * all(each.row_windows and not late for each in able)
    return ranges + rows


@st.composite
def times(draw: st.DrawFn, kind: Kind, most: int = 40, between: Sequence[int] = GAPS) -> Ints:
    """Positions, or times with gaps and bursts."""
    n = draw(st.integers(0, most))
    if kind == "rows":
        return np.arange(n)
    gaps = draw(several(between, n))
    return np.cumsum(np.array(gaps, np.int64)) + draw(st.integers(-50, 50))


@st.composite
def clocks(draw: st.DrawFn, at: Ints) -> tuple[int, ...]:
    """Rising moments; the last is after all records, and sometimes after all their windows."""
    first, last = (int(at[0]), int(at[-1])) if len(at) else (0, 0)
    final = last + 1 + draw(st.sampled_from([0, 1, WIDEST // 2, 3 * WIDEST]))
    middle = draw(st.lists(st.integers(first - 2, final), max_size=6))
    return (*sorted(set(middle) - {final}), final)


@st.composite
def delays(draw: st.DrawFn, n: int, late: bool) -> Ints:
    if not late:
        return np.zeros(n, np.int64)
    return np.array(draw(several([0, 0, 0, 1, 1, 2], n)), np.int64)


@st.composite
def beats(draw: st.DrawFn, most: int, k: st.SearchStrategy[int], widest: int = WIDEST) -> list[tuple[int, ...]]:
    """(width, period, phase, k) of each query. A moment of a FREQUENCY plan may come round less often than its window
    is long."""
    found: list[tuple[int, ...]] = []
    for _ in range(draw(st.integers(1, most))):
        width = draw(st.integers(1, widest))
        period = draw(st.one_of(st.integers(1, width), st.integers(1, width), st.integers(1, 2 * widest)))
        found.append((width, period, draw(st.integers(0, period - 1)), draw(k)))
    return found


def columns(rows: Sequence[Sequence[int]]) -> tuple[Ints, ...]:
    return tuple(np.array(column, np.int64) for column in zip(*rows, strict=True))
