"""Choosing, sorting and copying inside kernels, and that kernels do it this way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import skyband.engines.kernels as kernels
from skyband.engines.kernels.common.select import best_first, copy_into, highest, sort_rising
from tests.drawn import examples

TYPES = pytest.mark.parametrize("kind", [np.float64, np.int64])
LISTS = st.lists(st.integers(-5, 5) | st.integers(-(2**62), 2**62), min_size=1, max_size=60)
FOLDERS = ("common", "lists", "sap", "shared")
"""What an engine for complete data compiles before its first answer."""
DEAR = {"partition", "argpartition", "sort", "searchsorted"}


@TYPES
@examples(100)
@given(LISTS, st.data())
def test_the_best_come_first_and_the_last_of_them_is_the_kth(kind: type, drawn: list[int], data: st.DataObject) -> None:
    values: Any = np.array(drawn).astype(kind)
    n = data.draw(st.integers(1, len(values)))
    k = data.draw(st.integers(1, n))
    rest = values[n:].copy()
    ranked = np.sort(values[:n])[::-1]
    assert best_first(values, n, k) == values[k - 1] == ranked[k - 1]
    assert sorted(values[:k], reverse=True) == ranked[:k].tolist()
    assert sorted(values[:n]) == ranked[::-1].tolist()
    assert values[n:].tolist() == rest.tolist()


@TYPES
@examples(100)
@given(LISTS, st.data())
def test_the_first_are_sorted_and_no_other(kind: type, drawn: list[int], data: st.DataObject) -> None:
    values: Any = np.array(drawn).astype(kind)
    n = data.draw(st.integers(0, len(values)))
    wanted = [*np.sort(values[:n]).tolist(), *values[n:].tolist()]
    sort_rising(values, n)
    assert values.tolist() == wanted


def test_infinities_are_numbers_like_others() -> None:
    values = np.array([1.0, np.inf, -np.inf, 2.0, np.inf])
    assert best_first(values, 5, 3) == 2.0
    assert highest(values) == np.inf
    sort_rising(values, 5)
    assert values.tolist() == [-np.inf, 1.0, 2.0, np.inf, np.inf]


def test_equal_values_are_chosen_in_linear_time() -> None:
    values = np.zeros(1 << 20)
    assert best_first(values, len(values), 1000) == 0.0


def test_no_more_is_copied_than_was_asked_for() -> None:
    target = np.zeros(4)
    copy_into(target, np.ones(4), 3)
    assert target.tolist() == [1, 1, 1, 0]


def test_no_kernel_makes_the_compiler_go_through_numpys_own() -> None:
    """They take seconds to compile, before every first answer."""
    home = Path(kernels.__file__).parent
    found = [
        f"{file.relative_to(home)}:{line} {what}"
        for folder in FOLDERS
        for file in sorted((home / folder).glob("*.py"))
        for line, what in _dear(ast.parse(file.read_text()))
    ]
    assert found == []


def _dear(module: ast.Module) -> Iterator[tuple[int, str]]:
    for function in module.body:
        if isinstance(function, ast.FunctionDef) and any(
            isinstance(each, ast.Name) for each in function.decorator_list
        ):
            for each in ast.walk(function):
                if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "np" and each.attr in DEAR:
                    yield each.lineno, ast.unparse(each)
                if isinstance(each, ast.Assign) and not isinstance(each.value, ast.Constant):
                    yield from ((each.lineno, ast.unparse(each)) for target in each.targets if _is_slice(target))


def _is_slice(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice)
