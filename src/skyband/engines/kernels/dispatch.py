"""What is compiled, and how often: a kernel that Python calls becomes machine code, one that kernels call a part of it.

Left to itself, Numba makes machine code, and a wrapper for Python, of every function it meets, although callers hold
copies of what they call; and it starts anew for every literal number that a function is called with. For `shared`
that was two thirds of the time to a first answer. Here the libraries that callers are made of are only linked, each
once, and everything is optimised together, in the kernel that Python calls.

This leans on Numba's inner seams (how a dispatcher is asked for a callee, how a library is finished);
`tests/engines/test_kernel_dispatch.py` says when they move.
"""

from __future__ import annotations

import gc
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from typing import Any

from numba.core import types
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.cpu import CPUContext
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher

from skyband.engines.kernels.frugal import leave_out_what_is_for_nothing

Function = Callable[..., object]
ENVIRONMENT = "_ZN08NumbaEnv"
"""How the names begin under which Numba's code looks for the Python objects it needs."""


class _Library(JITCodeLibrary):
    _codegen: Any

    def _optimize_functions(self, module: Any) -> None:
        """As Numba does it, without setting out for every function that is only declared here: those were the most, and
        took 2 ms each."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)


class Part(_Library):
    """Code that callers link: neither optimised across functions nor emitted for itself, so nobody can call it."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _WithoutMemory:
        return _WithoutMemory(self._codegen)


class _WithoutMemory:
    """Numba's code generator as a part sees it: there is no machine code yet to be told of its Python objects."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: object) -> None:
        pass


class Whole(_Library):
    """Machine code, with all parts it is made of."""

    def finalize(self) -> None:
        parts: dict[Any, None] = {}
        _collect(self, parts)
        self._linking_libraries = list(parts)
        super().finalize()

    def remember(self) -> None:
        """Tell the code of its parts where their Python objects are, which they could not be told one by one."""
        for each in self._final_module.global_variables:
            if each.name.startswith(ENVIRONMENT):
                environment = lookup_environment(each.name)
                if environment is not None and self._codegen._engine.get_global_value_address(each.name):
                    self._codegen.set_env(each.name, environment)


def _collect(library: Any, parts: dict[Any, None]) -> None:
    for each in library._linking_libraries:
        if each not in parts:
            parts[each] = None
            _collect(each, parts)


@contextmanager
def _in_parts(codegen: Any) -> Iterator[None]:
    """What is compiled on the way, Numba's own functions too, becomes parts. (Numba's lock is held meanwhile.) Python's
    collector stands still: it would walk again and again through what is being made."""
    before, collects = codegen._library_class, gc.isenabled()
    codegen._library_class = Part
    gc.disable()
    try:
        yield
    finally:
        codegen._library_class = before
        if collects:
            gc.enable()


class _WholeCompiler(Compiler):
    def compile_extra(self, function: Function) -> Any:
        codegen = self.state.targetctx.codegen()
        library: Any = Whole(codegen, function.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        self.state.flags.no_cfunc_wrapper = True
        with _in_parts(codegen):
            compiled = super().compile_extra(function)
        library.remember()
        return compiled


class _PartCompiler(Compiler):
    def compile_extra(self, function: Function) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.flags.no_cpython_wrapper = True
        self.state.library = Part(codegen, function.__qualname__)
        with _in_parts(codegen):
            return super().compile_extra(function)


class _Callee(CPUDispatcher):
    """A kernel as other kernels call it: once for each combination of types, whatever the numbers."""

    def __init__(self, py_func: Function, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, _PartCompiler)

    def get_call_template(self, args: Sequence[Any], kws: Any) -> Any:
        named = {name: types.unliteral(each) for name, each in kws.items()}
        return super().get_call_template([types.unliteral(each) for each in args], named)


class Kernel(CPUDispatcher):
    """A kernel as Python calls it; kernels are given its other side."""

    def __init__(self, py_func: Function, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, _WholeCompiler)
        self._made_of = py_func, locals, targetoptions

    @cached_property
    def _callee(self) -> Any:
        """Made when a kernel asks for it: most processes find everything compiled."""
        return _Callee(*self._made_of)

    def get_call_template(self, args: Sequence[Any], kws: Any) -> Any:
        return self._callee.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self._callee.get_overload(sig)


def _number_apart() -> None:
    """Number the functions of this process unlike those of any other.

    Numba tells functions of one name and signature apart by a number that counts from 1 in every process: the parts of
    `np.sort` and of `np.argsort`, say, on integers. Machine code from two processes may so bring the same symbol for
    both, and the process that loads it takes the first for either: it sorts what it should have argsorted.
    """
    identity: Any = FunctionIdentity
    identity._unique_ids = count(secrets.randbits(62))


def _wrap_for_c(context: Any, library: Any, *of: Any) -> None:
    """Numba makes a form for C of each of its own functions that a kernel uses; nobody calls a part from C."""
    if not isinstance(library, Part):
        _wrapped_for_c(context, library, *of)


_target: Any = CPUContext
_wrapped_for_c, _target.create_cfunc_wrapper = _target.create_cfunc_wrapper, _wrap_for_c
leave_out_what_is_for_nothing()
_number_apart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_number_apart)
