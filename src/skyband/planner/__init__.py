"""From queries to a plan: families, meta query, engine choice; and the plan in words."""

from skyband.planner.boards import joined
from skyband.planner.choose import GROUPED
from skyband.planner.explain import explain
from skyband.planner.families import Family, families
from skyband.planner.plan import Plan, PlannedFamily, plan

__all__ = ["GROUPED", "Family", "Plan", "PlannedFamily", "explain", "families", "joined", "plan"]
