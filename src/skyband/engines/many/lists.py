"""Result lists of many queries in one piece of memory."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.grid_state import NOBODY, Lists
from skyband.model import Ints


def new_lists(queries: int, begin: Ints) -> Lists:
    """Empty lists, all waiting for a search; query q has room from begin[q] to begin[q + 1]."""
    total = int(begin[-1])
    return Lists(
        np.empty(total),
        np.empty(total, np.int64),
        np.zeros(total, np.int32),
        begin,
        np.zeros(queries, np.int64),
        np.full(queries, -np.inf),
        np.ones(queries, np.bool_),
        np.ones(queries, np.bool_),
        np.full(queries, NOBODY, np.int32),
    )
