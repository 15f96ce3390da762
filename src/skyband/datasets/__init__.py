"""Seeded generators of the papers' streams, a market simulator, disorder, and loaders for real streams."""

from skyband.datasets.disorder import arrival_order, disordered, lateness
from skyband.datasets.files import REAL, RealStream, available, load
from skyband.datasets.market import market
from skyband.datasets.points import anticorrelated, correlated, independent
from skyband.datasets.scores import SCORES, bursts, falling, rising, sine, ties, uniform

__all__ = [
    "REAL",
    "SCORES",
    "RealStream",
    "anticorrelated",
    "arrival_order",
    "available",
    "bursts",
    "correlated",
    "disordered",
    "falling",
    "independent",
    "lateness",
    "load",
    "market",
    "rising",
    "sine",
    "ties",
    "uniform",
]
