"""A disk that is full ends a job cleanly, wherever that is met; with room on it the same command goes on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark import jobs

pytestmark = [pytest.mark.spark, pytest.mark.slow]
SIZE = 8 * 2**20
LEFT = [int(each) for each in os.environ.get("SKYBAND_LEFT", "4000,300000").split(",")]
"""Bytes that are left at first: they end sooner or later in the job's life."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be had: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.parametrize("left", LEFT)
def test_a_full_disk_ends_the_job_and_it_goes_on_when_there_is_room(tmp_path: Path, disk: Path, left: int) -> None:
    tables = jobs.trades(files=5)
    jobs.write_files(tmp_path / "in", tables)
    words: list[str | Path] = [
        "run", jobs.write_workload(tmp_path), "--source", f"trades={tmp_path / 'in'}?maxFilesPerTrigger=1",
        "--sink", disk / "out", "--checkpoint", disk / "checkpoint", "--master", "local[1]",
        "--stream", "--once", "--drain",
    ]  # fmt: skip
    filler = disk / "filler"
    filler.write_bytes(b"\0" * (SIZE - left))
    run = jobs.skyband if left == LEFT[0] else jobs.warm
    ended = run(*words)
    assert ended.returncode == 3, ended.stderr
    assert "disk is full" in ended.stderr
    assert "Traceback" not in ended.stderr
    filler.unlink()
    done = jobs.warm(*words)
    assert done.returncode == 0, done.stderr
    assert jobs.bag(jobs.listed(disk / "out").to_pylist()) == jobs.bag(jobs.monitored(tables).to_pylist())


def test_a_full_disk_keeps_nobody_waiting(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither who finds a lease that was being made, nor who comes after one that could not be let go."""
    from skyband.spark.io.small_files import DiskFile
    from skyband.spark.ownership import lease

    class Unreachable(DiskFile):
        def read(self) -> str | None:
            raise OSError(f"{self.path} does not answer")

    filler, file = disk / "filler", DiskFile(disk / "lease")
    fill(filler)
    mine, other = lease.Lease(file, "here", "job"), lease.Lease(file, "here", "job")
    with pytest.raises(OSError, match="No space left"):
        mine.take()
    assert file.read() is None
    filler.unlink()
    mine.take()
    fill(filler)
    all_mine = lease.Leases()
    all_mine._held += [lease.Lease(Unreachable(disk / "gone"), "there", "job"), mine]
    all_mine.release()
    filler.unlink()
    monkeypatch.setattr(lease, "LEASE", 0.0)
    other.take()
    other.check()


def fill(filler: Path) -> None:
    there = os.statvfs(filler.parent)
    filler.write_bytes(b"\0" * (there.f_bavail * there.f_frsize))
