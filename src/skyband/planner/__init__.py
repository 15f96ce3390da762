"""From queries to a plan: families, meta query, engine choice; and the plan in words."""

from skyband.planner.choice import GROUPED, Choice
from skyband.planner.explain import explain
from skyband.planner.families import Family, families
from skyband.planner.families.family import ScoreTypeOf
from skyband.planner.families.placement import NOWHERE, Placement
from skyband.planner.families.regroup import Group, regrouped
from skyband.planner.plan import Plan, PlannedFamily, choose, plan

__all__ = [
    "GROUPED",
    "NOWHERE",
    "Choice",
    "Family",
    "Group",
    "Placement",
    "Plan",
    "PlannedFamily",
    "ScoreTypeOf",
    "choose",
    "explain",
    "families",
    "plan",
    "regrouped",
]
