"""What `shared` holds: columns of closed partitions, of the open one, and the numbers that go with them."""

from __future__ import annotations

from typing import NamedTuple

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared.rank import Hits
from skyband.model.types import Ints, Keys

FOREVER = 2**62
BLOCK = 64
(
    PARTS,
    FRONT,
    TAIL,
    BROUGHT,
    FIRST_ID,
    EPOCH,
    COMPARISONS,
    INSERTIONS,
    PARTITIONS,
    SCANS,
    MERGES,
    REPEATS,
    DIRECT,
    PEAK,
    LOW,
    NEXT,
    CLOSING,
    DUE,
    USED,
    NEED_POOL,
    NEED_SUFFIX,
    NEED_OUT,
    REACH,
    PEAKED,
    TURN,
    RECENT,
) = range(26)
NUMBERS = 26
(LAST_BEGIN, LAST_SIZE, LAST_K, LAST_START, GOOD_UNTIL, LAST_TURN, LAST_EPOCH) = range(7)
LASTS = 7
"""Of a report: its entries, k and start, the first start at which it would differ, and turn and epoch it is from."""
(LEVEL_FRONT, LEVEL_BASE, LEVEL_SCAN) = range(3)
LEVELS = 3


class Pool(NamedTuple):
    """Runs of all partitions, each beginning at a multiple of 64 behind the one before, or at 0 again where that is
    free; `newest` is the latest time in each block of 64."""

    score: Keys
    at: Ints
    id: Ints
    newest: Ints


class Parts(NamedTuple):
    """Closed partitions, oldest first: where the run is, whether it is in order (best first, not newest first), first
    and last time, records it stands for, and where the best K from this partition on are."""

    begin: Ints
    size: Ints
    ordered: Ints
    first: Ints
    last: Ints
    records: Ints
    suffix: Ints
    suffix_size: Ints


class Ranked(NamedTuple):
    """Best first."""

    score: Keys
    id: Ints


class Tail(NamedTuple):
    """Records of the open partition from earlier calls, in feed order."""

    score: Keys
    at: Ints


class Shared(NamedTuple):
    """`peak` is the best of every 64 open records, as far as PEAKED. `recent` has newcomers of the front that no later
    one reached, best first, and the turn in which each came. `memory` is the last report of each query, a row for
    each of the numbers below, and `lowest` its lowest score."""

    pool: Pool
    parts: Parts
    suffix: Ranked
    front: Ranked
    recent: Ranked
    peak: Keys
    tail: Tail
    hits: Hits
    memory: Ints
    lowest: Keys
    level: Keys
    number: Ints


@kernel
def copy(source: Keys, target: Keys) -> None:
    for i in range(len(target)):
        target[i] = source[i]


@kernel
def copy_ids(source: Ints, target: Ints) -> None:
    for i in range(len(target)):
        target[i] = source[i]


@kernel
def ranked(run: Ranked, begin: int, size: int) -> Ranked:
    return Ranked(run.score[begin : begin + size], run.id[begin : begin + size])


@kernel
def rounded(n: int) -> int:
    return (n + BLOCK - 1) // BLOCK * BLOCK
