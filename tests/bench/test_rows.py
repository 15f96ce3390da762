"""Every row runs at tiny sizes, and the file it leaves says what was measured, where and on which code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import bench.rows  # noqa: F401  (registers them)
from bench.__main__ import main
from bench.harness import ROWS, Result, Run
from bench.report import text
from bench.rows.monitor import two_stacks
from skyband.engines import base


def test_the_rows_of_the_project_are_there() -> None:
    queries = {f"queries-{n}-{vary}" for n in (10, 100, 1000) for vary in ("k", "slide", "win-slide", "all")}
    assert {"one-query", "time-u"} | queries <= set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_runs_and_leaves_its_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--quick", "--output", str(tmp_path)]) == 0
    assert name in capsys.readouterr().out
    (path,) = tmp_path.iterdir()
    content = json.loads(path.read_text())
    assert path.name.endswith("-quick.json")
    assert {"version", "date", "quick", "clock", "machine", "commit", "rows"} <= content.keys()
    assert {"cpu", "cores", "memory_gib", "python", "libraries", "load"} <= content["machine"].keys()
    assert {"numpy", "numba", "pyarrow"} <= content["machine"]["libraries"].keys()
    assert content["commit"].keys() == {"id", "dirty"}
    (row,) = content["rows"]
    assert row["row"] == name
    assert {"summary", "settings", "lines", "ratios", "notes", "details"} <= row.keys()
    assert row["settings"]["seed"] >= 0
    assert len(row["lines"]) >= 2
    assert all(ratio["value"] > 0 and ratio["holds"] is None for ratio in row["ratios"])


@pytest.mark.parametrize("name", ["one-query", "queries-10-k", "time-u"])
def test_an_engine_that_is_not_there_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_REGISTRY", {})
    result = ROWS[name].measure(Run(quick=True))
    assert "engine mtoplist is not registered" in result.notes
    assert "engine mintopk is not registered" in result.notes


def test_sampled_queries_stand_for_all() -> None:
    settings = ROWS["queries-100-k"].measure(Run(quick=True)).settings
    assert settings["sample"] == 5
    assert settings["queries"] == 100


def test_a_result_asks_nothing_at_tiny_sizes() -> None:
    assert Run(quick=True).asked(5.0) is None
    assert Run().asked(5.0) == 5.0
    assert Result(settings={}).ratios == []


def test_figures_are_readable() -> None:
    assert [text(x) for x in (None, "a", 1234567, 0.123456, 12345.6)] == ["-", "a", "1,234,567", "0.1235", "12,346"]


def test_two_stacks_of_panes_find_the_best_of_every_window() -> None:
    score = np.random.default_rng(1).random(230)
    found = list(two_stacks(score, window=60, slide=10, k=7))
    asked = [np.sort(score[end - 60 : end])[-7:] for end in range(60, 231, 10)]
    assert [np.sort(best).tolist() for best in found] == [best.tolist() for best in asked]
