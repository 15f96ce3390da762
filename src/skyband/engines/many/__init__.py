"""Engines for queries that each have their own scoring function over the same points."""
