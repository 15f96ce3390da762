"""What Numba does for nothing while it compiles is left out.

Most of the text that LLVM is given for a structure of many arrays was written here in vain. Like `dispatch`, this leans
on Numba's inner seams; `tests/engines/test_kernel_dispatch.py` says when they move.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from numba.core.compiler import Flags
from numba.core.runtime.context import NRTContext

_counted: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
"""Of which types references are counted somewhere inside."""


def _same_flags(mine: Any, other: object) -> bool:
    """As Numba says it, but looks only at what was set in either: all options were asked for one by one, their defaults
    too, 100,000 times for an engine."""
    if not isinstance(other, Flags):
        return False
    mine_set, other_set = mine._values, other._values
    return bool(mine_set == other_set) or all(
        getattr(mine, name) == getattr(other, name) for name in {*mine_set, *other_set}
    )


def _counted_in(context: Any, builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """Whose references are counted inside a value, with their types. Numba takes out every number of every array on the
    way, ten for one that it needs; here members that hold nothing counted are left where they are."""
    models = context._context.data_model_manager
    model = models[kind]
    found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
    for member, take in model.traverse(builder):
        if member not in _counted:
            _counted[member] = models[member].contains_nrt_meminfo()
        if _counted[member]:
            found += _counted_in(context, builder, member, take(value))
    return found


def leave_out_what_is_for_nothing() -> None:
    """Flags are part of a key that Numba looks up for every call it infers. Its hash is that of the options' names, the
    same for all, and made of them anew each time."""
    flags: Any = Flags
    counting: Any = NRTContext
    known = hash(flags())
    flags.__eq__, flags.__hash__ = _same_flags, lambda mine: known
    counting.get_meminfos = _counted_in
