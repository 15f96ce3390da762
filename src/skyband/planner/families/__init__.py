"""Families of each data model: how queries are grouped, who serves them, what is told of them. What differs between
data models in planning is here, and nowhere else."""

from skyband.engines.base import DataModelName
from skyband.planner.families.base import FamilyKind
from skyband.planner.families.complete import CompleteFamilies
from skyband.planner.families.family import Family, families
from skyband.planner.families.groups import GroupFamilies
from skyband.planner.families.multi_score import MultiScoreFamilies
from skyband.planner.families.objects import ObjectFamilies
from skyband.planner.families.uncertain import UncertainFamilies

__all__ = ["KINDS", "Family", "FamilyKind", "families"]

KINDS: dict[DataModelName, FamilyKind] = {
    "complete": CompleteFamilies(),
    "groups": GroupFamilies(),
    "multi_score": MultiScoreFamilies(),
    "objects": ObjectFamilies(),
    "uncertain": UncertainFamilies(),
}
