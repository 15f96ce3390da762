"""The data model of each family."""

from __future__ import annotations

from skyband.engines.base import DataModelName
from skyband.model.approximate_groups import counts_distinct
from skyband.planner import PlannedFamily
from skyband.runtime.data_models.base import DataModel
from skyband.runtime.data_models.complete import Complete
from skyband.runtime.data_models.decayed import Decayed
from skyband.runtime.data_models.groups import Groups
from skyband.runtime.data_models.heavy_groups import HeavyGroups
from skyband.runtime.data_models.multi_score import MultiScore
from skyband.runtime.data_models.objects import Objects
from skyband.runtime.data_models.second_key import SecondKey
from skyband.runtime.data_models.sketched_groups import SketchedGroups
from skyband.runtime.data_models.uncertain import Uncertain

__all__ = ["DataModel", "data_model"]

_KNOWN: dict[DataModelName, type[DataModel]] = {
    "complete": Complete,
    "groups": Groups,
    "multi_score": MultiScore,
    "objects": Objects,
    "uncertain": Uncertain,
}


def data_model(planned: PlannedFamily) -> DataModel:
    """The data model of a family."""
    if planned.family.half_life is not None:
        return Decayed(planned)
    if planned.family.data_model == "groups" and planned.family.approximate is not None:
        return (SketchedGroups if counts_distinct(planned.family.aggregates) else HeavyGroups)(planned)
    return SecondKey(planned) if planned.family.then is not None else _KNOWN[planned.family.data_model](planned)
