"""Adding and removing queries of an uncertain family: no query ever waits longer than its FREQUENCY."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, strategies as st

import skyband as sb
from skyband.model import NEVER
from skyband.planner import PlannedFamily
from skyband.planner.transition import Beats, Pending, beats_of, still_pending, transition
from tests.drawn import examples

STREAM = sb.Stream("s", time="ts", probability="p")
AT = np.arange(0, 400)


@st.composite
def query_lists(draw: st.DrawFn) -> list[sb.TopK]:
    pairs = draw(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9)), min_size=1, max_size=6, unique=True))
    return [sb.TopK(f"q{f}_{k}", k=k, by="x", window="30 us", frequency=f"{f} us") for f, k in pairs]


def planned(queries: list[sb.TopK]) -> PlannedFamily:
    (family,) = sb.Workload(queries, stream=STREAM).plan().families
    return family


@examples(200)
@given(first=query_lists(), second=query_lists(), third=query_lists(), cuts=st.tuples(*[st.integers(40, 300)] * 2))
def test_no_gap_is_longer_than_asked(
    first: list[sb.TopK], second: list[sb.TopK], third: list[sb.TopK], cuts: tuple[int, int]
) -> None:
    always = sb.TopK("always", k=3, by="x", window="30 us", frequency="7 us")
    earlier: dict[str, Pending] = {}
    beats: Beats = {}
    ends: list[int] = []
    clock = int(NEVER)
    for queries, until in zip((first, second, third), (*sorted(cuts), 400), strict=True):
        family = planned([always, *queries])
        waiting = still_pending(earlier, beats, family, {"": clock})
        change = transition(waiting.get("", {}), family)
        due = family.meta.due_reports(AT, int(NEVER), clock, until)
        if change is not None:
            due = change.due_reports(due, AT, int(NEVER), clock, None)
        assert (np.diff(due.end) >= 0).all()
        ends += due.end[due.query == 0].tolist()
        (earlier, beats), clock = json.loads(json.dumps([waiting, beats_of(family)])), until
    assert ends == sorted(set(ends))
    assert max(np.diff(ends)) <= 7
    assert 400 - ends[-1] < 7 + 1


def test_a_query_stays_with_its_old_plan_until_the_cycle_ends() -> None:
    """With f = 2 and 5 the second is executed every 4; with f = 3 in place of 2, every 3, from 12 on."""
    frames = {"a": (2, 3), "b": (3, 4), "c": (5, 9)}
    a, b, c = (
        sb.TopK(name, k=k, by="x", window="20 us", frequency=f"{f} us", stream="s") for name, (f, k) in frames.items()
    )
    before, after = planned([a, c]), planned([c, b])
    waiting = still_pending({}, beats_of(before), after, {"": 9})
    assert waiting == {"": {str(c): [12, [[4, 0]]]}}
    assert beats_of(after)[str(c)] == [[3, 0]]
    change = transition(waiting[""], after)
    assert change is not None
    assert not change.over(11)
    assert change.over(12)
    due = change.due_reports(after.meta.due_reports(AT, int(NEVER), 9, 20), AT, int(NEVER), 9, None)
    assert due.end[due.query == 0].tolist() == [12, 15, 18]
    assert still_pending({}, beats_of(before), before, {"": 9}) == {}
    assert still_pending(waiting, beats_of(after), after, {"": 12}) == {}
    assert transition({}, after) is None
