"""Chains of partial aggregates against running totals, where marks rise and fall and nothing fits at first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from skyband.engines.groups.totals import RunningTotals
from skyband.model import Answers, Ints, MetaQuery
from skyband.model.partials import COUNT, Asked, Partials
from tests.engines.conformance.groups import Score

WIDTHS = np.array([40, 40, 70, 150, 151, 400, 1_000, 1_000])
PERIODS = np.array([40, 10, 35, 50, 50, 100, 250, 20])


@dataclass(frozen=True)
class Unchained(Score):
    """The same scores, which boards have to find."""

    def gains(self, added: Mapping[str, Ints]) -> Ints | None:
        return None


def engine(most: int) -> RunningTotals:
    k = np.array([1, 3, most, 2, 7, 5, most, 4])
    queries = np.arange(len(k))
    asked = Asked(np.full(len(k), -1), np.zeros(len(k), bool))
    return RunningTotals(MetaQuery("range", WIDTHS, PERIODS, np.zeros(len(k), np.int64), k, queries, asked=asked))


def answered(kept: RunningTotals, rules: Score, at: Ints, group: Ints, value: Ints, pushes: int) -> list[list[object]]:
    found: list[list[object]] = []
    previous, before = -(2**62), -1
    for part in np.array_split(np.arange(len(at)), pushes):
        one = np.ones(len(part), np.int64)
        batch = Partials(part, at[part], group[part], {COUNT: one, "s0.0": value[part]}, rules=rules)
        until = int(at[part[-1]])
        due = kept.meta.due_reports(at[part], previous, before, until)
        answers: Answers = kept.advance(batch, due)
        previous = before = until
        assert answers.listed is not None or not len(due)
        for number in range(len(due)):
            entries = answers[number]
            count = [] if answers.listed is None else answers.listed.totals.added[COUNT][entries].tolist()
            found.append([answers.id[entries].tolist(), answers.score[entries].tolist(), count])
    return found


@pytest.mark.parametrize("function", ["SUM", "COUNT"])
@pytest.mark.parametrize("pushes", [1, 40])
@pytest.mark.parametrize(("groups", "most"), [(30, 4), (2_000, 20), (2_000, 5_000)])
def test_chains_and_boards_say_the_same(groups: int, most: int, pushes: int, function: str) -> None:
    """Values rise, fall to nothing and rise again, so marks are found too low and too high."""
    draw = np.random.default_rng(groups + most)
    at = np.sort(draw.integers(0, 8_000, 20_000))
    group = draw.zipf(1.3, len(at)) % groups
    value = (1_000 * (1 + np.sin(at / 700))).astype(np.int64) * draw.integers(0, 3, len(at))
    order = np.lexsort((-group, at))
    at, group, value = at[order], group[order], value[order]
    chained, plain = engine(most), engine(most)
    one = answered(chained, Score(function), at, group, value, pushes)
    other = answered(plain, Unchained(function), at, group, value, pushes)
    assert one == other
    assert len(one) > 1_000
    assert chained._chains is not None
    assert plain._chains is None


def test_a_negative_gain_is_left_to_boards() -> None:
    """From then on, with all that came before."""
    at, group = np.arange(3_000), np.arange(3_000) % 7
    value = np.where(np.arange(3_000) == 2_000, -5_000, 3)
    both = [answered(engine(3), rules, at, group, value, 30) for rules in (Score("SUM"), Unchained("SUM"))]
    assert both[0] == both[1]


def test_windows_of_many_lengths_share_a_walk() -> None:
    """Twenty of them take a fraction of the steps that twenty engines take."""
    draw = np.random.default_rng(1)
    at, group, value = np.arange(50_000), draw.integers(0, 5_000, 50_000), draw.integers(0, 100, 50_000)

    def steps(widths: Ints) -> int:
        none = np.zeros(len(widths), np.int64)
        asked = Asked(none - 1, none > 0)
        meta = MetaQuery("range", widths, none + 500, none, none + 10, np.arange(len(widths)), asked=asked)
        kept = RunningTotals(meta)
        answered(kept, Score("SUM"), at, group, value, 10)
        assert kept._chains is not None
        return kept._chains.steps

    widths = np.arange(500, 10_001, 500)
    assert steps(widths) < 0.5 * sum(steps(widths[[i]]) for i in range(len(widths)))
