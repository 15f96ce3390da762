"""Machine code on disk is as old as the oldest text it was made of: what a kernel's stamp must contain."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, resolve_name, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import skyband
from skyband.engines.kernels import dispatch, frugal, jit

HOME = Path(skyband.__file__).parent
KERNELS = "skyband.engines.kernels"
TREE = {
    "__init__.py": "",
    "model/__init__.py": "",
    "model/limits.py": "from skyband.model import origin\nLIMIT = origin.ORIGIN * 10\n",
    "model/origin.py": "ORIGIN = 1\n",
    "model/unasked.py": "",
    "engines/__init__.py": "",
    "engines/kernels/__init__.py": "",
    "engines/kernels/deep/__init__.py": "from skyband.engines.kernels.deep.inner import more\n",
    "engines/kernels/deep/outer.py": """
from skyband.engines.kernels.deep import (  # what it calls (here through the package)
    more as added,
)
from skyband.engines.kernels.jit import kernel

@kernel
def outer():
    return added() + 1000
""",
    "engines/kernels/deep/inner.py": """
from skyband.engines.kernels.jit import kernel
from skyband.model.limits import LIMIT

@kernel
def more():
    return LIMIT + 100
""",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package with a kernel in a sub-package, one that it calls, and a constant of the model."""
    home = tmp_path / "skyband"
    for name, text in TREE.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    for module in (jit, dispatch, frugal):
        shutil.copy(str(module.__file__), home / "engines/kernels")
    return home


def answer_of_a_fresh_process(tree: Path) -> int:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    # Python's own cache looks at whole seconds and sizes, and these changes are smaller.
    environment |= {"PYTHONPATH": str(tree.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"NUMBA_CACHE_DIR": str(tree.parent / "cache")}
    ask = f"from {KERNELS}.deep.outer import outer; print(outer())"
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_changed_kernel_or_constant_changes_the_answer_of_the_next_process(tree: Path) -> None:
    assert answer_of_a_fresh_process(tree) == 1110
    (tree / "model/origin.py").write_text("ORIGIN = 2\n")
    assert answer_of_a_fresh_process(tree) == 1120
    inner = tree / "engines/kernels/deep/inner.py"
    inner.write_text(inner.read_text().replace("100", "200"))
    assert answer_of_a_fresh_process(tree) == 1220


def loaded_from(tree: Path) -> ModuleType:
    """`jit.py` of that tree, which knows of nothing that was read before."""
    spec = spec_from_file_location(jit.__name__, tree / "engines/kernels/jit.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stamp(tree: Path, module: str) -> dict[str, str]:
    path = tree.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return dict(loaded_from(tree).sources(module, file))


@pytest.mark.nojit
def test_the_stamp_of_a_kernel_in_a_sub_package_names_all_it_is_made_of_and_nothing_else(tree: Path) -> None:
    assert set(stamp(tree, f"{KERNELS}.deep.outer")) == {
        f"{KERNELS}.dispatch",
        f"{KERNELS}.frugal",
        f"{KERNELS}.jit",
        f"{KERNELS}.deep",
        f"{KERNELS}.deep.inner",
        f"{KERNELS}.deep.outer",
        "skyband.model",
        "skyband.model.limits",
        "skyband.model.origin",
    }


@pytest.mark.nojit
@pytest.mark.parametrize("changed", ["model/origin.py", "model/limits.py", "engines/kernels/deep/inner.py"])
def test_the_stamp_changes_with_each_text_even_of_the_same_length_and_age(tree: Path, changed: str) -> None:
    before, file = stamp(tree, f"{KERNELS}.deep.outer"), tree / changed
    age = file.stat()
    file.write_text(file.read_text().replace("1", "2").replace("* 10", "* 20"))
    os.utime(file, ns=(age.st_atime_ns, age.st_mtime_ns))
    after = stamp(tree, f"{KERNELS}.deep.outer")
    assert [name for name in before if before[name] != after[name]] == [
        f"skyband.{changed.removesuffix('.py').replace('/', '.')}"
    ]


@pytest.mark.nojit
@pytest.mark.parametrize(
    "form",
    [
        "from skyband.model.origin import ORIGIN",
        "from skyband.model.origin import (\n    ORIGIN,\n)",
        "from skyband.model import limits as l, origin",
        "from skyband.model import (\n    limits,  # (why)\n    origin,\n)",
        "from skyband.model import limits, \\\n    origin",
        "import skyband.model.origin",
        "import skyband.model.limits as l, skyband.model.origin as o",
        "def late():\n    from skyband.model.origin import ORIGIN",
        "from ....model.origin import ORIGIN",
        "from .near import ORIGIN",
        "from . import near",
    ],
)
@pytest.mark.parametrize("name", ["outer.py", "__init__.py"])
def test_every_way_to_import_is_seen(tree: Path, form: str, name: str) -> None:
    deep = tree / "engines/kernels/deep"
    (deep / "near.py").write_text("from skyband.model.origin import ORIGIN\n")
    (deep / name).write_text(f'"""from here\nimport text\n"""\n{form}\n')
    module = f"{KERNELS}.deep" if name == "__init__.py" else f"{KERNELS}.deep.outer"
    assert "skyband.model.origin" in stamp(tree, module)


@pytest.mark.nojit
def test_a_function_outside_the_package_has_its_own_file_in_the_stamp(tree: Path, tmp_path: Path) -> None:
    file = tmp_path / "measure.py"
    file.write_text("from skyband.engines.kernels.deep.inner import more\n")
    found = dict(loaded_from(tree).sources("__main__", file))
    assert {"__main__", f"{KERNELS}.deep.inner", "skyband.model.origin"} <= set(found)


def modules() -> dict[str, Path]:
    """Every file of kernels by its dotted name."""
    found = {}
    for file in (HOME / "engines/kernels").rglob("*.py"):
        parts = ("skyband", *file.relative_to(HOME).with_suffix("").parts)
        found[".".join(parts[:-1] if file.name == "__init__.py" else parts)] = file
    return found


def imported_by(module: str, file: Path) -> set[str]:
    """What Python's own parser says a file of this package imports from this package."""
    found: set[str] = set()
    home = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), home)
            found |= {origin, *(f"{origin}.{each.name}" for each in node.names)}
    return {name for name in found if name.split(".")[0] == "skyband"}


@pytest.mark.nojit
def test_stamps_of_all_kernels_hold_what_the_parser_of_python_finds() -> None:
    for module, file in modules().items():
        found = dict(jit.sources(module, file))
        for name in imported_by(module, file):
            path = HOME.joinpath(*name.split(".")[1:])
            if path.is_dir() or path.with_suffix(".py").exists():
                assert name in found, (module, name)


@pytest.mark.nojit
def test_kernels_are_made_of_what_they_call_and_of_constants_of_the_model() -> None:
    found = dict(jit.sources(f"{KERNELS}.shared.close", HOME / "engines/kernels/shared/close.py"))
    assert {f"{KERNELS}.{name}" for name in ("jit", "shared.close", "shared.state", "common.pane")} <= set(found)
    assert not any(name.startswith((f"{KERNELS}.sap", f"{KERNELS}.grid", f"{KERNELS}.uncertain")) for name in found)
    found = dict(jit.sources(f"{KERNELS}.grid.search", HOME / "engines/kernels/grid/search.py"))
    assert {"skyband.model.arrays", "skyband.model.many"} <= set(found)
