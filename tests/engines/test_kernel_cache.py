"""A second process finds the machine code of the first: nothing is compiled twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skyband.engines import kernels

USE_EVERY_KERNEL = """
import json, pkgutil
from importlib import import_module
import numpy as np
from skyband.engines import complete, kernels
from skyband.engines.base import registered
from skyband.engines.kernels.dispatch import Kernel
from skyband.model import MetaQuery, Records

for module in pkgutil.walk_packages(complete.__path__, f"{complete.__name__}."):
    import_module(module.name)

one = lambda x: np.array([x])
at, score = np.arange(400), np.random.default_rng(1).random(400)
for name, registration in registered().items():
    threshold = one(0.5) if registration.capabilities.thresholds else None
    meta = MetaQuery("rows", one(90), one(20), one(0), one(3), one(0), threshold)
    engine = registration.build(meta)
    for begin, end in [(0, 200), (200, 207), (207, 207), (207, 400)]:
        moments = meta.due_reports(at[begin:end], begin - 1, begin, end)
        engine.advance(Records(at[begin:end], score[begin:end]), moments)
        held = engine.held()
        engine = registration.build(meta)
        engine.rebuild(held, end)

hits, compiled, doubled, homes = [], [], [], []
for module in pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}."):
    home = import_module(module.name)
    homes.append(module.name)
    for name, function in vars(home).items():
        if isinstance(function, Kernel) and function.py_func.__module__ == home.__name__:
            hits += [name] * sum(function.stats.cache_hits.values())
            if sum(function.stats.cache_misses.values()):
                compiled.append(name)
            if name.startswith("advance_") and len(function.signatures) > 1:
                doubled.append(name)
found = {"hits": hits, "compiled": compiled, "doubled": doubled, "homes": homes, "engines": list(registered())}
print(json.dumps(found))
"""

ENGINES = {"above", "kskyband", "mintopk", "mtopband", "mtoplist", "sap", "sap_dynamic", "sap_equal", "shared"}
KNOWN = {
    "common.run",
    "grid.search",
    "jit",
    "lists.toplist",
    "objects.settle",
    "sap.front",
    "shared.close",
    "sla.view",
    "uncertain.world_ranks",
}


def run_in_a_fresh_process() -> dict[str, list[str]]:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", USE_EVERY_KERNEL], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_the_second_process_compiles_nothing() -> None:
    # Into the cache that all tests share: what they have compiled, or will need, costs nothing twice.
    first = run_in_a_fresh_process()
    # A read-only or strided array, out of a snapshot or a batch, would be another type to Numba.
    assert first["doubled"] == []
    second = run_in_a_fresh_process()
    assert second["compiled"] == []
    # All this says something only of what was looked at.
    assert set(second["engines"]) >= ENGINES
    assert len(second["homes"]) == len(list(Path(*kernels.__path__).rglob("*.py"))) - 1  # without the package itself
    assert set(second["homes"]) >= {f"{kernels.__name__}.{name}" for name in KNOWN}
    assert {"advance_shared", "advance_sap", "advance_list", "advance_band", "advance_skyband"} <= set(second["hits"])
