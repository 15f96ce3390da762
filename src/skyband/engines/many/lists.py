"""Result lists of many queries in one piece of memory, and influence entries in another."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.grid.state import FREE, NOBODY, UNUSED, Influence, Lists
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
        np.zeros(queries, np.bool_),
        np.zeros(queries, np.int64),
        np.zeros(queries, np.int64),
    )


def entries(room: int, nodes: int, numbers: Ints) -> Influence:
    """Free entries, each leading to the next; no node has been seen."""
    numbers[FREE], numbers[UNUSED] = 0, room
    columns = (np.full(room, NOBODY, np.int32) for _ in range(4))
    query, node, after, before = columns
    other = np.append(np.arange(1, room), NOBODY).astype(np.int32)
    return Influence(query, node, after, before, other, np.zeros(nodes, np.int64))


def more_entries(old: Influence, numbers: Ints, least: int) -> Influence:
    """The same entries with at least `least` more free ones."""
    used, more = len(old.node), max(len(old.node), least)
    links = [np.concatenate((part, np.full(more, NOBODY, np.int32))) for part in old[:5]]
    links[4][used:] = np.append(np.arange(used + 1, used + more), numbers[FREE]).astype(np.int32)
    numbers[FREE] = used
    numbers[UNUSED] += more
    return Influence(links[0], links[1], links[2], links[3], links[4], old.seen)
