"""The harness: names of rows, ratios and what is asked of them, streams as batches, bytes of a structure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import bench.rows  # noqa: F401  (registers them)
from bench.__main__ import main
from bench.feed import Source, feed, footprint, one_query
from bench.harness import ROWS, Ratio, Run, chosen, in_turns, median_ratio, row
from bench.rows.many_queries import Settings, sampled, workload
from bench.rows.time_u import harmonic
from skyband.datasets import uniform
from skyband.engines.base import registration


def test_rows_are_chosen_by_name_or_beginning() -> None:
    assert [row.name for row in chosen(["one-query"])] == ["one-query"]
    assert len(chosen(["queries-1000"])) == 4
    assert len(chosen(["queries-10"])) == 4
    assert chosen([]) == list(ROWS.values())
    with pytest.raises(LookupError):
        chosen(["on"])


def test_an_unknown_row_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-row"]) == 2
    assert "there is no row called no-such-row" in capsys.readouterr().err


def test_the_list_names_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ROWS)


def test_a_name_is_taken_once() -> None:
    with pytest.raises(AssertionError, match="registered twice"):
        row("one-query", "again")(ROWS["one-query"].measure)


@pytest.mark.parametrize(
    ("ratio", "asked", "holds"),
    [
        (Ratio("x", 5), "", None),
        (Ratio("x", 5, at_least=5), "at least 5", True),
        (Ratio("x", 5, at_most=4), "at most 4", False),
        (Ratio("x", 1.03, 0.98, 1.02), "at least 0.98, at most 1.02", False),
    ],
)
def test_what_is_asked_of_a_ratio(ratio: Ratio, asked: str, holds: bool | None) -> None:
    assert ratio.asked == asked
    assert ratio.holds is holds


def test_contestants_take_turns() -> None:
    calls: list[str] = []
    seconds = in_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2, Run())
    assert calls == ["a", "b", "a", "b"]
    assert [len(times) for times in seconds.values()] == [2, 2]
    assert median_ratio([2.0, 4.0, 9.0], [1.0, 1.0, 1.0]) == 4.0


def test_any_batch_size_feeds_the_same_reports() -> None:
    source = Source.of(uniform(1_000, 1))
    meta = one_query(100, 30, 5)
    reported = [feed(registration("mtoplist").build(meta), source.batches(meta, 0, 1_000, n)) for n in (7, 100, 1_000)]
    assert reported[0] == reported[1] == reported[2] > 0


def test_silent_batches_leave_the_same_candidates() -> None:
    source = Source.of(uniform(3_000, 2))
    meta = one_query(500, 70, 20)
    loud, silent = registration("mtoplist").build(meta), registration("mtoplist").build(meta)
    for batch in source.batches(meta, 0, 3_000, 250):
        loud.advance(batch.records, batch.due)
        assert len(silent.advance(batch.silent().records, batch.silent().due)) == 0
        assert np.array_equal(loud.candidates(), silent.candidates())


def test_the_footprint_counts_every_array_once() -> None:
    @dataclass
    class Inner:
        column: np.ndarray

    class Holder:
        def __init__(self) -> None:
            array = np.zeros(10)
            self.parts = [array, array[2:], {"x": Inner(np.zeros(5))}]
            self.meta = one_query(3, 1, 1)

    assert footprint(Holder()) == 80 + 40


@pytest.mark.parametrize("vary", ["k", "slide", "win-slide", "all"])
def test_workloads_are_drawn_as_in_the_paper(vary: str) -> None:
    meta = workload(Settings(1_000, vary))
    fixed = {
        "width": {"k", "slide"},
        "period": {"k"},
        "k": {"slide", "win-slide"},
    }
    for column, where in fixed.items():
        assert (len(np.unique(getattr(meta, column))) == 1) == (vary in where)
    assert meta.longest <= 1_000_000
    assert meta.shortest >= 100_000
    assert 10 <= meta.k.min() <= meta.most <= 1_000
    assert (meta.period <= meta.width).all()
    assert np.array_equal(workload(Settings(1_000, vary)).k, meta.k)


def test_a_sample_is_spread_over_the_costs() -> None:
    meta = workload(Settings(1_000, "k"))
    some = sampled(meta, 50)
    assert len(set(some)) == 50
    assert abs(meta.k[some].mean() / meta.k.mean() - 1) < 0.02


def test_harmonic_numbers() -> None:
    assert round(100 * harmonic(1_000), 1) == 748.5
