"""`shared`: partitions cut in all positions, streams of every shape, restores and late records in the middle; and the
work it may do, by its counters."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from skyband.engines.complete.shared import Shared
from skyband.engines.kernels.common.order_key import no_floor
from skyband.engines.kernels.shared.rank import Hits, rank_hits
from skyband.engines.kernels.shared.scan import (
    BLOCK,
    block_top,
    falls,
    new_gauge,
    note_peaks,
    scan_back,
    scan_blocks,
)
from skyband.model import Floats, Ints, Kind, MetaQuery, Records
from skyband.model.types import Keys
from tests.engines.conformance.complete import Complete, CompleteCase
from tests.engines.conformance.desk import Build, Desk, Subject
from tests.engines.feeding import EVERYTHING, Answered, Beat, Feed, case_of, expected, family
from tests.engines.shapes import INTEGERS

N = 2_000
SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "uniform": lambda random, n: random.random(n),
    "falling": lambda random, n: -np.arange(n, dtype=np.float64),
    "rising": lambda random, n: np.arange(n, dtype=np.float64),
    "sine": lambda random, n: np.sin(np.arange(n) / 150),
    "bursts": lambda random, n: random.random(n) + 5.0 * (np.arange(n) % 700 < 25),
    "ties": lambda random, n: random.integers(0, 4, n).astype(np.float64),
    "equal": lambda random, n: np.full(n, 1.5),
    "infinite": lambda random, n: random.choice(np.array([-np.inf, np.inf, 0.0, -0.0]), n),
    "saw": lambda random, n: -(np.arange(n, dtype=np.float64) % 97),
}
EITHER: dict[str, Callable[[np.random.Generator, int], Keys]] = {**SHAPES, **INTEGERS}
FAMILIES: dict[str, list[Beat]] = {
    "one query": [(500, 50, 0, 10)],
    "every record": [(400, 1, 0, 7)],
    "coprime": [(500, 37, 5, 3), (333, 41, 0, 20), (47, 11, 3, 1)],
    "tiny and huge": [(1_000, 100, 0, 40), (6, 2, 1, 2), (90, 90, 0, 90)],
    "k above the partition": [(300, 30, 0, 200), (120, 7, 1, 60)],
    "everything": [(200, 25, 0, EVERYTHING), (300, 40, 0, 2)],
    "tumbling": [(256, 256, 0, 5)],
    "gaps between windows": [(20, 90, 3, 4), (35, 50, 0, 8)],
}


def small(partitions: int, least: int) -> Build:
    """`shared` with partitions so small that a short stream has many."""
    return lambda meta: Shared(meta, partitions, least)


def stream(shape: str, kind: Kind, seed: int = 3, n: int = N) -> tuple[Ints, Keys]:
    random = np.random.default_rng(seed)
    gaps = random.choice([0, 0, 1, 1, 1, 2, 3, 60], n) if kind == "range" else np.ones(n, np.int64)
    return np.cumsum(gaps) - int(gaps[0]), EITHER[shape](random, n)


@pytest.mark.parametrize("size", [(16, 1024), (5, 8), (40, 3)], ids=str)
@pytest.mark.parametrize("beats", FAMILIES.values(), ids=FAMILIES.keys())
@pytest.mark.parametrize("shape", EITHER)
@pytest.mark.parametrize("kind", ["rows", "range"])
def test_answers_are_right_wherever_partitions_are_cut(
    kind: Kind, shape: str, beats: list[Beat], size: tuple[int, int]
) -> None:
    at, score = stream(shape, kind)
    random = np.random.default_rng(sum(size))
    last = int(at[-1]) + 1
    untils = (*sorted({int(u) for u in random.integers(1, last, 12)} - {last}), last)
    case = case_of(family(beats, kind=kind), at, score, untils)
    feed = Feed(case, small(*size))
    plain = Feed(case, "mtoplist")
    for i, until in enumerate(untils):
        feed.advance(until)
        plain.advance(until)
        assert set(feed.candidates()) >= set(plain.candidates())
        if i % 4 == 1:
            feed.move_to(small(*size))
    assert feed.answered == plain.answered == truth(shape, kind, tuple(beats))


@lru_cache(maxsize=1)
def truth(shape: str, kind: Kind, beats: tuple[Beat, ...]) -> Answered:
    """The same however partitions are cut, which is what changes from test to test."""
    at, score = stream(shape, kind)
    return expected(case_of(family(beats, kind=kind), at, score, [int(at[-1]) + 1]))


@pytest.mark.parametrize("batch", [130, 777, 5_000])
@pytest.mark.parametrize("shape", [*EITHER, "nearly falling", "falls and rises"])
def test_blocks_and_runs_that_go_over_calls(shape: str, batch: int) -> None:
    """Slides of several blocks, calls that end inside one, and a pool that goes round many times."""
    n = 20_000
    random = np.random.default_rng(batch)
    score: Keys
    if shape == "nearly falling":
        at, score = np.arange(n), -np.arange(n, dtype=np.float64)
        score[random.integers(0, n, 40)] += 3.0
    elif shape == "falls and rises":
        at, score = np.arange(n), np.abs(np.arange(n) % 5_000 - 2_600.0)
    else:
        at, score = stream(shape, "rows", n=n)
    beats = [(4_000, 200, 0, 12), (1_500, 333, 7, 40)]
    case = case_of(family(beats, kind="rows"), at, score, (*range(batch, n, batch), n))
    feed = Feed(case, small(6, 100))
    for until in case.untils:
        feed.advance(until)
    assert feed.answered == expected(case)


@pytest.mark.parametrize("seed", range(6))
def test_late_records_and_engines_that_take_over_in_the_middle(seed: int) -> None:
    random = np.random.default_rng(seed)
    at = np.sort(random.integers(0, 900, 750))
    late = np.where(random.random(750) < 0.07, random.integers(1, 3, 750), 0)
    meta = family([(300, 20, 0, 5), (170, 13, 4, 30), (40, 1, 0, 2)])
    case = CompleteCase(meta, at, (*range(150, 901, 150), 1_300), late, random.integers(0, 60, 750).astype(float))
    desk = Desk(Complete(), case, Subject(case, small(8, 16)))

    def rebuild(call: int) -> None:
        if call and random.random() < 0.5:
            desk.subject = desk.subject.successor(small(8, 16))

    assert desk.run(rebuild).answered


@pytest.mark.parametrize("name", ["one query", "coprime", "every record"])
def test_one_query_keeps_the_minimal_set_and_many_hardly_more(name: str) -> None:
    at, score = stream("uniform", "rows")
    case = case_of(family(FAMILIES[name], kind="rows"), at, score, (700, 1_400, N))
    shared, plain = Feed(case, small(16, 8)), Feed(case, "mtoplist")
    for until in case.untils:
        shared.advance(until)
        plain.advance(until)
        if len(case.meta) == 1:
            assert shared.candidates() == plain.candidates()
        else:
            assert len(shared.candidates()) <= 3 * len(plain.candidates())


def fed(meta: MetaQuery, score: Floats, batch: int, partitions: int = 0) -> Shared:
    engine = Shared(meta, partitions)
    at = np.arange(len(score))
    for low in range(0, len(score), batch):
        part = slice(low, min(low + batch, len(score)))
        due = meta.due_reports(at[part], low - 1, low, part.stop)
        engine.advance(Records(at[part], score[part]), due)
    return engine


@pytest.mark.parametrize("batch", [1_000, 40_000, 400_000])
def test_most_records_are_never_looked_at_singly(batch: int) -> None:
    n = 400_000
    work = fed(family([(100_000, 1_000, 0, 50)], kind="rows"), np.random.default_rng(1).random(n), batch).counters
    assert work["insertions"] <= 0.04 * n
    # Once at a report; at the close only blocks whose best is above the floor.
    assert n <= work["comparisons"] <= 1.75 * n


def test_a_partition_is_scanned_once_and_merges_are_few() -> None:
    n = 300_000
    meta = family([(60_000, 777, 0, 20), (31_000, 500, 0, 40)], kind="rows")
    work = fed(meta, np.random.default_rng(2).random(n), 10_000).counters
    assert work["scans"] <= work["partitions"] <= n / (60_000 / 8) + 1
    assert work["merges"] <= 10 * work["partitions"]
    assert work["direct"] == 0


def test_many_windows_of_few_records_are_not_looked_through_one_by_one() -> None:
    """As they are behind prune: the shortest of these windows holds 600 records."""
    n, draw = 24_000, np.random.default_rng(6)
    widths = draw.integers(600, 1_200, 50).tolist()
    meta = family([(width, width // 100, 0, 10 + width // 24) for width in widths])
    work = fed(meta, draw.random(n), n).counters
    assert work["direct"] == 0
    assert work["comparisons"] <= 5 * n


def test_fine_slides_cost_no_more_scans_and_repeat_their_answers() -> None:
    n = 200_000
    score = np.random.default_rng(3).random(n)
    coarse, fine = (fed(family([(50_000, slide, 0, 20)], kind="rows"), score, n).counters for slide in (5_000, 1))
    assert fine["scans"] == coarse["scans"]
    assert fine["insertions"] <= 1.2 * coarse["insertions"]
    assert fine["repeats"] >= 0.98 * n


def test_answers_that_stand_share_their_entries() -> None:
    n = 100_000
    meta = family([(50_000, 1, 0, 20)], kind="rows")
    at = np.arange(n)
    answers = Shared(meta).advance(Records(at, np.random.default_rng(4).random(n)), meta.due_reports(at, -1, 0, n))
    assert len(answers) == n
    assert len(answers.id) <= 2 * n


def test_falling_scores_make_every_record_a_candidate_and_are_looked_at_twice() -> None:
    n = 100_000
    work = fed(family([(40_000, 400, 0, 10)], kind="rows"), -np.arange(n, dtype=np.float64), n).counters
    assert work["comparisons"] <= 2.5 * n
    assert work["insertions"] <= 1.05 * n


def test_the_structure_stays_as_small_as_the_candidates() -> None:
    """Nothing in it grows with the window but the open partition, an eighth of it at most."""
    engine = fed(family([(200_000, 100, 0, 10)], kind="rows"), np.random.default_rng(5).random(500_000), 5_000)
    assert len(engine._state.tail.score) <= 2 * 200_000 // 8
    assert len(engine._state.pool.score) <= 20 * engine.counters["candidates"]
    assert len(engine.held()) == engine.counters["candidates"]


@pytest.mark.nojit
@pytest.mark.parametrize("shape", SHAPES)
def test_peaks_tell_what_a_scan_may_pass_over(shape: str) -> None:
    _, score = stream(shape, "rows", n=5 * BLOCK)
    peak = np.empty(5)
    over, peaked = note_peaks(score, 0, peak, 0, 30, 5 * BLOCK - 10, float(score[30:-10].max()))
    assert (over, peaked) == (False, 4 * BLOCK)
    over, peaked = note_peaks(score, 0, peak, peaked, 5 * BLOCK - 10, 5 * BLOCK, -np.inf)
    assert (over, peaked) == (bool((score[-10:] > -np.inf).any()), 5 * BLOCK)
    assert peak.tolist() == [block_top(score, low) for low in range(0, 5 * BLOCK, BLOCK)]
    assert peak.tolist() == score.reshape(5, BLOCK).max(axis=1).tolist()
    found: list[list[int]] = []
    for scan in ("back", "blocks"):
        hits, gauge = Hits(np.empty(400), np.empty(400, np.int64)), new_gauge(20, 5 * BLOCK, no_floor(score), score)
        given = (score, 0, peak, 20, gauge, hits, 0)
        n = scan_blocks(*given) if scan == "blocks" else scan_back(score, 0, 20, gauge, hits, 0)
        found.append(hits.place[:n].tolist())
    assert found[0] == found[1]
    assert falls(score) == bool((score[1:] < score[:-1]).all())


@pytest.mark.nojit
@pytest.mark.parametrize("shape", EITHER)
@pytest.mark.parametrize("k", [1, 3, 70, 500])
def test_the_scan_finds_a_superset_of_the_skyband_and_ranks_it(shape: str, k: int) -> None:
    _, score = stream(shape, "rows", n=300)
    hits = Hits(np.empty(310, score.dtype), np.empty(310, np.int64))
    gauge = new_gauge(k, 300, no_floor(score), score)
    found = scan_back(score[130:], 130, k, gauge, hits, 0)
    found = scan_back(score[:130], 0, k, gauge, hits, found)
    places = set(hits.place[:found].tolist())
    skyband = {i for i in range(300) if (score[i + 1 :] >= score[i]).sum() < k}
    assert skyband <= places
    rank_hits(hits, found)
    numbers = score.tolist()
    expected = sorted(places, key=lambda i: (-numbers[i], -i))
    assert hits.place[:found].tolist() == expected
    assert hits.score[:found].tolist() == score[expected].tolist()
