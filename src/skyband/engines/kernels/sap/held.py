"""The state of SAP while a kernel works on it: one reference, whatever is behind it.

A tuple is handed over number by number: seven for an array, three hundred for a state, at every call and every return;
compiling that was a third of compiling the engine. Between two calls the state is a tuple, which Python can look into.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.experimental import structref

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.sap.lists import Ranked, Rest
from skyband.engines.kernels.sap.savl import Savl
from skyband.engines.kernels.sap.state import Parts, State, Units
from skyband.model.types import Ints, Keys


class Held:
    """As `State`, but its members can be replaced."""

    def __init__(
        self,
        at: Ints,
        score: Keys,
        best: Ranked,
        past: Ranked,
        rest: Rest,
        front: Ranked,
        savl: Savl,
        coming: Savl,
        parts: Parts,
        units: Units,
        lists: Ranked,
        early: Ranked,
        size: Ints,
        tau: Keys,
    ) -> None:
        """This is what runs without the JIT."""
        self.at, self.score, self.size, self.tau = at, score, size, tau
        self.best, self.past, self.rest, self.front = best, past, rest, front
        self.savl, self.coming, self.parts, self.units = savl, coming, parts, units
        self.lists, self.early = lists, early


class HeldType(types.StructRef):
    """What Numba knows it as."""


_numba: Any = structref
_numba.register(HeldType)
_numba.define_constructor(Held, HeldType, State._fields)


@kernel
def held(state: State) -> Held:
    return Held(
        state.at,
        state.score,
        state.best,
        state.past,
        state.rest,
        state.front,
        state.savl,
        state.coming,
        state.parts,
        state.units,
        state.lists,
        state.early,
        state.size,
        state.tau,
    )


@kernel
def let_go(state: Held) -> State:
    return State(
        state.at,
        state.score,
        state.best,
        state.past,
        state.rest,
        state.front,
        state.savl,
        state.coming,
        state.parts,
        state.units,
        state.lists,
        state.early,
        state.size,
        state.tau,
    )
