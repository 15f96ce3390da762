"""Records by key against a dictionary: any kind of key, deletes before and after, windows that move on."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.engines.many.keys import Keys
from skyband.runtime.data_models.multi_score import key_words


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.decimal128(9, 2)])
def test_deletes_take_out_what_a_dictionary_would(kind: pa.DataType) -> None:
    draw, keys, known, first, number = random.Random(1), Keys(), dict[Any, list[int]](), 0, 0
    alive: set[int] = set()
    for _ in range(60):
        rows = [(draw.choice([None, *range(400)]), draw.random() < 0.3) for _ in range(draw.randrange(120))]
        taken, counts = list[int](), list[int]()
        for key, gone in rows:
            if gone:
                killed = [each for each in known.pop(key, []) if each >= first]
                taken += killed
                counts.append(len(killed))
            else:
                known.setdefault(key, []).append(number)
                alive.add(number)
                number += 1
        text = [None if key is None else str(key) if kind == pa.string() else key for key, _ in rows]
        words = key_words(pa.chunked_array([pa.array(text, kind)]))
        died, found = keys.follow(words, np.array([gone for _, gone in rows], bool), first)
        assert sorted(died.tolist()) == sorted(taken)
        assert found.tolist() == counts
        alive -= set(taken)
        first = max(first, number - draw.randrange(200, 900))
        keys.forget(first)
        assert (np.flatnonzero(keys.alive(first)) + first).tolist() == sorted(each for each in alive if each >= first)
