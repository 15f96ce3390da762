"""Engines for groups of records, ranked by what their records make together."""

from skyband.engines.groups import totals

__all__ = ["totals"]
