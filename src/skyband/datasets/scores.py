"""Streams of scores, one number per record: what the papers measure on, and what is hard for an engine.

Each is a function of (n, seed), and a longer stream begins with the shorter one of the same seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skyband.datasets._draw import at_least, generator
from skyband.model import Floats

Scores = Callable[[int, int], Floats]

BURST_EVERY = 5_000
BURST_LENGTH = 500


def uniform(n: int, seed: int = 0) -> Floats:
    """TIME-U: independent and uniform in [0, 1), so that arrival order says nothing about the score."""
    at_least("n", n, 0)
    return generator(seed).random(n)


def sine(n: int, seed: int = 0) -> Floats:
    """TIME-R: sin(πt / 10⁶) for t = 1, 2, 3 … (sap-tkde17 §6). Nothing in it is random: the seed is not used."""
    at_least("n", n, 0)
    wave: Floats = np.sin(np.arange(1, n + 1) * (np.pi / 1e6))
    return wave


def rising(n: int, seed: int = 0) -> Floats:
    """Every record beats all before it: candidates are at their fewest, and lists change with every record."""
    at_least("n", n, 0)
    return np.cumsum(0.5 + generator(seed).random(n))


def falling(n: int, seed: int = 0) -> Floats:
    """Every record is worse than all before it, so each is a candidate of the windows to come: the worst case."""
    return -rising(n, seed)


def bursts(n: int, seed: int = 0) -> Floats:
    """Uniform in [0, 1) with bursts lifted into [1, 2): 500 records each, beginning 5,000 apart on average."""
    scores = uniform(n, seed)
    gaps = generator(seed, 1).geometric(1 / BURST_EVERY, size=n // BURST_LENGTH + 1)
    begin = np.cumsum(gaps + BURST_LENGTH) - BURST_LENGTH
    lifted = (begin[:, None] + np.arange(BURST_LENGTH)).ravel()
    scores[lifted[lifted < n]] += 1.0
    return scores


def ties(n: int, seed: int = 0, distinct: int = 8) -> Floats:
    """Few distinct values (0, 1 … distinct - 1, equally likely): nearly every comparison is a tie."""
    at_least("n", n, 0)
    at_least("distinct", distinct, 1)
    return np.floor(generator(seed).random(n) * distinct)


SCORES: dict[str, Scores] = {
    "uniform": uniform,
    "sine": sine,
    "rising": rising,
    "falling": falling,
    "bursts": bursts,
    "ties": ties,
}
"""The streams by name."""
