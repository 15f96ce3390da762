"""Keys of the state: a family and a bucket of it. PER groups are dealt to buckets, and so are objects (`spread`) and
the queries of a board.

Each bucket of a board has an engine of its own, which is fed what its queries may need. Checkpoints rely on who is
dealt where, so the numbers of buckets are fixed for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from skyband.planner import Family, PlannedFamily, part
from skyband.spark.spread import OBJECT_BUCKETS, is_spread

BUCKETS = 16
"""PER groups are spread over so many keys of the state."""
BOARD_BUCKETS = 8
"""The queries of a board likewise."""


def state_key(planned: PlannedFamily, bucket: int) -> str:
    return f"{planned.family.fingerprint}/{bucket}"


def query_buckets(family: Family) -> list[int]:
    """By query of a board, its bucket. A stream with deletes travels whole, so it travels once: to one bucket."""
    if family.stream.op is not None:
        return [0] * len(family.queries)
    return [_dealt(query.name) for query in family.queries]


def _dealt(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") % BOARD_BUCKETS


def by_state_key(families: Iterable[PlannedFamily]) -> dict[str, PlannedFamily]:
    """What each key of the state serves."""
    known: dict[str, PlannedFamily] = {}
    for planned in families:
        if planned.family.attributes:
            known |= _board(planned)
        else:
            known |= {state_key(planned, bucket): planned for bucket in range(_buckets(planned.family))}
    return known


def _buckets(family: Family) -> int:
    return BUCKETS if family.per else OBJECT_BUCKETS if is_spread(family) else 1


def _board(planned: PlannedFamily) -> dict[str, PlannedFamily]:
    members: dict[int, list[int]] = {}
    for number, bucket in enumerate(query_buckets(planned.family)):
        members.setdefault(bucket, []).append(number)
    return {
        state_key(planned, bucket): replace(planned, family=part(planned.family, which))
        for bucket, which in members.items()
    }


def homes(families: Iterable[PlannedFamily]) -> dict[str, str]:
    """By query, as text: its family, or for a query of a board its key."""
    found: dict[str, str] = {}
    for key, planned in by_state_key(families).items():
        home = key if planned.family.attributes else planned.family.fingerprint
        found |= {str(query): home for query in planned.family.queries}
    return found
