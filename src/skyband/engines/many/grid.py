"""What `tma` and `sma` share: the window in a grid, bounds that are learnt and widened, queries that come and go.

Bounds come from the points themselves. The grid is laid out anew when the window has doubled or shrunk to a quarter
since, or when points lie far outside; a point a little outside only moves an outer edge. Either way the bounds of cells
change, so every query is searched again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skyband.engines.base import Counters
from skyband.engines.kernels.common.run import finished, new_output
from skyband.engines.kernels.grid.cells import (
    drop_before,
    gathered,
    more_chunks,
    new_cells,
    new_points,
    outside,
    put_all,
    spans,
)
from skyband.engines.kernels.grid.feed import arrive, forget, forget_query, report, settle
from skyband.engines.kernels.grid.state import CELLS, CHUNK, FIRST, NEXT, NOBODY, UNUSED, Cells, Scratch
from skyband.engines.many.checks import check_influence, check_lists, check_points, check_watched
from skyband.engines.many.lists import entries, more_entries, new_lists
from skyband.engines.many.numbered import Numbered
from skyband.engines.many.questions import Questions
from skyband.engines.many.scored import SHARE, Scored
from skyband.model import NEVER, Answers, Floats, Ints
from skyband.model.many import Points, ScoreSpec

PER_CELL = 60
"""Points that a cell should hold, and so how fine the grid is: fewer mean more cells to visit and more space for cells,
more mean more points to look at. With five and more columns, where points are larger, in proportion more."""
MARGIN = 0.005
"""Of an axis, left free beyond the outermost points: most newcomers that are extreme find their place there."""
FINEST = 16
"""Halvings, at most."""
BLOCK = 65_536


class GridEngine(Numbered):
    """Queries over the same window of the same points. Columns of `x` are the attributes, all queries' together."""

    skyband: bool

    def __init__(
        self, columns: int, row_window: int | None = None, per_cell: int | None = None, share: float = SHARE
    ) -> None:
        super().__init__()
        self.d = columns
        self._per_cell = max(PER_CELL, PER_CELL * columns // 4) if per_cell is None else per_cell
        self.questions = Questions(columns)
        room = min(row_window or 1024, BLOCK)
        self._most = row_window
        self._points = new_points(room, columns, room // CHUNK + 4, self._numbers)
        self._cells = new_cells(np.zeros(columns), np.zeros(columns), 0)
        self._laid_out_for = 0
        self._influence = entries(64, 2 * len(self._cells.head), self._numbers)
        self._lists = new_lists(0, np.zeros(1, np.int64))
        self._scratch = self._new_scratch()
        self._scored = Scored(self.questions.columns, share)
        self._last = int(NEVER)

    # ---------------------------------------------------------------------------------------------------- queries

    def add(self, asked: Sequence[ScoreSpec]) -> Ints:
        """New queries; their places, by which answers are asked for."""
        places = self.questions.add(asked)
        self._resize_lists()
        self._lists.size[places] = 0
        self._lists.stale[places] = True
        self._lists.dense[places] = False
        self._regroup(bool(self._scored))
        return places

    def remove(self, place: int) -> None:
        forget_query(self._cells, self._influence, self._lists, self._numbers, place)
        self.questions.remove(place)
        self._regroup(bool(self._scored))

    # ----------------------------------------------------------------------------------------------------- points

    def advance(self, points: Points, deleted: Ints, since: int) -> None:
        """One cycle: points that arrived, numbers of points that were deleted; older ones than `since` leave."""
        drop_before(self._points, self._cells, self._numbers, since)
        if len(points):
            self._last = int(points.at[-1])
        skipped = int(np.searchsorted(points.at, since))
        if skipped:
            # Older than the window, all of what is in it is too: numbers go on as if they had come and gone.
            self._numbers[FIRST] += skipped
            self._numbers[NEXT] += skipped
        for begin in range(skipped, len(points), BLOCK):
            self._arrive(points.at[begin : begin + BLOCK], points.x[begin : begin + BLOCK])
        self._peak = max(self._peak, len(self))
        if len(deleted):
            self._scored.lower(self.questions.columns, self._lists, self._cells)
            forget(
                self._points,
                self._cells,
                self._influence,
                self.questions.columns,
                self._lists,
                self._scored.dense,
                self._numbers,
                deleted,
            )

    def answers(self, places: Ints) -> Answers:
        """The answers of these queries over the window as it is."""
        self._settle()
        out, used = new_output(len(places), self._lists.score), 0
        out, used = report(
            self._points,
            self._cells,
            self.questions.columns,
            self._lists,
            self._scratch,
            self._numbers,
            places,
            out,
            used,
            0,
        )
        out = finished(out, used)
        return Answers(out.begin, out.size, out.id, out.score)

    def window(self) -> Points:
        """The points in the window, oldest first; of deleted ones the values mean nothing."""
        slot = np.arange(self.first, self.fed) % len(self._points.at)
        return Points(self._points.at[slot], gathered(self._points, self._cells, self._numbers))

    @property
    def fed(self) -> int:
        """Points that came so far."""
        return int(self._numbers[NEXT])

    def list_sizes(self) -> Ints:
        """Entries that each query keeps, by place."""
        self._settle()
        return self._lists.size.copy()

    @property
    def counters(self) -> Counters:
        numbers = self._numbers
        own = {"cells_visited": int(numbers[CELLS]), "influence": len(self._influence.node) - int(numbers[UNUSED])}
        return super().counters | own | {"scored_always": int(self._lists.dense.sum())}

    @property
    def window_bytes(self) -> int:
        """What the window takes: points and grid, without the queries' lists."""
        return sum(part.nbytes for part in (*self._points, *self._cells))

    def check(self) -> None:
        """Assert what must hold of points, cells, influence and lists."""
        parts = self._points, self._cells, self._influence, self._lists, self.questions.columns
        points, cells, influence, lists, queries = parts
        check_points(points, cells, self._numbers)
        check_influence(cells, influence, lists, queries, self._numbers)
        check_lists(lists, queries, self._numbers, self.skyband)
        check_watched(*parts, self.first)

    # ---------------------------------------------------------------------------------------------------- insides

    def _arrive(self, at: Ints, x: Floats) -> None:
        self._make_room(len(at))
        self._fit(x)
        self._scored.lower(self.questions.columns, self._lists, self._cells)
        done, x = 0, np.ascontiguousarray(x)
        while done < len(at):
            done = arrive(
                self._points,
                self._cells,
                self._influence,
                self.questions.columns,
                self._lists,
                self._scored.dense,
                self._scored.oldest,
                self._numbers,
                at,
                x,
                done,
                self.skyband,
            )
            if done < len(at):
                self._points = more_chunks(self._points, self._numbers, len(self._points.following) // 24 + 4)

    def _settle(self) -> None:
        begin, queries = 0, self.questions.columns
        while begin < len(self._lists.own):
            begin = settle(
                self._points,
                self._cells,
                self._influence,
                queries,
                self._lists,
                self._scratch,
                self._numbers,
                begin,
                self.skyband,
            )
            if begin < len(self._lists.own):
                self._influence = more_entries(self._influence, self._numbers, 2 * len(self._cells.head))
        on = self._scored.wanted(self._lists, len(self))
        if on != bool(self._scored):
            self._regroup(on)

    def _regroup(self, on: bool) -> None:
        parts = self.questions.columns, self._lists, self._cells, self._influence, self._numbers
        self._scored.regroup(on, *parts)

    def _make_room(self, more: int) -> None:
        room, wanted = len(self._points.at), len(self) + more
        if wanted <= room:
            return
        if self._most is not None:
            bigger = max(wanted, min(2 * room, self._most))
        else:
            bigger = max(wanted, 2 * room if room < BLOCK else room + room // 24)
        self._lay_out(self._cells, gathered(self._points, self._cells, self._numbers), bigger)
        self._resize_lists()

    def _fit(self, x: Floats) -> None:
        """Lay the grid out for the window with these points in it, if it does not fit any more."""
        count = len(self) + len(x)
        if not self._laid_out_for / 4 < count <= 2 * self._laid_out_for or outside(self._cells, x):
            self._reshape(x, count)

    def _reshape(self, x: Floats, count: int) -> None:
        low, high = np.full(self.d, np.inf), np.full(self.d, -np.inf)
        kept = gathered(self._points, self._cells, self._numbers)
        if not spans(kept, low, high) + spans(x, low, high):
            low[:], high[:] = 0.0, 0.0
        edge, last = self._cells.edge, (np.arange(self.d), self._cells.sides)
        bottom, top = edge[:, 0].copy(), edge[last]
        inner = np.maximum(top - bottom, 1e-300)
        far = (low < bottom - inner / 2) | (high > top + inner / 2)
        if far.any() or not self._laid_out_for / 4 < count <= 2 * self._laid_out_for:
            bits = min(FINEST, max(0, int(np.log2(max(count, 1) / self._per_cell))))
            if self.d == 1:
                bits = min(bits, 14)
            self._laid_out_for = max(count, 64)
            margin = MARGIN * (high - low)
            self._lay_out(new_cells(low - margin, high + margin, bits), kept, len(self._points.at))
            return
        edge[:, 0] = np.where(low < bottom, low - (bottom - low) - MARGIN * inner, bottom)
        edge[last] = np.where(high > top, high + (high - top) + MARGIN * inner, top)
        self._lists.stale[:] = True

    def _lay_out(self, cells: Cells, x: Floats, room: int) -> None:
        """Put the window, whose values are `x`, into these cells and a ring of that size; nobody watches anything."""
        for part in (cells.filled, cells.start):
            part[:] = 0
        cells.watched[:] = NOBODY
        old, cell_count = self._points, len(cells.head)
        self._points = new_points(room, self.d, room // CHUNK + cell_count + cell_count // 8 + 4, self._numbers)
        self._cells = cells
        done = 0
        while done < len(x):
            done = put_all(old, self._points, cells, self._numbers, x, done)
            if done < len(x):
                self._points = more_chunks(self._points, self._numbers, len(self._points.following) // 24 + 4)
        self._influence = entries(len(self._influence.node), 2 * cell_count, self._numbers)
        self._lists.own[:] = NOBODY
        self._lists.stale[:] = True
        self._scratch = self._new_scratch()

    def _new_scratch(self) -> Scratch:
        nodes, best = 2 * len(self._cells.head), self._longest_list()
        return Scratch(
            np.empty(nodes),
            np.empty(nodes, np.int32),
            np.empty(best),
            np.empty(best, np.int64),
            np.empty(best, np.int32),
            np.empty(best, np.int32),
        )

    def _longest_list(self) -> int:
        queries, room = self.questions.columns, len(self._points.at)
        if not np.isnan(queries.threshold[queries.alive]).all():
            return room
        return int(min(room, queries.k[queries.alive].max(initial=1)))

    def _resize_lists(self) -> None:
        """Room for every query's list; what the lists hold stays."""
        queries, room, old = self.questions.columns, len(self._points.at), self._lists
        k = np.minimum(queries.k, room)
        wanted = np.where(np.isnan(queries.threshold) & queries.alive, self.list_room(k, room), 0)
        begin = np.concatenate(([0], np.cumsum(wanted)))
        if len(self._scratch.score) < self._longest_list():
            self._scratch = self._new_scratch()
        if np.array_equal(begin, old.begin):
            return
        new, known = new_lists(len(k), begin), len(old.own)
        for name in ("size", "floor", "whole", "stale", "own", "dense", "searched", "looked"):
            getattr(new, name)[:known] = getattr(old, name)
        for q in np.flatnonzero(old.size).tolist():
            source = slice(int(old.begin[q]), int(old.begin[q] + old.size[q]))
            target = slice(int(begin[q]), int(begin[q] + old.size[q]))
            for name in ("score", "number", "dominated"):
                getattr(new, name)[target] = getattr(old, name)[source]
        self._lists = new

    def list_room(self, k: Ints, room: int) -> Ints:
        raise NotImplementedError
