"""Every data model, and every registered engine as the checks meet it."""

from __future__ import annotations

from dataclasses import dataclass

from skyband.engines.base import Capabilities, registered
from tests.engines.conformance.complete import Complete
from tests.engines.conformance.desk import Model
from tests.engines.conformance.multi_score import MultiScore
from tests.engines.conformance.objects import Objects
from tests.engines.conformance.uncertain import Uncertain

MODELS: tuple[Model, ...] = (Complete(), MultiScore(), Objects(), Uncertain())


@dataclass(frozen=True)
class Met:
    """An engine that the checks meet, in its data model."""

    name: str
    able: Capabilities
    model: Model


MET = [Met(name, known.capabilities, model) for model in MODELS for name, known in registered(model.name).items()]
