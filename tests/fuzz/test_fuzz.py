"""What is damaged or made up is refused or works, and no process ends of it: damaged snapshots, and texts.

    SKYBAND_FUZZ=100000 SKYBAND_SEED=7 make fuzz

Each runs in processes of their own, batch by batch. What a failure names belongs into `corpus/`, with what mends it: a
line of `snapshots.jsonl`, or a file of `texts/`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SIZE = int(os.environ.get("SKYBAND_FUZZ", "200"))
SEED = int(os.environ.get("SKYBAND_SEED", "0"))
BATCH = 10_000
"""A process needs seconds until it begins."""


def batches() -> list[tuple[int, int]]:
    """Seeds and sizes."""
    return [(SEED + begin, min(BATCH, SIZE - begin)) for begin in range(0, SIZE, BATCH)]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["snapshots", "texts"])
def test_nothing_crashes_and_nothing_is_misread(what: str, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed, size in batches():
        where = tmp_path / what
        done = subprocess.run(
            [sys.executable, "-m", f"tests.fuzz.{what}", str(where), str(seed), str(size)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (
            f"ended with {done.returncode} at {where.read_text()[:2_000]}\n{done.stderr[-2_000:]}"
        )
        found = json.loads(done.stdout)
        assert not found["wrong"], "\n".join(" ".join(each) for each in found["wrong"][:3])
        counts.update(found["counts"])
    sys.stdout.write(f"{what}: {dict(counts)}\n")
    assert sum(counts.values()) >= SIZE
    assert min(counts["refused"], counts["answered"] + counts["went on"]) > 0
