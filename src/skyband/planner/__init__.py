"""From queries to a plan: families, meta query, engine choice; and the plan in words."""

from skyband.planner.boards import joined, part
from skyband.planner.choose import GROUPED, Choice, choose
from skyband.planner.explain import explain
from skyband.planner.families import Family, families
from skyband.planner.plan import Plan, PlannedFamily, plan
from skyband.planner.regroup import Group, regrouped, renumbered, without

__all__ = [
    "GROUPED",
    "Choice",
    "Family",
    "Group",
    "Plan",
    "PlannedFamily",
    "choose",
    "explain",
    "families",
    "joined",
    "part",
    "plan",
    "regrouped",
    "renumbered",
    "without",
]
