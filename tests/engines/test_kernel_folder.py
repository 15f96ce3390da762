"""Machine code is unpickled from where it lies: only from folders that nobody else can write."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from skyband.engines.kernels import jit
from skyband.engines.kernels.jit import is_private

SAY = "from skyband.engines.compiled import cache_folder; print(cache_folder())"


def cached_in(**environment: str) -> str:
    known = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment
    known.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run([sys.executable, "-c", SAY], env=known, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_folder_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    mine, shared = tmp_path / "mine", tmp_path / "shared"
    for folder, mode in ((mine, 0o755), (shared, 0o777)):
        folder.mkdir()
        folder.chmod(mode)
    assert Path(cached_in(NUMBA_CACHE_DIR=str(mine))).is_relative_to(mine)
    assert cached_in(NUMBA_CACHE_DIR=str(shared)) == "None"


@pytest.mark.parametrize(("mode", "private"), [(0o700, True), (0o755, True), (0o777, False), (0o1777, False)], ids=oct)
def test_whose_a_folder_is(tmp_path: Path, mode: int, private: bool) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    folder.chmod(mode)
    assert is_private(folder) == private
    # Below a sticky one, as /tmp is, what is ours stays ours; below one that anybody can change, nothing is.
    (folder / "ours").mkdir(mode=0o700)
    assert is_private(folder / "ours") == (private or mode == 0o1777)


def test_where_the_package_is_not_private_kernels_are_kept_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jit, "_HOME", tmp_path / "open")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    jit.own_folder.cache_clear()
    monkeypatch.setattr(jit._SETTINGS, "CACHE_DIR", "")
    with jit._own_folder():
        kept = Path(jit._SETTINGS.CACHE_DIR)
    assert jit._SETTINGS.CACHE_DIR == ""
    assert kept == tmp_path / "skyband" / "kernels"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    jit.own_folder.cache_clear()
