"""The hash of records: Spark's, whatever the length of a text, at a cost that grows with the bytes there are."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.runtime import hashing
from skyband.runtime.hashing import hash_rows

PRIMES = [int(prime) for prime in (hashing.P1, hashing.P2, hashing.P3, hashing.P4, hashing.P5)]
P1, P2, P3, P4, P5 = PRIMES
MASK = 2**64 - 1


def rotated(x: int, by: int) -> int:
    return (x << by | x >> (64 - by)) & MASK


def xxhash64(data: bytes, seed: int = hashing.SEED) -> int:
    """As its specification says it, a byte at a time."""

    def lane(lane: int, word: int) -> int:
        return rotated((lane + word * P2) & MASK, 31) * P1 & MASK

    def word(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "little")

    at = 0
    h = (seed + P5) & MASK
    if len(data) >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while at + 32 <= len(data):
            lanes = [lane(each, word(at + 8 * place, 8)) for place, each in enumerate(lanes)]
            at += 32
        h = sum(rotated(each, by) for each, by in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for each in lanes:
            h = ((h ^ lane(0, each)) * P1 + P4) & MASK
    h = (h + len(data)) & MASK
    while at + 8 <= len(data):
        h = (rotated(h ^ lane(0, word(at, 8)), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= len(data):
        h = (rotated(h ^ (word(at, 4) * P1 & MASK), 23) * P2 + P3) & MASK
        at += 4
    for place in range(at, len(data)):
        h = rotated(h ^ (data[place] * P5 & MASK), 11) * P1 & MASK
    h = (h ^ h >> 33) * P2 & MASK
    h = (h ^ h >> 29) * P3 & MASK
    return h ^ h >> 32


@pytest.mark.parametrize("few", [1, 8, 64])
def test_texts_of_all_lengths_have_the_hash_that_spark_gives_them(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few long ones among many short ones, and many that are long; in step and one by one."""
    monkeypatch.setattr(hashing, "FEW", few)
    draw = random.Random(few)
    lengths = [*range(100), *(draw.choice([31, 32, 33, 64, 200, 2_100]) for _ in range(150)), 70_001]
    draw.shuffle(lengths)
    values = [draw.randbytes(length) for length in lengths]
    found = hash_rows(pa.table({"x": pa.array(values, pa.binary()).slice(3)})).view(np.uint64).tolist()
    assert found == [xxhash64(value) for value in values[3:]]


class Counted(np.ndarray):
    """Counts the elements that operations on it look at."""

    looked_at = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        plain = [each.view(np.ndarray) if isinstance(each, Counted) else each for each in inputs]
        if named.get("out"):
            named["out"] = tuple(each.view(np.ndarray) if isinstance(each, Counted) else each for each in named["out"])
        found = getattr(ufunc, method)(*plain, **named)
        Counted.looked_at += int(np.size(found))
        return found.view(Counted) if isinstance(found, np.ndarray) and found.dtype == np.int64 else found


def test_one_long_text_costs_its_own_bytes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 100 KB among 2,000 short ones: it had all of them looked at for each of its 3,125 stripes."""
    lengths = np.full(2_000, 40)
    lengths[700] = 100_000
    raw = np.zeros(lengths.sum() + 8, np.uint8)
    monkeypatch.setattr(Counted, "looked_at", 0)
    at = np.append(0, np.cumsum(lengths)[:-1])
    hashing._hash_stripes(raw, at, lengths.view(Counted), np.full(2_000, 42, np.uint64))
    assert Counted.looked_at < len(raw)
