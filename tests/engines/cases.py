"""Random families and streams: ties, infinities, gaps, bursts, k above the window, one-record panes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from skyband.model import Kind
from tests.engines.feeding import EVERYTHING, Beat, Case, family

WIDEST = 24
SCORES = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-10, 10, width=16),
    st.sampled_from([np.inf, -np.inf, 0.0, -0.0]),
)
GAPS = st.sampled_from([0, 0, 0, 1, 1, 1, 1, 2, 3, WIDEST - 1, WIDEST, WIDEST + 1, 5 * WIDEST])


@st.composite
def beats(draw: st.DrawFn, k: st.SearchStrategy[int]) -> Beat:
    width = draw(st.integers(1, WIDEST))
    # One moment of a FREQUENCY plan may come round less often than the window is long.
    period = draw(st.one_of(st.integers(1, width), st.integers(1, width), st.integers(1, 2 * WIDEST)))
    return width, period, draw(st.integers(0, period - 1)), draw(k)


@st.composite
def streams(draw: st.DrawFn, kind: Kind) -> tuple[list[int], list[float]]:
    score = draw(st.lists(SCORES, max_size=60))
    if kind == "rows":
        return list(range(len(score))), score
    gaps = draw(st.lists(GAPS, min_size=len(score), max_size=len(score)))
    begin = draw(st.integers(-50, 50))
    return [begin + int(at) for at in np.cumsum(gaps)], score


@st.composite
def clocks(draw: st.DrawFn, at: list[int]) -> tuple[int, ...]:
    """Rising moments; the last is after all records, and sometimes after all their windows."""
    first, last = (at[0], at[-1]) if at else (0, 0)
    final = last + 1 + draw(st.sampled_from([0, 1, WIDEST // 2, 3 * WIDEST]))
    middle = draw(st.lists(st.integers(first - 2, final), max_size=6))
    return (*sorted(set(middle) - {final}), final)


@st.composite
def cases(draw: st.DrawFn, thresholds: bool, most_beats: int, kinds: tuple[Kind, ...]) -> Case:
    kind = draw(st.sampled_from(kinds))
    several = st.integers(1, 3) | st.integers(1, most_beats)
    k = st.just(EVERYTHING) if thresholds else st.integers(1, 3) | st.sampled_from([8, 30, EVERYTHING])
    n = min(draw(several), most_beats)
    members = draw(st.lists(beats(k), min_size=n, max_size=n))
    levels = draw(st.lists(st.integers(-3, 3).map(float), min_size=n, max_size=n)) if thresholds else None
    meta = family(members, levels, thresholds and draw(st.booleans()), kind)
    at, score = draw(streams(kind))
    return Case(meta, np.array(at, np.int64), np.array(score, np.float64), draw(clocks(at)))
