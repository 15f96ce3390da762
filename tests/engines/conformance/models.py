"""Every data model, and every engine as the checks meet it: those that are registered, and the examples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from skyband.engines import base
from skyband.engines.base import Capabilities, Registration, registered
from tests.engines.conformance.complete import Complete
from tests.engines.conformance.desk import Model
from tests.engines.conformance.groups import Groups
from tests.engines.conformance.multi_score import MultiScore
from tests.engines.conformance.objects import Objects
from tests.engines.conformance.uncertain import Uncertain

MODELS: tuple[Model, ...] = (Complete(), Groups(), MultiScore(), Objects(), Uncertain())


@dataclass(frozen=True)
class Met:
    """An engine that the checks meet, in its data model."""

    name: str
    able: Capabilities
    model: Model


def registered_by(file: Path) -> dict[str, Registration]:
    """The engines that a file outside the package registers: they are not in the registry afterwards."""
    found: dict[str, Registration] = {}
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_REGISTRY", found)
        spec.loader.exec_module(module_from_spec(spec))
    return {name: known for name, known in found.items() if name not in registered(None)}


EXAMPLE_ENGINES = registered_by(Path(__file__).parents[3] / "examples" / "own_engine.py")
"""What people copy. Other suites run over the registry and do not know them."""


@contextmanager
def with_examples() -> Iterator[None]:
    """The examples are registered as long as this lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_REGISTRY", base._REGISTRY | EXAMPLE_ENGINES)
        yield


MET = [Met(name, known.capabilities, model) for model in MODELS for name, known in registered(model.name).items()]
EXAMPLES_MET = [
    Met(name, known.capabilities, model)
    for model in MODELS
    for name, known in EXAMPLE_ENGINES.items()
    if known.capabilities.data == model.name
]
