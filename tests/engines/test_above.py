"""ABOVE: what belongs to thresholds alone."""

from __future__ import annotations

import numpy as np
import pytest

from skyband.engines.complete.above import Above
from skyband.model import MetaQuery, Records
from tests.engines.feeding import EVERYTHING, family

pytestmark = pytest.mark.nojit


def reports(meta: MetaQuery, score: list[float]) -> list[list[float]]:
    at = np.arange(len(score))
    answers = Above(meta).advance(Records(at, np.array(score)), meta.due_reports(at, -1, 0, len(score)))
    return [answers.score[answers[i]].tolist() for i in range(len(answers))]


def test_the_threshold_itself_is_not_above() -> None:
    assert reports(family([(3, 3, 0, EVERYTHING)], [2.0]), [2.0, 2.5, 1.0]) == [[2.5]]


def test_ascending_turns_the_ranking_and_not_the_threshold() -> None:
    """ORDER BY x ASC feeds -x; ABOVE 2 still means x > 2, the smallest such x first."""
    assert reports(family([(4, 4, 0, EVERYTHING)], [2.0], ascending=True), [-1.0, -9.0, -3.0, -2.0]) == [[-3.0, -9.0]]


def test_all_beats_of_a_query_have_its_threshold() -> None:
    """A FREQUENCY plan may need two beats for the first query; rows name the query, not the beat."""
    beats = [(4, 4, 0, EVERYTHING), (4, 4, 2, EVERYTHING), (4, 4, 0, EVERYTHING)]
    apart = family(beats, [5.0, 5.0, 1.0])
    meta = MetaQuery(apart.kind, apart.width, apart.period, apart.phase, apart.k, np.array([0, 0, 1]), apart.threshold)
    assert reports(meta, [6.0, 2.0, 7.0, 3.0]) == [[6.0], [7.0, 6.0], [7.0, 6.0, 3.0, 2.0]]


def test_a_record_stays_only_for_windows_whose_threshold_it_exceeds() -> None:
    """The long window wants scores above 8, the short one above 1: an old 5 is nobody's."""
    meta = family([(100, 1, 0, EVERYTHING), (3, 1, 0, EVERYTHING)], [8.0, 1.0])
    at, score = np.arange(6), np.array([5.0, 9.0, 0.0, 5.0, 5.0, 5.0])
    engine = Above(meta)
    engine.advance(Records(at, score), meta.due_reports(at, -1, 0, 6))
    assert engine.candidates().tolist() == [1, 4, 5]


def test_top_queries_are_not_for_it() -> None:
    with pytest.raises(AssertionError, match="TOP"):
        Above(family([(3, 1, 0, 2)]))
