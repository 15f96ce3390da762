"""How every kernel is compiled: cached on disk, so that the second start of a process does not compile again."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import NullCache
from numba.core.registry import cpu_target

from skyband.engines.kernels.dispatch import Kernel

F = TypeVar("F", bound=Callable[..., object])
_SETTINGS: Any = numba.config
_PACKAGE, _HOME = "skyband", Path(__file__).parents[2]
_IMPORT = re.compile(
    r"""^[ \t]* (?:
        from [ \t]+ ([.\w]+) [ \t]+ import [ \t]* ( \( (?: \#.* | [^)#] )* | (?: \\\n | . )* )
        | import [ \t]+ ( (?: \\\n | . )* )
    )""",
    re.MULTILINE | re.VERBOSE,
)
"""A statement that imports, over however many lines: from where, which names; or which modules. Python's own parser
takes many times as long, and every process that starts would wait for it."""


def kernel(function: F) -> F:
    """Compile at first call, keep the machine code in the cache: NUMBA_CACHE_DIR, or beside the module, or in a folder
    of the user's own where others can write there."""
    return _compiled(function)


def bare(function: F) -> F:
    """A kernel that works on its caller's arrays and makes none, so nobody counts references to them: with structures
    of twenty arrays that counting cost more than the work. Making an array in it does not compile."""
    return _compiled(function, _nrt=False)


def inlined(function: F) -> F:
    """A small bare kernel for innermost loops: it becomes part of its callers, so its arguments are not copied."""
    return _compiled(function, _nrt=False, forceinline=True)


def without_nan(function: F) -> F:
    """A bare kernel that sees no NaN, and to which -0 is 0: the greatest of many numbers is found eight at a time."""
    return _compiled(function, _nrt=False, fastmath={"nnan", "nsz"})


def _compiled(function: F, **options: object) -> F:
    if _SETTINGS.DISABLE_JIT:
        return function
    compiled: Any = Kernel(function, targetoptions={"nopython": True, "error_model": "numpy", **options})
    try:
        with _own_folder():
            compiled.enable_caching()
    except RuntimeError:  # Nothing can be written anywhere: every process compiles for itself.
        return cast("F", compiled)
    if not is_private(Path(compiled._cache.cache_path)):
        # Machine code is loaded by unpickling what lies there: whoever can write it could run anything here.
        compiled._cache = NullCache()
        return cast("F", compiled)
    # Numba asks only whether the function's own file changed. But kernels are compiled into their callers, and
    # constants into kernels: where those stand in another file that changed, the old code would go on.
    stamp = sources(function.__module__, Path(compiled.py_func.__code__.co_filename))
    stored = compiled._cache._cache_file
    stored._source_stamp = stamp
    # Asked before anything is unpickled: what other sources left behind may name a class that is no more.
    stored._version = f"{numba.__version__} {stamp}"
    return cast("F", compiled)


@contextmanager
def _own_folder() -> Iterator[None]:
    """Numba looks for a place in here: the user's own folder, unless one was named, or this package is in one."""
    asked = _SETTINGS.CACHE_DIR
    own = None if asked or is_private(_HOME) else own_folder()
    _SETTINGS.CACHE_DIR = asked if own is None else str(own)
    try:
        yield
    finally:
        _SETTINGS.CACHE_DIR = asked


@cache
def own_folder() -> Path | None:
    """Where nobody else writes or reads; None if there is no such place."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = Path(home, _PACKAGE, "kernels")
    try:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError:
        return None
    return path if path.is_absolute() and is_private(path) else None


@cache
def is_private(folder: Path) -> bool:
    """Whether nobody but this user (and root) can put something there, or put another folder in its place."""
    if not hasattr(os, "getuid"):
        return True
    there = [each for each in (folder, *folder.absolute().parents) if each.exists()]
    # A folder that is still to be made can be made by whoever can write where it will be.
    return _is_ours(there[0].stat()) and all(_is_ours(each.stat(), may_stick=True) for each in there[1:])


def _is_ours(said: os.stat_result, may_stick: bool = False) -> bool:
    """The user's or root's, and no other's to write. (In a folder like /tmp others do not touch what is there.)"""
    user = os.getuid()
    if said.st_uid not in (0, user):
        return False
    if may_stick and said.st_mode & stat.S_ISVTX:
        return True
    # Where every user has a group of the same number there is nobody else in it.
    trusted = said.st_gid == 0 or said.st_gid == user
    return not said.st_mode & (stat.S_IWOTH if trusted else stat.S_IWOTH | stat.S_IWGRP)


@cache
def sources(module: str, file: Path) -> tuple[tuple[str, str], ...]:
    """The modules that a kernel of this one is made of, each with the digest of its text: its own, those of this
    package that it imports from (kernels it calls, constants of the model), and so on."""
    found: dict[str, str] = {}
    ask = [(module, file)]
    while ask:
        name, path = ask.pop()
        if name not in found:
            found[name], imported = _read(name, path)
            ask += imported
    return tuple(sorted(found.items()))


@cache
def _read(module: str, file: Path) -> tuple[str, list[tuple[str, Path]]]:
    """The digest of a module's text, and the modules of this package that it imports from."""
    text = file.read_text(encoding="utf-8")
    home = module if file.name == "__init__.py" else module.rpartition(".")[0]
    found = {name: path for name in _imported(text, home) if (path := _file_of(name))}
    return blake2b(text.encode(), digest_size=8).hexdigest(), list(found.items())


def _imported(text: str, home: str) -> Iterator[str]:
    """What the text of a module in the package `home` imports, by dotted names. Some are names inside modules."""
    for source, names, modules in _IMPORT.findall(text):
        yield from re.findall(r"[.\w]+", modules)
        if source.startswith(_PACKAGE) or (source.startswith(".") and home):
            origin = resolve_name(source, home)
            yield origin
            yield from (f"{origin}.{name}" for name in re.findall(r"\w+", names))


@cache
def _file_of(module: str) -> Path | None:
    """Where a module of this package is, found without importing it: this is asked in the middle of imports."""
    package, _, name = module.rpartition(".")
    if not package:
        return _HOME / "__init__.py" if name == _PACKAGE else None
    above = _file_of(package)
    if above is None or above.name != "__init__.py":
        return None  # most names that are imported are of things inside a module
    path = above.parent / name
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def prepare() -> None:
    """Look for all that Numba looks for, and imports, when a process uses its first kernel: a tenth of a second."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
