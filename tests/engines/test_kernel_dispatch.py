"""Machine code of several processes meets in one: what it calls must be what it was compiled with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba.core.compiler import Flags

KERNELS = """
import numpy as np
from skyband.engines.kernels.jit import kernel

@kernel
def ordered(numbers):
    return np.sort(numbers)

@kernel
def order(numbers):
    return np.argsort(numbers)

falling = np.arange(40)[::-1].copy()
"""
CALLED = """
from skyband.engines.kernels.jit import kernel

@kernel
def shifted(number, by):
    if by > 9:
        raise ValueError("by too much")
    return number + by

@kernel
def shifted_thrice(number):
    return shifted(number, 1) + shifted(number, 2) + shifted(number, by=number)
"""
STRUCTURE = """
from typing import NamedTuple
import numpy as np
from skyband.engines.kernels.jit import kernel

class Inner(NamedTuple):
    low: np.ndarray
    high: np.ndarray

class Outer(NamedTuple):
    first: Inner
    second: Inner
    size: int

@kernel
def grown(one, room):
    if room > one.size:
        return Outer(Inner(np.zeros(room), one.first.high), one.second, room)
    return Outer(one.second, one.first, one.size)
"""
COUNTED_ON = "from numba.core.bytecode import FunctionIdentity as Names; [next(Names._unique_ids) for _ in range(3)]; "
"""After which the parts of `sort` here have the numbers of those of `argsort` there (in Numba 0.68)."""


def in_a_process(folder: Path, program: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    environment |= {"NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_kernels_compiled_by_two_processes_work_side_by_side_in_a_third(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)
    in_a_process(tmp_path, f"{COUNTED_ON} from kernels import *; ordered(falling)")
    in_a_process(tmp_path, "from kernels import *; order(falling)")
    told = in_a_process(tmp_path, "from kernels import *; print(*ordered(falling)); print(*order(falling))")
    assert told.splitlines() == [" ".join(map(str, range(40))), " ".join(map(str, range(39, -1, -1)))]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_numbers_its_kernels_anew(tmp_path: Path) -> None:
    program = """
import os
from numba.core.bytecode import FunctionIdentity as Names
import skyband.engines.kernels.jit
child = os.fork()
if child:
    os.waitpid(child, 0)
print(next(Names._unique_ids), flush=True)
"""
    child, parent = map(int, in_a_process(tmp_path, program).split())
    assert abs(parent - child) > 1_000_000


def test_what_kernels_call_is_compiled_once_for_all_numbers_and_can_be_called_by_itself(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(CALLED)
    program = """
from kernels import shifted, shifted_thrice
print(shifted_thrice(3), len(shifted._callee.signatures), len(shifted.signatures), shifted(3, 4))
try:
    shifted_thrice(10)
except ValueError as error:
    print(error)
"""
    assert in_a_process(tmp_path, program).splitlines() == [f"{4 + 5 + 6} 1 0 7", "by too much"]


def test_flags_compare_as_numba_compares_them() -> None:
    """Two that set the same, or one of them to its default, are equal; and found again under their key."""
    flags: Any = Flags
    one, other, third = flags(), flags(), flags()
    one.nrt = other.nrt = True
    third.nrt, third.boundscheck = True, False
    assert one == other == third
    assert hash(one) == hash(other) == hash(third)
    other.error_model = "numpy"
    assert one != other
    assert {one: 1, other: 2}[third] == 1
    assert one != "nrt"


def test_of_a_structure_only_what_is_needed_is_taken_apart(tmp_path: Path) -> None:
    """Numba takes ten numbers out of an array for each that it counts references by, and writes a form for C."""
    (tmp_path / "kernels.py").write_text(STRUCTURE)
    program = """
from numba.core import codegen
read, texts = codegen.ll.parse_assembly, []
codegen.ll.parse_assembly = lambda text, *more: texts.append(text) or read(text, *more)
from kernels import *
grown(Outer(*[Inner(np.ones(1), np.ones(1))] * 2, 1), 3)
kernel = max((text for text in texts if 'ModuleID = "grown' in text), key=len)
print(kernel.count("extractvalue"), kernel.count("call void @\\"NRT_"), sum("cfunc" in text for text in texts))
"""
    taken, counted, for_c = map(int, in_a_process(tmp_path, program).split())
    assert counted > 20
    assert taken < 5 * counted
    assert for_c == 0


def test_references_to_what_a_structure_holds_are_counted(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(STRUCTURE)
    program = """
import os
os.environ["NUMBA_NRT_STATS"] = "1"
from numba.core.runtime import rtsys
from kernels import *
one = Outer(*(Inner(np.full(1, n), np.full(1, n)) for n in (1.0, 2.0)), 1)
for room in range(1, 9):
    one = grown(one, room)
held = [*one.first, *one.second]
print(*(each[0] for each in held))
del one, held
made = rtsys.get_allocation_stats()
print(made.alloc > 6, made.alloc - made.free, made.mi_alloc - made.mi_free)
"""
    assert in_a_process(tmp_path, program).splitlines() == ["0.0 2.0 1.0 1.0", "True 0 0"]
