"""How many candidates theory lets an engine keep, and how many it keeps."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from skyband.engines.base import registered
from skyband.model import Records
from tests.engines.feeding import Feed, case_of, family

N, S, K = 105_000, 105, 100


def mean_kept(name: str, slides: int) -> float:
    """Candidates at slide ends on uniform scores, after one window of warm-up."""
    meta = family([(N, S, 0, K)], kind="rows")
    engine = registered()[name].build(meta)
    score = np.random.default_rng(2026).random(N + slides * S)
    at = np.arange(len(score))
    engine.advance(Records(at[:N], score[:N]), meta.due_reports(at[:N], -1, 0, N))
    kept = []
    for begin in range(N, len(score), S):
        part = slice(begin, begin + S)
        engine.advance(Records(at[part], score[part]), meta.due_reports(at[part], begin - 1, begin, begin + S))
        kept.append(engine.counters["candidates"])
    return float(np.mean(kept))


@pytest.mark.slow
def test_mintopk_keeps_what_theory_says_on_uniform_scores() -> None:
    """k · H(n / s): of slide number i from the newest, a record stays if it is among the best k of i slides."""
    theory = K * sum(1 / i for i in range(1, N // S + 1))
    assert theory == pytest.approx(748.5, abs=0.1)
    assert mean_kept("mintopk", 3_000) == pytest.approx(theory, rel=0.02)


@pytest.mark.slow
def test_kskyband_keeps_more_because_it_does_not_know_slides() -> None:
    """k (1 + H(n) - H(k)): record number i from the newest stays if it is among the best k of i records."""
    assert mean_kept("kskyband", 3_000) == pytest.approx(K * (1 + log(N / K)), rel=0.02)


@pytest.mark.parametrize("name", ["kskyband", "mintopk", "mtopband", "mtoplist"])
def test_most_records_cost_one_comparison_and_no_insertion(name: str) -> None:
    n = 100_000
    case = case_of(family([(50_000, 5_000, 0, 10)]), np.arange(n), np.random.default_rng(3).random(n), (n,))
    work = Feed(case, name).run(range(5_000, n + 1, 5_000)).subject.engine.counters
    assert work["comparisons"] <= 1.05 * n
    assert work["insertions"] <= 0.02 * n
