"""The meta query, section by section of mtops-cikm11 §4: which views are kept, with which k, and when they report."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.model import NEVER, MetaQuery, Query, meta as meta_module
from skyband.planner import families
from skyband.planner.families import KINDS
from tests.drawn import examples

STREAM = sb.Stream("s", time="ts")
pytestmark = pytest.mark.nojit


def meta_of(*frames: tuple[int, int, int], offset: tuple[int, ...] | None = None) -> MetaQuery:
    """The meta query of RANGE queries given as (win, slide, k)."""
    shifts = offset or (0,) * len(frames)
    members: list[Query] = [
        sb.TopK(f"q{number}", k, "x", f"{win} us", f"{slide} us", offset=f"{shift} us")
        for number, ((win, slide, k), shift) in enumerate(zip(frames, shifts, strict=True), 1)
    ]
    (family,) = families([STREAM], members, lambda text: text)
    return KINDS[family.data_model].meta(family)


def starts(meta: MetaQuery, now: int) -> list[int]:
    found: list[int] = meta.views(now)[0].tolist()
    return found


def reports(meta: MetaQuery, after: int, until: int) -> list[int]:
    """Distinct report moments of a stream with a record at every time."""
    found: list[int] = np.unique(meta.due_reports(np.arange(until), int(NEVER), after, until).end).tolist()
    return found


def test_4_1_varying_k_keeps_the_views_of_one_query_with_the_largest_k() -> None:
    together, alone = meta_of((8, 2, 3), (8, 2, 10), (8, 2, 7)), meta_of((8, 2, 10))
    assert starts(together, 8) == starts(alone, 8) == [0, 2, 4, 6, 8]
    assert together.views(8)[1].tolist() == [10] * 5
    assert together.views(8)[2] == 3 * alone.views(8)[2]
    assert reports(together, 8, 16) == reports(alone, 8, 16)


def test_4_2_varying_slides_example_4_1() -> None:
    meta = meta_of((8, 6, 3), (8, 2, 3), (8, 3, 3))
    assert starts(meta, 8) == [0, 2, 3, 4, 6, 8]
    assert reports(meta, 8, 14) == [10, 11, 12, 14]


def test_4_2_the_adaptive_slide_is_the_next_moment_of_any_query() -> None:
    meta = meta_of((30, 6, 1), (30, 10, 1), (30, 15, 1))
    assert reports(meta, 30, 60) == [36, 40, 42, 45, 48, 50, 54, 60]


def test_4_3_varying_windows_multiples_of_the_slide_need_only_the_longest() -> None:
    together, longest = meta_of((4, 2, 3), (8, 2, 3), (6, 2, 3)), meta_of((8, 2, 3))
    assert starts(together, 8) == starts(longest, 8)
    assert starts(together, 8)[:-1] == [0, 2, 4, 6]


def test_4_3_windows_that_are_no_multiples_of_the_slide() -> None:
    """The discussion's 6, 7 and 8 seconds: starts 0 to 4 serve one or two queries each. Ends are at even moments for
    6 and 8, so the 7 needs its starts at odd ones."""
    meta = meta_of((6, 2, 3), (7, 2, 3), (8, 2, 3), offset=(0, 1, 0))
    assert starts(meta, 8)[:5] == [0, 1, 2, 3, 4]


def test_4_4_varying_windows_and_slides_example_4_2() -> None:
    """Needs OFFSET 2 on the second query; 5 views against 6 kept apart, with the new ones at 8: 6 against 9."""
    meta = meta_of((8, 4, 2), (6, 3, 2), (4, 2, 2), offset=(0, 2, 0))
    kept, k, apart = meta.views(8)
    assert kept.tolist() == [0, 2, 4, 5, 6, 8]
    assert k.tolist() == [2] * 6
    assert apart == 9
    old = [start for beat in range(3) for start in starts(meta.beat(beat), 8) if start < 8]
    assert len(old) == 6
    assert len(set(old)) == 5


def test_4_5_the_adaptive_k_of_a_view_is_the_largest_it_serves() -> None:
    meta = meta_of((8, 4, 5), (6, 3, 2), (4, 2, 9), offset=(0, 2, 0))
    assert dict(zip(starts(meta, 8), meta.views(8)[1].tolist(), strict=True)) == {0: 5, 2: 2, 4: 9, 5: 2, 6: 9, 8: 9}


@examples(200)
@given(data=st.data())
def test_moments_and_openings_are_those_of_brute_force(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 4))
    frames = []
    for _ in range(count):
        win = data.draw(st.integers(1, 9))
        frames.append((win, data.draw(st.integers(1, win)), 1))
    meta = meta_of(*frames, offset=tuple(data.draw(st.integers(0, 9)) for _ in range(count)))
    times = np.array(sorted(data.draw(st.lists(st.integers(-30, 60), min_size=1, max_size=12))), np.int64)
    cut = data.draw(st.integers(0, len(times)))
    until = int(times[cut - 1]) + 1 if cut else -31
    expected = {
        (end - win, end, beat)
        for beat, (win, slide, _) in enumerate(frames)
        for end in range(-60, 90)
        if (end - int(meta.phase[beat])) % slide == 0 and ((times >= end - win) & (times < end)).any()
    }
    first, second = times[:cut], times[cut:]
    last = int(first[-1]) if cut else int(NEVER)
    early = meta.due_reports(first, int(NEVER), int(NEVER), until)
    late = meta.due_reports(second, last, until, 1_000)
    found = [
        (int(start), int(end), int(query))
        for part in (early, late)
        for start, end, query in zip(part.start, part.end, part.query, strict=True)
    ]
    assert sorted(found) == sorted(expected)
    assert [end for _, end, _ in found] == sorted(end for _, end, _ in found)
    opened = [np.stack(meta.openings(first, int(NEVER))), np.stack(meta.openings(second, last))]
    assert sorted(map(tuple, np.concatenate(opened, axis=1)[:2].T.tolist())) == sorted(
        (start, end) for start, end, _ in expected
    )


def test_records_are_needed_while_a_window_to_come_holds_them() -> None:
    one = np.array([1])
    meta = MetaQuery("rows", 2 * one, 2 * one, one, one, 0 * one)  # windows [-1, 1), [1, 3), ...
    assert meta.needed(np.array([0]), 1).tolist() == [False]
    assert meta.needed(np.array([0, 1]), 2).tolist() == [False, True]


@examples(200)
@given(data=st.data())
def test_what_is_needed_is_what_brute_force_finds(data: st.DataObject) -> None:
    """Also where a moment comes round less often than its window is long."""
    frames = data.draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 20), st.integers(0, 19)), min_size=1))
    width, period, phase = (np.array(column) for column in zip(*frames, strict=True))
    meta = MetaQuery("range", width, period, phase % period, np.ones_like(width), np.arange(len(width)))
    until = data.draw(st.integers(-30, 30))
    at = np.arange(until - 30, until)
    expected = [
        any(
            (end - shift) % step == 0 and end - win <= time < end
            for win, step, shift in frames
            for end in range(until + 1, until + 10)
        )
        for time in at.tolist()
    ]
    assert meta.needed(at, until).tolist() == expected


@examples(100)
@given(
    frames=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5)), min_size=1, max_size=4),
    first=st.integers(-30, 30),
    length=st.integers(0, 20),
)
def test_windows_between_two_times_are_those_of_brute_force(
    frames: list[tuple[int, int, int]], first: int, length: int
) -> None:
    meta, last = meta_of(*((win, min(win, slide), k) for win, slide, k in frames)), first + length
    expected = [
        (end - win, end, k)
        for beat, (win, slide, k) in enumerate(frames)
        for end in range(-60, 90)
        if (end - int(meta.phase[beat])) % min(win, slide) == 0 and end - win <= last and end > first
    ]
    found = meta.windows_between(first, last, most=1_000)
    assert found is not None
    assert sorted(zip(*(column.tolist() for column in found), strict=True)) == sorted(expected)
    assert meta.windows_between(first, last, most=0) is None


def test_a_thousand_coprime_slides_need_no_table_of_all_windows() -> None:
    """The cycle of all slides is far beyond memory; what is enumerated is what holds a record."""
    draw = np.random.default_rng(0)
    slides = draw.choice(np.arange(10_000, 100_000), 1_000, replace=False)
    meta = meta_of(*((1_000_000, int(slide), 10) for slide in slides))
    cycle = 1
    for slide in slides.tolist():
        cycle = cycle * slide // gcd(cycle, slide)
    assert cycle > 10**500
    few = meta.due_reports(np.arange(0, 1_000), int(NEVER), int(NEVER), 1_000)
    assert len(few) <= 1_000


def test_stretches_in_blocks_make_the_same_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day by the minute over a stream with a record every hour: all gaps are longer than a step."""
    steps = np.arange(1, 25) * 60
    one = np.ones(len(steps), np.int64)
    meta = MetaQuery("range", steps, 1_440 * one, steps % 1_440, 3 * one, 0 * one)
    at = np.arange(40) * 61
    whole, opened = meta.due_reports(at, -100, -50, 5_000), meta.openings(at, -100)
    monkeypatch.setattr(meta_module, "MOST_CELLS", 24)
    parts, opened_in_parts = meta.due_reports(at, -100, -50, 5_000), meta.openings(at, -100)
    assert [parts.start.tolist(), parts.end.tolist()] == [whole.start.tolist(), whole.end.tolist()]
    assert len(whole) > 40
    assert sorted(zip(*map(list, opened_in_parts), strict=True)) == sorted(zip(*map(list, opened), strict=True))
