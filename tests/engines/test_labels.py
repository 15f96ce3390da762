"""Engines for complete data know records by numbers and tell labels, however these go on from record to record."""

from __future__ import annotations

import numpy as np
import pytest

from skyband.engines.base import AnyEngine, registered
from skyband.engines.candidates import CandidateEngine
from skyband.engines.complete.panes import Panes
from skyband.engines.complete.shared import Shared
from skyband.model import Ints, MetaQuery, Records

META = MetaQuery("range", np.array([30, 12]), np.array([3, 5]), np.array([0, 1]), np.array([4, 2]), np.array([0, 1]))
SCORE = np.random.default_rng(7).integers(0, 40, 120).astype(np.float64)
ENGINES = [Panes, Shared]
STEP = 10


def labels(turns_at: int) -> Ints:
    """The numbers of the records, and from one of them on something else."""
    number = np.arange(len(SCORE))
    return np.where(number < turns_at, number, 5_000 - number)


def answered(engine: AnyEngine, label: Ints | None, rebuilt_at: int = -1) -> tuple[list[list[int]], list[Ints]]:
    """Lists of all reports, by label, and what is held after every batch."""
    found, held, at = list[list[int]](), list[Ints](), np.arange(len(SCORE))
    for low in range(0, len(SCORE), STEP):
        part = slice(low, low + STEP)
        if low == rebuilt_at:
            engine.rebuild(engine.held(), low)
        due = META.due_reports(at[part], low - 1 if low else -(2**62), low, low + STEP)
        answers = engine.advance(Records(at[part], SCORE[part], None if label is None else label[part]), due)
        found += [answers.id[answers[place]].tolist() for place in range(len(answers))]
        held.append(engine.candidates())
    return found, held


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("turns_at", [0, 1, 10, 37, 60, 119, 120])
def test_labels_may_begin_as_numbers(engine: type[CandidateEngine], turns_at: int) -> None:
    label = labels(turns_at)
    numbers, kept = answered(engine(META), None)
    lists, held = answered(engine(META), label)
    assert lists == [label[each].tolist() for each in numbers]
    assert [each.tolist() for each in held] == [np.sort(label[each]).tolist() for each in kept]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("turns_at", [0, 37, 60, 120])
def test_what_is_rebuilt_keeps_its_labels(engine: type[CandidateEngine], turns_at: int) -> None:
    label = labels(turns_at)
    lists, held = answered(engine(META), label)
    again, now = answered(engine(META), label, rebuilt_at=50)
    assert again == lists
    assert [each.tolist() for each in now] == [each.tolist() for each in held]


def test_numbers_are_not_kept_as_labels() -> None:
    """All that a batch of many queries spent on names was looking up in them the numbers that it had."""
    engine = Shared(META)
    answered(engine, labels(120))
    assert engine._label is None
    begun = Shared(META)
    begun.rebuild(Records(np.arange(30), SCORE[:30], np.arange(30)), 30)
    assert begun._label is None
    assert begun.candidates().tolist() == begun.kept().id.tolist()


RISING, DRAW = np.arange(len(SCORE)), np.random.default_rng(3)
LABELS = {
    "the numbers themselves": RISING,
    "from elsewhere on": RISING + 70,
    "with a gap": np.where(RISING < 50, RISING + 70, RISING + 95),
    "with a gap within a batch": np.where(RISING < 55, RISING + 70, RISING + 95),
    "one later, then in any order": np.concatenate((RISING[:60] + 70, 230 + DRAW.permutation(len(SCORE) - 60))),
    "in any order": DRAW.permutation(len(SCORE)),
}


@pytest.mark.parametrize("rebuilt_at", [-1, 40, 80])
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", ["shared", "sap", "panes"])
def test_answers_and_candidates_carry_the_labels_given(name: str, kind: str, rebuilt_at: int) -> None:
    label, build = LABELS[kind], registered("complete")[name].build
    numbers, kept = answered(build(META), None)
    lists, held = answered(build(META), label, rebuilt_at)
    assert lists == [label[each].tolist() for each in numbers]
    assert [each.tolist() for each in held] == [np.sort(label[each]).tolist() for each in kept]
