"""Kill the whole process group again and again: the rows are those of an undisturbed run, none lost, none twice.

`make chaos` does it twenty times.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.spark import jobs

pytestmark = [pytest.mark.spark, pytest.mark.slow]
KILLS = int(os.environ.get("SKYBAND_KILLS", "3"))
SEED = int(os.environ.get("SKYBAND_SEED", "0"))


def test_a_reader_that_lists_the_folder_sees_every_row_once(tmp_path: Path) -> None:
    tables = jobs.trades(files=4 + 2 * KILLS)
    jobs.write_files(tmp_path / "in", tables)
    words: list[str | Path] = [
        "run", jobs.write_workload(tmp_path), "--source", f"trades={tmp_path / 'in'}?maxFilesPerTrigger=1",
        "--sink", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint", "--master", "local[2]",
        "--stream", "--once", "--drain",
    ]  # fmt: skip
    hits = jobs.run_with_kills(words, tmp_path / "checkpoint", KILLS, SEED)
    assert hits >= max(1, KILLS // 2)
    rows = jobs.listed(tmp_path / "out")
    assert jobs.as_text(rows) == jobs.monitored(tables)
