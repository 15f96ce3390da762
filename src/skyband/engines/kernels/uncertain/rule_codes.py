"""Rules as small numbers: a hash table with open addressing."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.model.types import Flags, Ints

NO_RULE = -(2**63)
"""The rule of a record that has none."""
FREE = -1
_MIX = -7046029254386353131
"""2⁶⁴ over the golden ratio, as a signed number: spreads neighbouring rules over the table."""


@kernel
def encode(rules: Ints, keys: Ints, codes: Ints, filled: Flags, known: int) -> tuple[Ints, int]:
    """The number of each rule, FREE without one; and how many are known now. The table must have room for all."""
    out = np.empty(len(rules), np.int64)
    mask = len(keys) - 1
    for i in range(len(rules)):
        rule = rules[i]
        if rule == NO_RULE:
            out[i] = FREE
            continue
        mixed = rule * _MIX
        place = (mixed ^ (mixed >> 32)) & mask
        while filled[place] and keys[place] != rule:
            place = (place + 1) & mask
        if not filled[place]:
            filled[place] = True
            keys[place] = rule
            codes[place] = known
            known += 1
        out[i] = codes[place]
    return out, known
