"""Engines that know one key, behind a face that takes a second: against sorting, and with no room left for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.engines.base import AnyEngine, registered
from skyband.engines.complete.panes import Panes
from skyband.engines.second_key import NumberedPairs, Pairs, by_second_key, dense_ranks
from skyband.model import Keys, MetaQuery, Records
from skyband.runtime.data_models.second_key import rising_integers
from tests.drawn import examples
from tests.engines.conformance.complete import GREATEST, LEAST, CompleteCase, workloads
from tests.engines.conformance.desk import Build, Subject, builder
from tests.engines.feeding import family

NAMES = [name for name, known in registered().items() if known.capabilities.integer_keys]
WHOLE, DOUBLES = [LEAST, -1, 0, 1, GREATEST], [np.nan, -np.inf, -1.0, 0.0, 1.0, np.inf]


def faced(name: str) -> Build:
    """An engine as a family with a second key gets it; `panes`, which takes one itself, as if it did not."""

    def build(meta: MetaQuery) -> AnyEngine:
        if name == "panes":
            return NumberedPairs(Panes(meta))
        return by_second_key(meta, lambda: builder(name)(meta))

    return build


@st.composite
def cases(draw: st.DrawFn, name: str) -> CompleteCase:
    """Few scores, so that most are equal, and second keys of either type. WITH TIES looks at the score alone, and who
    counts categories takes a second key itself."""
    case = draw(workloads([name], late=True, tied=False))
    case = replace(case, meta=replace(case.meta, ties=False, at_most=None), category=None)
    values: list[Any] = draw(st.sampled_from([WHOLE, DOUBLES]))
    second: Keys = np.array([draw(st.sampled_from(values)) for _ in case.at], np.array(values).dtype)
    return replace(case, score=np.minimum(case.score, case.score.dtype.type(1)), second=second)


@pytest.mark.parametrize("name", NAMES)
@examples(40)
@given(data=st.data())
def test_every_list_is_what_sorting_says(name: str, data: st.DataObject) -> None:
    case = data.draw(cases(name))
    subject, arrived = Subject(case, faced(name)), np.empty(0, np.int64)
    for until, late, in_time in case.calls():
        if len(late):
            subject.admit(late)
        after, arrived = subject.until, np.union1d(np.union1d(arrived, late), in_time)
        found = subject.advance(in_time, until)
        subject.engine.check()  # type: ignore[attr-defined]
        for (query, end), listed in found.items():
            start = end - int(case.meta.width[query])
            inside = arrived[(case.at[arrived] >= start) & (case.at[arrived] < end)]
            assert [number for number, _ in listed] == case.best(query, inside).tolist(), (query, end, after)
        if data.draw(st.booleans()):
            subject = subject.successor(faced(name))


def test_numbers_are_given_anew_where_there_is_no_room_between_two() -> None:
    """Every pair lies between the two before it, so each halves the room; nobody notices."""
    meta = family([(1_000, 1, 0, 3)], kind="rows")
    engine = NumberedPairs(builder("shared")(meta))
    plain, low, high, anew = Panes(meta), 0.0, 1.0, 0
    for number in range(300):
        middle = (low + high) / 2 if number % 100 > 1 else float(number % 100)
        low, high = (middle, high) if number % 2 else (low, middle)
        if number % 100 == 1:
            low, high = 0.0, 1.0
        records = Records(np.array([number]), np.ones(1), np.array([number]), np.array([middle]))
        before = engine._pairs
        due = meta.due_reports(records.at, number - 1, number, number + 1)
        answers, expected = engine.advance(records, due), plain.advance(records, due)
        assert answers.id.tolist() == expected.id.tolist()
        assert answers.score.tolist() == expected.score.tolist()
        anew += before is not None and engine._pairs is not before
        engine.check()
    assert anew > 0


def test_pairs_that_nothing_holds_are_forgotten() -> None:
    meta = family([(10, 1, 0, 1)], kind="rows")
    engine = NumberedPairs(builder("shared")(meta))
    for number in range(100):
        at = np.arange(100 * number, 100 * number + 100)
        records = Records(at, at % 7, at, at)
        engine.advance(records, meta.due_reports(at, int(at[0]) - 1, int(at[0]), int(at[-1]) + 1))
    assert engine._pairs is not None
    assert len(engine._pairs) < 2_000


@pytest.mark.parametrize(
    "second", [np.array([3, LEAST, GREATEST, 3, 3, 0]), np.array([3, np.nan, np.inf, 3, 3, -np.inf])]
)
def test_pairs_are_numbered_in_their_order(second: Keys) -> None:
    score = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 0.0])
    assert dense_ranks(score, second).tolist() == [2, 1, 3, 4, 2, 0]
    numbers = Pairs(score[:3], second[:3]).add(score, second)
    assert numbers is not None
    assert np.unique(numbers, return_inverse=True)[1].tolist() == [2, 1, 3, 4, 2, 0]


@given(st.lists(st.floats(allow_nan=False), max_size=20))
def test_integers_that_stand_for_doubles_are_in_their_order(scores: Sequence[float]) -> None:
    found = rising_integers(np.array(scores, float))
    assert dense_ranks(found, None).tolist() == dense_ranks(np.array(scores, float), None).tolist()
