"""Kernels that check every index (`make bounds` runs all tests with them): a few engines here, as a short form."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import numpy as np
from skyband.engines.kernels.jit import kernel
from skyband.engines.base import registration
from skyband.model import MetaQuery, Records
import skyband.engines

@kernel
def beyond(values):
    return values[len(values) + 3]

try:
    beyond(np.arange(4))
except IndexError:
    print("checked")

one = lambda x: np.array([x])
at, score = np.arange(400), np.random.default_rng(1).random(400).round(2)
meta = MetaQuery("rows", one(90), one(20), one(0), one(3), one(0))
found = []
for name in ("mtoplist", "kskyband"):
    engine = registration(name).build(meta)
    for begin, end in [(0, 200), (200, 207), (207, 207), (207, 400)]:
        due = meta.due_reports(at[begin:end], begin - 1, begin, end)
        answers = engine.advance(Records(at[begin:end], score[begin:end]), due)
        held = engine.held()
        engine = registration(name).build(meta)
        engine.rebuild(held, end)
    found.append(answers.score.tolist())
assert found[0] == found[1], found
print("agreed")
"""


@pytest.mark.slow
def test_kernels_stay_inside_their_arrays(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(RUN)
    (tmp_path / "cache").mkdir(mode=0o700)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["checked", "agreed"], done.stderr[-2_000:]
