"""Seeded generators of the papers' streams, a market simulator, disorder, and loaders for real streams."""

from skyband.datasets.apart import (
    air_quality,
    apart,
    appearances,
    flights,
    honeypot,
    sightings,
    web_farm,
)
from skyband.datasets.disorder import arrival_order, disordered, lateness
from skyband.datasets.files import REAL, RealStream, available, load
from skyband.datasets.market import market
from skyband.datasets.points import anticorrelated, correlated, independent
from skyband.datasets.scores import SCORES, bursts, falling, rising, sine, ties, uniform
from skyband.datasets.uncertain import (
    QUERY_SETS,
    QuerySet,
    icebergs_with_rules,
    neighbours,
    query_set,
    spread,
    uncertain,
    uncertain_streams,
)

__all__ = [
    "QUERY_SETS",
    "REAL",
    "SCORES",
    "QuerySet",
    "RealStream",
    "air_quality",
    "anticorrelated",
    "apart",
    "appearances",
    "arrival_order",
    "available",
    "bursts",
    "correlated",
    "disordered",
    "falling",
    "flights",
    "honeypot",
    "icebergs_with_rules",
    "independent",
    "lateness",
    "load",
    "market",
    "neighbours",
    "query_set",
    "rising",
    "sightings",
    "sine",
    "spread",
    "ties",
    "uncertain",
    "uncertain_streams",
    "uniform",
    "web_farm",
]
