"""The data model of each family."""

from __future__ import annotations

from skyband.engines.base import DataModelName
from skyband.model.approximate_groups import counts_distinct
from skyband.planner import PlannedFamily
from skyband.runtime.data_models.at_most import ByDecayed, ByScore, BySecondKey
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
    family, capped = planned.family, bool(planned.family.at_most)
    if family.half_life is not None:
        return ByDecayed(planned) if capped else Decayed(planned)
    if family.then is not None:
        return BySecondKey(planned) if capped else SecondKey(planned)
    if family.data_model == "groups" and family.approximate is not None:
        return (SketchedGroups if counts_distinct(family.aggregates) else HeavyGroups)(planned)
    return ByScore(planned) if capped else _KNOWN[family.data_model](planned)
