"""What the structures that check themselves have in common.

A `check()` walks a structure and asserts what must always hold of it: orders, links, counts, free lists. It is plain
Python, takes its time, and is called by tests alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skyband.model import Ints, Keys

NOBODY = -1
Whole = NDArray[np.integer[Any]]
"""Whole numbers of any width."""


def check_rising(values: Whole | Keys, what: str, strictly: bool = False) -> None:
    before, after = values[:-1], values[1:]
    assert (before < after if strictly else before <= after).all(), f"{what}: not in rising order"


def check_best_first(score: Keys, number: Whole, what: str) -> None:
    """Higher scores first, of equal ones the higher number, the newer; nobody twice."""
    assert not np.isnan(score).any(), f"{what}: a score that is no number"
    higher, equal, newer = score[:-1] > score[1:], score[:-1] == score[1:], number[:-1] > number[1:]
    assert (higher | (equal & newer)).all(), f"{what}: not best first"
    assert len(np.unique(number)) == len(number), f"{what}: an entry stands there twice"


def dominators(score: Keys, number: Whole) -> Ints:
    """Of entries that stand best first: how many better ones are newer."""
    return np.array([(number[:i] > number[i]).sum() for i in range(len(score))], np.int64)


def linked(first: int, following: Whole, most: int) -> list[int]:
    """The members of a linked list; one that goes in circles is left after `most`."""
    found, link = list[int](), int(first)
    while link != NOBODY and len(found) <= most:
        found.append(link)
        link = int(following[link])
    return found


def chain(first: int, following: Whole, links: int, what: str) -> list[int]:
    """The members of a linked list that must have so many and then end."""
    found = linked(first, following, links)
    assert len(found) == links, f"{what}: {len(found)} links or more, and {links} were counted"
    assert len(set(found)) == links, f"{what}: it goes in circles"
    return found


def check_shared_out(parts: Iterable[int], everything: int, what: str) -> None:
    """Each of so many places is somewhere, and nowhere twice."""
    assert sorted(parts) == list(range(everything)), f"{what}: a place is lost, or given out twice"


def check_heap(score: Keys, number: Ints, heap: Whole, what: str) -> None:
    """Nobody is better than the one above."""
    for i in range(1, len(heap)):
        node, above = int(heap[i]), int(heap[(i - 1) // 2])
        assert (score[above], number[above]) >= (score[node], number[node]), f"{what}: not a heap"
