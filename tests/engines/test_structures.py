"""Structures under random use: records come, leave, come late and are deleted, queries join and go, engines take over.
After every step the structure checks itself, and everything it says is compared with a plain list."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from skyband.engines.complete.checks import check_stacks
from skyband.engines.complete.sap import Sap
from skyband.engines.complete.shared import Shared
from skyband.engines.kernels.sap import savl
from skyband.engines.lift import lifted
from skyband.engines.many.keys import Keys
from skyband.engines.many.points import PointEngine, PointIndex
from skyband.engines.many.sma import Sma
from skyband.engines.many.tma import Tma
from skyband.engines.many.tsl import Tsl
from skyband.engines.objects.eaa import Eaa, Instances
from skyband.engines.objects.sla import Sla
from skyband.model import Ints, MetaQuery
from skyband.model.many import Points, Scores, ScoreSpec
from skyband.runtime.clock import EventTime
from skyband.runtime.encoded import AT, GROUP, HASH, SCORE
from skyband.runtime.executors.group_table import SkybandTable
from skyband.runtime.row_store import RowStore
from tests.engines.conformance.desk import WIDEST, Build, Desk, Subject, builder
from tests.engines.conformance.models import EXAMPLES_MET, MET
from tests.engines.conformance.multi_score import MultiScore, PointCase, one_window, questions
from tests.engines.feeding import family

pytestmark = pytest.mark.usefixtures("example_engines")
NONE: Ints = np.empty(0, np.int64)
moderate = settings(
    max_examples=4 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 15,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def run_machine(machine: type[RuleBasedStateMachine], **given: Any) -> None:
    run_state_machine_as_test(type(machine.__name__, (machine,), given), settings=moderate)


# ------------------------------------------------------------------------------------------------------------- engines


class RestlessEaa(Eaa):
    """Settles all the time, so that short streams are pruned."""

    def structure(self, meta: MetaQuery, width: int) -> Instances:
        instances = super().structure(meta, width)
        instances.least = 3
        return instances


class TinyBlocks(Sla):
    """Lists in blocks of eight entries, so that short streams split and join them."""

    block = 8


def indexed(build: Callable[[int, int | None], PointIndex]) -> Build:
    return lambda meta: PointEngine(meta, build)


SMALL: dict[str, tuple[str, Build]] = {
    "shared in small partitions": ("shared", lambda meta: Shared(meta, 5, 8)),
    "sap, equal, seven units": ("sap", lambda meta: lifted(meta, lambda own: Sap(own, "equal", m=7))),
    "sap, non-delay": ("sap", lambda meta: lifted(meta, lambda own: Sap(own, delay=False))),
    "sap without stacks": ("sap", lambda meta: lifted(meta, lambda own: Sap(own, stacks=False))),
    "sap, amortised": ("sap", lambda meta: lifted(meta, lambda own: Sap(own, amortised=True))),
    "tma in a fine grid": ("tma", indexed(lambda d, rows: Tma(d, rows, per_cell=1))),
    "sma in a fine grid, scored always": ("sma", indexed(lambda d, rows: Sma(d, rows, per_cell=1, share=0.0))),
    "eaa that settles often": ("eaa", RestlessEaa),
    "sla in tiny blocks": ("sla", TinyBlocks),
}
"""Engines with parts so small that a short stream has many."""
EVERYONE = {met.name: (met.name, builder(met.name)) for met in MET + EXAMPLES_MET} | SMALL


class EngineMachine(RuleBasedStateMachine):
    """An engine over a stream that is there from the beginning; what happens when is decided step by step."""

    name: str
    build: Build

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        (model,) = (met.model for met in MET + EXAMPLES_MET if met.name == self.name)
        self.case = data.draw(model.cases(self.name))
        self.desk = Desk(model, self.case, Subject(self.case, type(self).build))
        self.until = int(self.case.at[0]) - 2 if len(self.case.at) else 0
        self.desk.step(self.until, NONE, NONE)
        self.left, self.held_back = set(range(len(self.case.at))), set[int]()

    @rule(by=st.integers(1, WIDEST))
    def advance(self, by: int) -> None:
        self.until += by
        self._feed([n for n in self.left if self.case.at[n] < self.until and n not in self.held_back], late=False)

    @precondition(lambda self: self.case.meta.kind == "range" and self.left)
    @rule(data=st.data())
    def hold_back(self, data: st.DataObject) -> None:
        self.held_back |= data.draw(st.sets(st.sampled_from(sorted(self.left)), max_size=4))

    @rule()
    def come_late(self) -> None:
        self._feed([n for n in self.held_back & self.left if self.case.at[n] < self.until], late=True)

    @rule()
    def take_over(self) -> None:
        self.desk.subject = self.desk.subject.successor(type(self).build)

    @rule()
    def drop_what_can_be_dropped(self) -> None:
        self.desk.subject.held()

    @invariant()
    def is_sound(self) -> None:
        if hasattr(self, "desk"):
            # An engine without a structure of its own has nothing to check.
            getattr(self.desk.subject.engine, "check", bool)()

    def _feed(self, numbers: list[int], late: bool) -> None:
        chosen = np.array(sorted(numbers), np.int64)
        self.desk.step(self.until, *((chosen, NONE) if late else (NONE, chosen)))
        self.left -= set(numbers)


@pytest.mark.nojit
@pytest.mark.parametrize("engine", EVERYONE)
def test_an_engine_stays_sound(engine: str) -> None:
    name, build = EVERYONE[engine]
    run_machine(EngineMachine, name=name, build=staticmethod(build))


# -------------------------------------------------------------------------------------------- indexes of many scores


class IndexMachine(RuleBasedStateMachine):
    """Points arrive, expire and are deleted, queries come and go; answers are those of sorting the window."""

    build: Callable[[int, int | None], PointIndex]
    deletes: bool
    programs: bool

    @initialize(d=st.integers(1, 3), spread=st.sampled_from(["few", "many", "odd"]), seed=st.integers(0, 999))
    def begin(self, d: int, spread: str, seed: int) -> None:
        self.draw, self.spread, self.d = np.random.default_rng(seed), spread, d
        self.index = type(self).build(d, None)
        self.asked: dict[int, ScoreSpec] = {}
        self.x, self.gone, self.first = np.empty((0, d)), set[int](), 0

    @rule(count=st.integers(1, 60))
    def arrive(self, count: int) -> None:
        x = self.draw.random((count, self.d))
        if self.spread != "many":
            x = np.floor(4 * x)
        if self.spread == "odd":
            x[self.draw.random(x.shape) < 0.1] = self.draw.choice([np.inf, -np.inf, np.nan, 1e300])
        at = np.arange(len(self.x), len(self.x) + count)
        self.x = np.concatenate((self.x, x))
        self.index.advance(Points(at, x), NONE, self.first)

    @rule(share=st.floats(0, 1))
    def expire(self, share: float) -> None:
        self.first += int(share * (len(self.x) - self.first))
        self.index.advance(Points(NONE, np.empty((0, self.d))), NONE, self.first)

    @precondition(lambda self: self.deletes and self.first < len(self.x))
    @rule(count=st.integers(1, 5))
    def delete(self, count: int) -> None:
        numbers = self.draw.integers(self.first, len(self.x), count)
        self.gone |= set(numbers.tolist())
        self.index.advance(Points(NONE, np.empty((0, self.d))), numbers, self.first)

    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        asked = data.draw(st.lists(questions(self.d, self.programs), min_size=1, max_size=3))
        self.asked |= dict(zip(self.index.add(asked).tolist(), asked, strict=True))

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(sorted(self.asked)))
        self.index.remove(place)
        del self.asked[place]

    @rule()
    def answer(self) -> None:
        """Brings the lists up to date."""
        case = PointCase(
            one_window("rows", 1, 1, 0, Scores(self.d, tuple(self.asked.values()))),
            np.arange(len(self.x)), (0,), NONE, self.x, np.zeros(len(self.x), bool), np.arange(len(self.x)),
        )  # fmt: skip
        alive = np.array([n for n in range(self.first, len(self.x)) if n not in self.gone], np.int64)
        answers = self.index.answers(np.array(list(self.asked), np.int64))
        for i in range(len(self.asked)):
            found = answers.id[answers[i]].tolist(), answers.score[answers[i]].tolist()
            assert list(zip(*found, strict=True)) == MultiScore().truth(case, i, alive)

    @invariant()
    def is_sound(self) -> None:
        if hasattr(self, "index"):
            self.index.check()


INDEXES: dict[str, tuple[Callable[[int, int | None], PointIndex], bool, bool]] = {
    "tma": (Tma, True, True),
    "tma in a fine grid": (lambda d, rows: Tma(d, rows, per_cell=2), True, True),
    "sma in a fine grid": (lambda d, rows: Sma(d, rows, per_cell=2), False, True),
    "sma, scored always": (lambda d, rows: Sma(d, rows, per_cell=4, share=0.0), False, True),
    "tma, scored always": (lambda d, rows: Tma(d, rows, per_cell=4, share=0.0), True, True),
    "tsl": (Tsl, True, False),
}


@pytest.mark.nojit
@pytest.mark.parametrize("index", INDEXES)
def test_an_index_of_points_stays_sound(index: str) -> None:
    build, deletes, programs = INDEXES[index]
    run_machine(IndexMachine, build=staticmethod(build), deletes=deletes, programs=programs)


class KeyMachine(RuleBasedStateMachine):
    """Which records of a key a delete takes away."""

    def __init__(self) -> None:
        super().__init__()
        self.keys, self.first = Keys(), 0
        self.key_of: list[int] = []
        self.dead: set[int] = set()

    @rule(rows=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3).map(lambda n: n == 0)), max_size=60))
    def follow(self, rows: list[tuple[int, bool]]) -> None:
        died, killed = [], []
        for key, gone in rows:
            if not gone:
                self.key_of.append(key)
                continue
            alive = [n for n in range(self.first, len(self.key_of)) if self.key_of[n] == key and n not in self.dead]
            self.dead |= set(alive)
            died += alive
            killed.append(len(alive))
        one = np.array([key for key, _ in rows], np.int64)
        found = self.keys.follow((one, one * 7), np.array([gone for _, gone in rows], bool), self.first)
        assert sorted(found[0].tolist()) == sorted(died)
        assert found[1].tolist() == killed

    @rule(share=st.floats(0, 1))
    def forget(self, share: float) -> None:
        self.first += int(share * (len(self.key_of) - self.first))
        self.keys.forget(self.first)

    @invariant()
    def is_sound(self) -> None:
        self.keys.check()
        assert self.keys.alive(self.first).tolist() == [n not in self.dead for n in range(self.first, len(self.key_of))]


@pytest.mark.nojit
def test_keys_stay_sound() -> None:
    with np.errstate(over="ignore"):
        run_machine(KeyMachine)


# -------------------------------------------------------------------------------------------------------------- stacks


class StackMachine(RuleBasedStateMachine):
    """An S-AVL: records are pushed newest first, stacks finished, the best popped."""

    @initialize(limit=st.integers(1, 5))
    def begin(self, limit: int) -> None:
        self.limit, self.savl = limit, savl.new_savl(limit, np.nan)
        self.pushed: list[tuple[float, int]] = []
        self.building: list[tuple[float, int]] = []
        self.kept: set[tuple[float, int]] = set()

    @rule(values=st.lists(st.integers(0, 9).map(float), min_size=1, max_size=12))
    def push(self, values: list[float]) -> None:
        for value in values:
            record, before = (value, -len(self.pushed)), savl.held(self.savl)
            self.savl = savl.with_room(self.savl, 1)
            parts = self.savl.score, self.savl.seq, self.savl.below, self.savl.fresh, self.savl.mark
            savl.push(*parts, *record)
            newer = sum(other >= value for other, _ in self.building)
            if savl.held(self.savl) > before:
                self.kept.add(record)
            else:
                assert newer >= self.limit, "a record was left out that may be reported"
            self.pushed.append(record)
            self.building.append(record)

    @rule()
    def finish(self) -> None:
        self.savl = savl.finish(self.savl)
        self.building = []

    @precondition(lambda self: self.kept and not self.building)
    @rule()
    def pop(self) -> None:
        best = max(self.kept)
        top = int(self.savl.heap[0])
        assert (self.savl.score[top], self.savl.seq[top]) == best
        savl.pop(self.savl.score, self.savl.seq, self.savl.below, self.savl.heap, self.savl.mark)
        self.kept.remove(best)

    @invariant()
    def is_sound(self) -> None:
        if hasattr(self, "savl"):
            check_stacks(self.savl, ranked=False)
            assert savl.held(self.savl) == len(self.kept)


@pytest.mark.nojit
def test_stacks_stay_sound() -> None:
    run_machine(StackMachine)


# -------------------------------------------------------------------------------------------------------------- groups


class GroupMachine(RuleBasedStateMachine):
    """Groups in one table: rows come in time and late, groups come and go; reports are those of sorting."""

    @initialize(beats=st.sampled_from([[(8, 3, 0, 2)], [(6, 6, 1, 1), (10, 4, 0, 3)], [(5, 7, 2, 2)]]))
    def begin(self, beats: list[tuple[int, int, int, int]]) -> None:
        self.meta = family(beats)
        self.table, self.store = SkybandTable(self.meta, None), RowStore()
        self.until, self.rows = 0, list[tuple[str, int, float]]()

    @rule(
        by=st.integers(1, 12),
        rows=st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 11), st.integers(0, 4)), max_size=12),
    )
    def advance(self, by: int, rows: list[tuple[str, int, int]]) -> None:
        fresh = sorted(((group, self.until + ago % by, float(score)) for group, ago, score in rows), key=lambda r: r[1])
        before, self.until = self.until, self.until + by
        table, ids = self._stored(fresh)
        found = self.table.advance(table, ids, EventTime(self.until))
        begin = np.cumsum(found.size) - found.size
        said = {
            (int(found.query[i]), found.names[found.group[i]], int(found.end[i])): found.id[
                begin[i] : begin[i] + found.size[i]
            ].tolist()
            for i in range(len(found))
        }
        assert said == self._wanted(before)

    @rule(
        rows=st.lists(
            st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 15), st.integers(0, 4)), min_size=1, max_size=5
        )
    )
    def come_late(self, rows: list[tuple[str, int, int]]) -> None:
        _, ids = self._stored([(group, self.until - ago, float(score)) for group, ago, score in rows])
        self.table.admit(ids, self.store, EventTime(self.until))

    @invariant()
    def is_sound(self) -> None:
        if hasattr(self, "table"):
            self.table.check()

    def _stored(self, rows: list[tuple[str, int, float]]) -> tuple[pa.Table | None, Ints]:
        """Of equal times and scores the later row is the better one: its hash is smaller."""
        if not rows:
            return None, NONE
        number = len(self.rows) + np.arange(len(rows))
        self.rows += rows
        group, at, score = (list(column) for column in zip(*rows, strict=True))
        columns = {
            AT: pa.array(at, pa.int64()),
            SCORE: pa.array(score),
            HASH: pa.array(-number),
            GROUP: pa.array(group),
        }
        return pa.table(columns), self.store.add(pa.table(columns))

    def _wanted(self, before: int) -> dict[tuple[int, str, int], list[int]]:
        found = {}
        beats = zip(self.meta.width.tolist(), self.meta.period.tolist(), self.meta.phase.tolist(), strict=True)
        for query, (width, period, phase) in enumerate(beats):
            for end in range(before + 1 + (phase - before - 1) % period, self.until + 1, period):
                for name in {name for name, _, _ in self.rows}:
                    inside = [
                        (-score, -at, -n)
                        for n, (group, at, score) in enumerate(self.rows)
                        if group == name and end - width <= at < end
                    ]
                    if inside:
                        found[query, name, end] = [-n for _, _, n in sorted(inside)[: int(self.meta.k[query])]]
        return found


@pytest.mark.nojit
def test_a_table_of_groups_stays_sound() -> None:
    run_machine(GroupMachine)
