"""Every engine there is a file of is registered before the suites are collected: they run over the registry."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

# The name `skyband.engines` is a function, too.
engines = import_module("skyband.engines")

for module in pkgutil.walk_packages(engines.__path__, f"{engines.__name__}."):
    if ".kernels" not in module.name:
        import_module(module.name)


@pytest.fixture(scope="session", autouse=True)
def _numbers_as_in_machine_code() -> Iterator[None]:
    """Hashes wrap around and infinities meet: machine code does it silently, and without the JIT NumPy would warn."""
    plain = os.environ.get("NUMBA_DISABLE_JIT") == "1"
    with np.errstate(all="ignore" if plain else None):
        yield


@pytest.fixture(scope="module")
def example_engines() -> Iterator[None]:
    """Registered for the tests of a file that asks for it."""
    from tests.engines.conformance.models import with_examples

    with with_examples():
        yield
