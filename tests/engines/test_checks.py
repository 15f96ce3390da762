"""A check that cannot fail checks nothing: every structure is broken by hand, one thing at a time, and says what is
wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.engines.complete.checks import check_stacks
from skyband.engines.complete.sap import Sap
from skyband.engines.complete.shared import Shared
from skyband.engines.kernels.grid import state as grid
from skyband.engines.kernels.lists import topband, toplist
from skyband.engines.kernels.objects import state as eaa
from skyband.engines.kernels.sap import savl, state as sap
from skyband.engines.kernels.sla import state as sla
from skyband.engines.kernels.uncertain import ranks
from skyband.engines.many.points import PointEngine
from skyband.engines.many.sma import Sma
from skyband.engines.many.tma import Tma
from skyband.model.many import Scores, ScoreSpec
from skyband.runtime.clock import EventTime
from skyband.runtime.encoded import AT, GROUP, HASH, SCORE
from skyband.runtime.executors.group_table import SkybandTable
from tests.engines.conformance.desk import Build, Subject
from tests.engines.conformance.models import MET
from tests.engines.conformance.multi_score import PointCase, one_window
from tests.engines.feeding import family

Break = Callable[[Any], object]


def check(subject: Any) -> None:
    """Not part of the protocol: only an engine with a structure of its own has one."""
    subject.engine.check()


def fed(name: str, build: str | Build | None = None) -> Any:
    """An engine in the middle of a long stream."""
    (model,) = (met.model for met in MET if met.name == name)
    n = 1_530
    case = model.long(name, lambda draw, n: np.round(draw.random(n), 2), n, [500, 1_000, n])
    subject = Subject(case, build or name)
    for until, _, in_time in case.calls():
        subject.advance(in_time, until)
    check(subject)
    return subject.engine


def with_keys() -> Any:
    """An index of a stream with deletes."""
    scores = Scores(1, (ScoreSpec.linear(3, np.array([1.0])),), deletes=True)
    n, draw = 200, np.random.default_rng(1)
    rows = np.arange(n), (n,), np.zeros(n, np.int64), draw.random((n, 1)), draw.random(n) < 0.2, draw.integers(0, 30, n)
    case = PointCase(one_window("range", 50, 10, 0, scores), *rows)
    subject = Subject(case, "tma")
    subject.advance(np.arange(n), n)
    check(subject)
    return subject.engine


def swap(column: np.ndarray, i: int = 0, j: int = 1) -> None:
    column[i], column[j] = column[j].copy(), column[i].copy()


def fine(index: type) -> Build:
    return lambda meta: PointEngine(meta, lambda d, rows: index(d, rows, per_cell=8))


def watched(engine: Any) -> int:
    """A node that somebody watches."""
    return int(np.flatnonzero(engine.index._cells.watched != -1)[0])


def listed(engine: Any) -> Any:
    """Where the list of the query with the longest one begins."""
    lists = engine.index._lists
    return lists.begin[int(np.argmax(lists.size))]


def unwatched(engine: Any) -> int:
    """A point that the query with the longest list does not look at."""
    points, cells, lists = engine.index._points, engine.index._cells, engine.index._lists
    entries, entry = [], int(lists.own[int(np.argmax(lists.size))])
    while entry != -1:
        entries.append(int(engine.index._influence.node[entry]))
        entry = int(engine.index._influence.other[entry])
    for number in range(engine.index.first, engine.index.fed):
        leaf = len(cells.head) - 1 + int(points.cell[number % len(points.at)])
        if not np.isin(leaf >> cells.strata, entries).any():
            return number
    raise AssertionError("everything is watched")


def no_candidate(engine: Any) -> int:
    """Where a record of the window is that is no candidate."""
    size = engine._state.size
    (number, *_) = set(range(int(size[sap.FIRST]), int(size[sap.NEXT]))) - set(engine.kept().id.tolist())
    return int(number - size[sap.BASE])


def longest_view(engine: Any) -> int:
    """Where its list begins."""
    views, n = engine._state.views, int(engine._state.size[topband.VIEWS])
    return int(views.place[int(np.argmax(views.length[:n]))])


def exchanged(table: Any, i: int = 0, j: int = 1) -> None:
    """Two rows of a table of columns."""
    for column in table:
        swap(column, i, j)


def set_at(column: np.ndarray, place: int, value: Any) -> object:
    column[place] = value
    return column


GRID: dict[str, Break] = {
    "more points than the ring has room for": lambda e: set_at(e.index._numbers, grid.FIRST, -9_999),
    "times in the ring": lambda e: set_at(e.index._points.at, e.index.first % len(e.index._points.at), 10**9),
    "a point does not know its cell": lambda e: e.index._points.cell.__iadd__(1),
    "lies outside its cell": lambda e: e.index._points.x.__imul__(0.5),
    "an odd point in a cell": lambda e: e.index._points.x.fill(np.inf),
    "free chunks": lambda e: set_at(e.index._numbers, grid.SPARES, 1 + int(e.index._numbers[grid.SPARES])),
    "miscounts its halves": lambda e: set_at(e.index._cells.filled, 1, 7),
    "newest chunk": lambda e: e.index._cells.tail.fill(0),
    "free entries": lambda e: set_at(e.index._numbers, grid.UNUSED, 0),
    "another one's entry": lambda e: e.index._influence.query.__iadd__(1),
    "a node has another one's entry": lambda e: set_at(e.index._influence.node, e.index._cells.watched[watched(e)], 0),
    "misses the one before it": lambda e: set_at(e.index._influence.before, e.index._cells.watched[watched(e)], 0),
    "queries and nodes disagree": lambda e: set_at(e.index._cells.watched, watched(e), -1),
    "scored always, watches": lambda e: e.index._lists.dense.fill(True),
    "longer than its room": lambda e: e.index._lists.size.fill(999),
    "results: not best first": lambda e: swap(e.index._lists.score, listed(e), listed(e) + 3),
    "a point that never came": lambda e: e.index._lists.number.__iadd__(10**6),
    "below the floor": lambda e: e.index._lists.floor.fill(9.0),
    "a result that nobody watches": lambda e: set_at(e.index._lists.number, listed(e), unwatched(e)),
    "a whole list with a floor": lambda e: (e.index._lists.whole.fill(True), e.index._lists.floor.fill(-9.0)),
}
LISTS: dict[str, Break] = {"dominators are miscounted": lambda e: e.index._lists.dominated.__iadd__(1)}
SORTED: dict[str, Break] = {
    "other entries than the window has": lambda e: setattr(e.index, "_listed", 3),
    "a point is missing, or there twice": lambda e: e.index._sorted.number[0].fill(e.index.first),
    "an entry is not the point's value": lambda e: e.index._sorted.value.__iadd__(1),
    "results: not best first": lambda e: swap(e.index._lists.score, listed(e), listed(e) + 3),
}
KEYS: dict[str, Break] = {
    "other keys than were counted": lambda e: setattr(e._keys, "_used", 0),
    "one is not found": lambda e: e._keys._table.one.__iadd__(1),
    "a record leads to a newer one": lambda e: e._keys._before.now.fill(e._keys._before.end),
    "a deleted record is still its key's": lambda e: e._keys._dead.now.fill(True),
    "not every point has a label": lambda e: e._label.append(np.zeros(1, np.int64)),
}
BAND: dict[str, Break] = {
    "starts: not in rising order": lambda e: swap(e._state.views.start),
    "windows that belong to none": lambda e: set_at(e._state.size, topband.WINDOWS, 1),
    "longer than its room": lambda e: e._state.views.room.fill(0),
    "a score that is not its object's": lambda e: e._state.lists.score.__iadd__(1),
    "view: not best first": lambda e: exchanged(e._state.lists, longest_view(e), longest_view(e) + 4),
    "references are miscounted": lambda e: e._state.pool.references.__imul__(2),
    "objects are miscounted": lambda e: set_at(e._state.size, topband.OBJECTS, 1),
    "pool: slots": lambda e: set_at(e._state.pool.free, 0, e._state.pool.free[1]),
    "wants another k": lambda e: e._state.views.k.__iadd__(1),
    "two lists in one place": lambda e: e._state.views.room.__iadd__(50),
}
LIST: dict[str, Break] = {
    "list: not best first": lambda e: swap(e._state.listed.score, 0, 5),
    "pointer is not at its view's k-th best": lambda e: e._state.views.low.__isub__(1),
    "miscounts its records": lambda e: e._state.views.held.__iadd__(1),
    "newcomers wait": lambda e: set_at(e._state.size, toplist.RECENT, 1),
}
SKYBAND: dict[str, Break] = {
    "dominators are miscounted": lambda e: e.members[0]._band.dominators.__iadd__(1),
    "skyband: not best first": lambda e: swap(e.members[0]._band.score, 0, 9),
}
SAP: dict[str, Break] = {
    "best of the open partition: not best first": lambda e: swap(e._state.best.score, 0, 2),
    "candidates: not best first": lambda e: swap(e._state.rest.score, 0, 4),
    "its ends are out of order": lambda e: set_at(e._state.size, sap.FILLED, 0),
    "window: times": lambda e: set_at(e._state.at, no_candidate(e), 10**9),
    "a score that is not its record's": lambda e: e._state.score.__iadd__(1),
    "one with k dominators": lambda e: e._state.rest.dominators.__iadd__(99),
    "partitions: a gap": lambda e: e._state.parts.lo.__iadd__(1),
    "not its best k": lambda e: set_at(e._state.size, sap.BEST, 1),
    "without a label": lambda e: e._number.__iadd__(1_000_000),
}
SHARED: dict[str, Break] = {
    "begins inside a block": lambda e: e._state.parts.begin.__iadd__(1),
    "two runs in one place": lambda e: [set_at(column, 1, column[0]) for column in e._state.parts],
    "run: not best first": lambda e: swap(
        e._state.pool.score, int(e._state.parts.begin[0]), int(e._state.parts.begin[0]) + 3
    ),
    "newer than it says": lambda e: e._state.pool.newest.fill(-1),
    "suffix: not best first": lambda e: swap(
        e._state.suffix.score, int(e._state.parts.suffix[0]), int(e._state.parts.suffix[0]) + 3
    ),
    "from outside its partition": lambda e: e._state.parts.last.__isub__(20),
    "open partition: times": lambda e: set_at(e._state.tail.at, 0, 10**9),
    "suffix: more than K": lambda e: e._state.parts.suffix_size.fill(99),
    "first times": lambda e: exchanged(e._state.parts),
}
VALUES: dict[str, Break] = {
    "values: times": lambda e: e.structures[0].values.at.__imul__(-1),
    "feed order": lambda e: e.structures[0].values.feed.__imul__(-1),
    "cell: its values": lambda e: e.structures[0].cells.old.__iadd__(1),
    "a value of it is not linked": lambda e: e.structures[0].values.cell.__iadd__(1),
    "does not know its last value": lambda e: e.structures[0].cells.last.__iadd__(1),
    "a part is not what its values make": lambda e: e.structures[0].values.value.__iadd__(1),
    "object: its values are miscounted": lambda e: e.structures[0].objects.held.__iadd__(1),
    "does not know its newest value": lambda e: e.structures[0].objects.newest.__iadd__(1),
    "another one's cell is linked": lambda e: e.structures[0].objects.cell.fill(0),
    "table: somebody": lambda e: e.structures[0].objects.table.fill(-1),
    "is not found by its key": lambda e: e.structures[0].objects.key.__imul__(3),
    "who waits for a score is not listed": lambda e: e.structures[0].objects.waiting.fill(True),
    "the better one lost": lambda e: e.structures[0].objects.score.__imul__(-1),
    "somebody won who did not play": lambda e: (
        e.structures[0].objects.winner[: e.structures[0].numbers[eaa.LEAVES]].fill(9**6)
    ),
}
OWNERS: dict[str, Break] = {
    "window: times": lambda e: e.structures[0].window.at.__imul__(-1),
    "objects: a place is lost": lambda e: set_at(e.structures[0].numbers, sla.FREE_OBJECTS, 1),
    "cells: a place is lost": lambda e: set_at(e.structures[0].numbers, sla.FREE_CELLS, 1),
    "its values are miscounted": lambda e: e.structures[0].owners.held.__iadd__(1),
    "does not know its last value": lambda e: e.structures[0].owners.last.__iadd__(1),
    "another cell's value is linked": lambda e: e.structures[0].window.cell.__iadd__(1),
    "lists: not in order": lambda e: e.structures[0].lists.value.__imul__(-1),
    "not its cell's attribute": lambda e: e.structures[0].lists.value.__iadd__(1),
    "a cell is not listed": lambda e: e.structures[0].lists.blocks.__isub__(1),
    "blocks: a place is lost": lambda e: set_at(e.structures[0].lists.numbers, 0, 0),
    "view: not best first": lambda e: swap(e.structures[0].view.object, 0, 2),
    "marks and entries disagree": lambda e: e.structures[0].owners.viewed.fill(False),
    "somebody below the floor": lambda e: (
        e.structures[0].view.level.fill(99.0), set_at(e.structures[0].view.number, 1, 0)
    ),
    "somebody above the floor is not in it": lambda e: (
        e.structures[0].view.level.fill(-99.0), set_at(e.structures[0].view.number, 1, 0)
    ),
}  # fmt: skip
STORE: dict[str, Break] = {
    "store: times": lambda e: e._store.at.__imul__(-1),
    "run: not best first": lambda e: swap(e._store.main, 0, 9),
    "a record is in two": lambda e: (
        e._store.fresh.__setitem__(slice(0, 5), e._store.main[:5]), set_at(e._store.sizes, ranks.FRESH, 5)
    ),
    "a record that was not taken in": lambda e: set_at(e._store.sizes, ranks.TAKEN, 1),
    "a record of the window is missing": lambda e: (
        set_at(e._store.sizes, ranks.MAIN, 2), set_at(e._store.sizes, ranks.FRESH, 0)
    ),
    "turns": lambda e: swap(e._store.turn, *(int(e._store.sizes[ranks.STORED]) - back for back in (1, 9))),
    "its ends are out of order": lambda e: set_at(e._store.sizes, ranks.TAKEN, -1),
}  # fmt: skip
BROKEN: list[tuple[str, str, Build | None, dict[str, Break]]] = [
    ("the grid", "tma", fine(Tma), GRID),
    ("skybands over the grid", "sma", fine(Sma), LISTS),
    ("sorted columns", "tsl", None, SORTED),
    ("views and their pool", "mtopband", None, BAND),
    ("one list for all views", "mtoplist", None, LIST),
    ("a skyband", "kskyband", None, SKYBAND),
    ("partitions of sap", "sap", lambda meta: Sap(meta, m=8), SAP),
    ("partitions of shared", "shared", lambda meta: Shared(meta, 5, 64), SHARED),
    ("values of objects", "eaa", None, VALUES),
    ("sorted lists of objects", "sla", None, OWNERS),
    ("uncertain records", "pk_topk", None, STORE),
]
CASES = [(name, build, what, how) for _, name, build, broken in BROKEN for what, how in broken.items()]


@pytest.mark.parametrize(("name", "build", "what", "how"), CASES, ids=[f"{name}: {what}" for name, _, what, _ in CASES])
def test_a_broken_structure_says_what_is_wrong(name: str, build: Build | None, what: str, how: Break) -> None:
    engine = fed(name, build)
    # Arrays have room that was never written to: what stands there may be no number at all.
    with np.errstate(all="ignore"):
        how(engine)
        with pytest.raises(AssertionError, match=what):
            engine.check()


@pytest.mark.parametrize("what", KEYS)
def test_broken_keys_say_what_is_wrong(what: str) -> None:
    engine = with_keys()
    KEYS[what](engine)
    with pytest.raises(AssertionError, match=what):
        engine.check()


def stacks() -> savl.Savl:
    """Three finished ones, and some under construction."""
    made = savl.with_room(savl.new_savl(3, np.nan), 40)
    for number, value in enumerate([5.0, 3.0, 4.0, 6.0, 7.0, 4.0, 5.0]):
        savl.push(made.score, made.seq, made.below, made.fresh, made.mark, value, -number)
    made = savl.finish(made)
    for number, value in enumerate([2.0, 1.0, 3.0]):
        savl.push(made.score, made.seq, made.below, made.fresh, made.mark, value, -9 - number)
    check_stacks(made, ranked=False)
    return made


STACKS: dict[str, Callable[[savl.Savl], Any]] = {
    "a worse record on a better one": lambda each: each.score.__imul__(-1),
    "a newer record on an older one": lambda each: each.seq.__imul__(-1),
    "a record is on two": lambda each: set_at(each.heap, 0, each.heap[1]),
    "records are miscounted": lambda each: set_at(each.mark, savl.POPPED, 1),
    "tops: not a heap": lambda each: swap(each.heap, 0, 1),
    "tops under construction": lambda each: swap(each.fresh, 0, 1),
}


@pytest.mark.parametrize("what", STACKS)
def test_broken_stacks_say_what_is_wrong(what: str) -> None:
    made = stacks()
    with np.errstate(all="ignore"):
        STACKS[what](made)
    with pytest.raises(AssertionError, match=what):
        check_stacks(made, ranked=False)


def groups() -> SkybandTable:
    table, n = SkybandTable(family([(50, 10, 0, 3)]), None), 200
    draw = np.random.default_rng(2)
    columns = {AT: np.arange(n), SCORE: draw.random(n), HASH: np.arange(n), GROUP: draw.choice(list("abcdef"), n)}
    table.advance(pa.table(columns), np.arange(n), EventTime(n))
    table.check()
    return table


def change(table: SkybandTable, **columns: Any) -> None:
    table._table.rows.update(columns)


GROUPS: dict[str, Callable[[SkybandTable], Any]] = {
    "groups: rows": lambda each: change(each, group=each._table.rows["group"][::-1]),
    "names and numbers disagree": lambda each: each._table.names.reverse(),
    "one has no clock": lambda each: setattr(each._table, "until", each._table.until[:-1]),
    "one has no name": lambda each: change(each, group=each._table.rows["group"] + 100),
    "times of rows": lambda each: change(each, at=-each._table.rows["at"]),
    "a row is there twice": lambda each: change(each, id=each._table.rows["id"] * 0),
    "will never be reported": lambda each: change(each, score=np.arange(len(each._table.rows["id"]), dtype=float)),
}


@pytest.mark.parametrize("what", GROUPS)
def test_a_broken_table_of_groups_says_what_is_wrong(what: str) -> None:
    table = groups()
    GROUPS[what](table)
    with pytest.raises(AssertionError, match=what):
        table.check()
