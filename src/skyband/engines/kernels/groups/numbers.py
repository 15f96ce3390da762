"""A table of words, each with a small number: found by hashing, with open addressing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skyband.engines.kernels.jit import inlined, kernel
from skyband.model.types import Ints

Links = NDArray[np.int32]
NOBODY = -1
SPREAD = np.uint64(0x9E3779B97F4A7C15)
AHEAD = 64
"""What is known of so many words is fetched together."""


@inlined
def place_of(word: int, table: Links, known: Ints) -> np.int64:
    """Where a word stands in the table, or where it would: a power of two places, at least one of them empty. What is
    known of a number, two words side by side, begins with its word."""
    mask = len(table) - 1
    place = np.int64((np.uint64(word) * SPREAD) >> np.uint64(32)) & mask
    while table[place] != NOBODY and known[table[place], 0] != word:
        place = (place + 1) & mask
    return place


@kernel
def enter_words(
    words: Ints, begin: int, table: Links, known: Ints, free: Links, spare: int, used: int, number: Ints
) -> tuple[int, int]:
    """The number of each word. The words are counted from `begin` on, and which came last is the other thing known of a
    number. New words take the last of the `spare` numbers that are free, then those from `used` on; there is room for
    all. What is left of both."""
    fetched = 0
    for i in range(len(words)):
        if i == fetched:
            fetched = min(i + AHEAD, len(words))
            _fetch(words, i, fetched, table, known, number)
        word = words[i]
        place = place_of(word, table, known)
        if table[place] == NOBODY:
            if spare:
                spare -= 1
                table[place] = free[spare]
            else:
                table[place] = used
                used += 1
            known[table[place], 0] = word
        number[i] = table[place]
        known[table[place], 1] = begin + i
    return spare, used


@inlined
def _fetch(words: Ints, low: int, high: int, table: Links, known: Ints, number: Ints) -> None:
    """Looks at what will be looked at next, which lies anywhere in memory: all at once takes little longer than one.
    What it finds is written over."""
    mask = len(table) - 1
    for i in range(low, high):
        number[i] = table[np.int64((np.uint64(words[i]) * SPREAD) >> np.uint64(32)) & mask]
    for i in range(low, high):
        number[i] = known[max(number[i], 0), 0]


@kernel
def fill_table(table: Links, known: Ints, first: int, used: int, free: Links) -> int:
    """The words that came from `first` on, in an empty table; the numbers of the others are free, so many."""
    spare = 0
    for number in range(used):
        if known[number, 1] >= first:
            table[place_of(known[number, 0], table, known)] = number
        else:
            free[spare] = number
            spare += 1
    return spare


@kernel
def places_of_pairs(words: Ints, panes: Ints, table: Links, known: Ints, last: Ints, place: Links) -> int:
    """Records of one word and pane have one place, in the order of the last of each; how many places there are. Where
    panes do not come in order a pair may have several. `table` is empty; the other arrays have room for every record:
    `known` has the word of each place and its pane, and `last` the last record of each place in the end."""
    used = 0
    for i in range(len(words)):
        at = place_of(words[i], table, known)
        found = table[at]
        if found == NOBODY or known[found, 1] != panes[i]:
            found = used
            known[found, 0], known[found, 1] = words[i], panes[i]
            table[at] = found
            used += 1
        place[i] = found
        last[found] = i
    ended = 0
    for i in range(len(words)):
        if last[place[i]] == i:
            known[place[i], 0] = ended
            known[ended, 1] = i
            ended += 1
    for i in range(len(words)):
        place[i] = known[place[i], 0]
    for i in range(used):
        last[i] = known[i, 1]
    return used


@kernel
def add_at(total: Ints, place: Links, values: Ints) -> None:
    for i in range(len(place)):
        total[place[i]] += values[i]
