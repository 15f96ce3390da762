"""`skyband warm`: compile kernels before anybody needs them, on all cores."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from skyband.cli.context import read_workload
from skyband.engines.base import registration
from skyband.engines.compiled import TABLE, cache_folder, note_of, units, units_of
from skyband.engines.compiling import Attempt, Compiler
from skyband.errors import UnavailableError

LONGEST = ("sap", "shared", "pk_topk", "approximate", "sma")
"""Units of these begin first: whoever begins with them last waits for one of them alone. What shares their kernels
comes when those are there."""
PAUSE = 0.2
Idle = SimpleQueue[Compiler]
"""Compilers that have nothing to do."""


def warm(
    workload: Annotated[
        Path | None, typer.Argument(metavar="[WORKLOAD.sql]", help="Only what these streams and queries need.")
    ] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="Only this engine.")] = None,
) -> None:
    """Compile the kernels of all engines, or of those that are needed, on all cores; what is compiled stays so."""
    folder, wanted = _folder(), _wanted(workload, engine)
    missing = [unit for unit in wanted if not _note(unit).exists()]
    console, began = Console(highlight=False), time.monotonic()
    if not missing:
        console.print(
            f"Nothing to do: the kernels of {len(wanted)} units are compiled, in {folder}", markup=False, soft_wrap=True
        )
        return
    failed = dict(_compiled(missing, console))
    seconds = time.monotonic() - began
    console.print(
        f"{len(missing) - len(failed)} units compiled in {seconds:.0f} s, in {folder}", markup=False, soft_wrap=True
    )
    if failed:
        raise UnavailableError(
            "not compiled: " + "; ".join(f"{unit}: {why}" for unit, why in failed.items()),
            hint="queries that need them wait for the compiler, or are answered by slower code without kernels",
        )


def _wanted(workload: Path | None, engine: str | None) -> Sequence[str]:
    if engine is not None and engine != TABLE:
        registration(engine)
    if workload is not None:
        return units_of(planned.choice.engine for planned in read_workload(workload).plan(engine).families)
    return units() if engine is None else units_of([engine])


def _folder() -> Path:
    """Where kernels are kept; refused where that is not where it should be."""
    folder, asked = cache_folder(), os.environ.get("NUMBA_CACHE_DIR")
    if folder is None:
        raise UnavailableError(
            "there is no folder where compiled kernels can be kept",
            expected="NUMBA_CACHE_DIR = a folder that can be written and stays, and no NUMBA_DISABLE_JIT",
        )
    if asked and not folder.is_relative_to(Path(asked).absolute()):
        raise UnavailableError(
            f"nothing can be written to NUMBA_CACHE_DIR = {asked}", expected="a folder that can be written and stays"
        )
    return folder


def _compiled(missing: Sequence[str], console: Console) -> Iterator[tuple[str, str]]:
    """Those that could not be, and why; the others are told of, one by one or as a bar."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("compiling kernels", total=len(missing))
        with _compilers() as idle, ThreadPoolExecutor(os.cpu_count()) as pool, _dropped(pool):
            begun = {pool.submit(_compile, unit, idle): unit for unit in sorted(missing, key=_begins)}
            for done in as_completed(begun):
                unit, (seconds, why) = begun[done], done.result()
                progress.advance(task)
                console.print(f"{unit:20} {seconds:5.1f} s" if why is None else f"{unit:20} failed")
                if why is not None:
                    yield unit, why


@contextmanager
def _compilers() -> Iterator[Idle]:
    """One for each core."""
    all, idle = [Compiler() for _ in range(os.cpu_count() or 1)], Idle()
    for each in all:
        idle.put(each)
    try:
        yield idle
    finally:
        for each in all:
            each.end()


@contextmanager
def _dropped(pool: ThreadPoolExecutor) -> Iterator[None]:
    """What has not begun is dropped if what this is around fails: Ctrl-C ends it."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _compile(unit: str, idle: Idle) -> tuple[float, str | None]:
    """How long it took, and what went wrong. Where a process compiles it already, that one is waited for."""
    began, note = time.monotonic(), _note(unit)
    while (attempt := Attempt.claim(note)) is None:
        time.sleep(PAUSE)
    compiler = idle.get()
    try:
        with attempt:
            why = None if note.exists() else attempt.run(unit, compiler)
    finally:
        idle.put(compiler)
    return time.monotonic() - began, why


def _begins(unit: str) -> int:
    engine = unit.rpartition("-")[0]
    return LONGEST.index(engine) if engine in LONGEST else len(LONGEST)


def _note(unit: str) -> Path:
    note = note_of(unit)
    assert note is not None
    return note
