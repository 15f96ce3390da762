"""Dropping uncertain records before their windows are known changes no probability that anyone could see."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.pruning import prune_worlds
from skyband.engines.uncertain.pk_topk import PkTopk, Tuples
from skyband.model import DueReports, Floats, Ints, MetaQuery, Using
from skyband.model.times import Times

N, PANE = 3_000, 500
ENDS = np.arange(PANE, N + 1, PANE)


def family(using: Using, k: int = 7) -> MetaQuery:
    one = np.array([0])
    return MetaQuery("range", one + 4 * PANE, one + PANE, one, one + k, one, using=(using,))


def stream(ruled: bool) -> tuple[Ints, Floats, Floats, Ints]:
    draw = np.random.default_rng(6)
    rule = np.where(draw.random(N) < 0.3, draw.integers(0, 400, N), NO_RULE) if ruled else np.full(N, NO_RULE)
    return np.arange(N), draw.integers(0, 300, N).astype(float), 1 - draw.random(N), rule


def answers(
    meta: MetaQuery, at: Ints, score: Floats, p: Floats, rule: Ints, end: Ints = ENDS
) -> list[tuple[list[int], Floats]]:
    due = DueReports(end - 4 * PANE, end, np.full(len(end), int(meta.k[0])), np.zeros(len(end), np.int64), N)
    found = PkTopk(meta).advance(Tuples(at, at, score, p, rule, np.arange(len(at)), rule), due)
    parts = [slice(begin, begin + size) for begin, size in zip(found.begin, found.size, strict=True)]
    return [(found.id[part].tolist(), found.score[part]) for part in parts]


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("using", [Using(), Using("PT_K", 0.01)])
def test_nothing_seen_changes(ruled: bool, using: Using) -> None:
    meta, (at, score, p, rule) = family(using), stream(ruled)
    kept = prune_worlds(meta, Times(at), score, p, rule)
    assert len(kept) < 0.7 * N if ruled else len(kept) < 0.2 * N
    assert set(np.flatnonzero(rule != NO_RULE).tolist()) <= set(kept.tolist())
    whole, part = answers(meta, at, score, p, rule), answers(meta, at[kept], score[kept], p[kept], rule[kept])
    for (ids, values), (others, few) in zip(whole, part, strict=True):
        assert ids == others
        np.testing.assert_allclose(values, few, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["U_TOPK", "U_KRANKS", "EXPECTED_RANK", "PK_STREAMS"])
def test_other_semantics_need_every_record(name: str) -> None:
    at, score, p, rule = stream(False)
    assert len(prune_worlds(family(Using(name)), Times(at), score, p, rule)) == N


def test_sure_records_in_one_pane() -> None:
    """Of records that surely exist at most the k best of each pane matter, and ties with the last of them."""
    at, score, _, rule = stream(False)
    kept = prune_worlds(family(Using(), k=1), Times(at), score, np.ones(N), rule)
    best = pa.table({"pane": at // PANE, "score": score}).group_by("pane").aggregate([("score", "max")])
    highest = dict(zip(best["pane"].to_pylist(), best["score_max"].to_pylist(), strict=True))
    assert set(kept.tolist()) <= {i for i in range(N) if score[i] == highest[i // PANE]}
    everywhere = score == score.max()
    assert set(np.flatnonzero(everywhere).tolist()) <= set(kept.tolist())


@pytest.mark.parametrize("ruled", [False, True])
def test_for_any_moment_whatever(ruled: bool) -> None:
    """Without panes, as where a plan may change: reports at odd moments see no difference either."""
    meta, (at, score, p, rule) = family(Using()), stream(ruled)
    kept = prune_worlds(meta, Times(at, aligned=False), score, p, rule)
    assert len(kept) < 0.7 * N if ruled else len(kept) < 0.5 * N
    odd = np.array([37, 501, 777, 1_313, 2_001, 2_222, 2_990])
    whole, part = answers(meta, at, score, p, rule, odd), answers(meta, at[kept], score[kept], p[kept], rule[kept], odd)
    for (ids, values), (others, few) in zip(whole, part, strict=True):
        assert ids == others
        np.testing.assert_allclose(values, few, rtol=0, atol=1e-13)
