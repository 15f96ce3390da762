"""Random numbers by seed and purpose, so that two quantities of one dataset never share draws."""

from __future__ import annotations

import numpy as np

from skyband.errors import SkybandError


def generator(seed: int, purpose: int = 0) -> np.random.Generator:
    """The random numbers of `seed` for one of a dataset's quantities."""
    if seed < 0:
        raise SkybandError(f"a seed of {seed}", expected="a whole number from 0 on")
    return np.random.default_rng([seed, purpose])


def at_least(what: str, value: float, least: float) -> None:
    """Refuse a number that is too small."""
    if not value >= least:
        raise SkybandError(f"{what} = {value}", expected=f"at least {least}")
