"""A job as the owner of its sinks: which folder it may write to, and what it may remove there."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

from skyband.errors import DataError, SkybandError
from skyband.runtime.locations import not_empty
from skyband.runtime.owned_folders import MARK, check_ours, content
from skyband.spark.io.small_files import small_file
from skyband.spark.io.storage import Storage
from skyband.spark.ownership.lease import Lease, Leases, is_free, read

ACCEPTED = ("sink", "source", "rewind")


def new_job() -> str:
    return uuid4().hex[:16]


@dataclass(frozen=True)
class Owner:
    """One start of a job."""

    job: str = field(default_factory=new_job)
    named: str = ""
    """What the identity of its rows says of it; nothing for jobs that began before identities did."""
    checkpoint: str = ""
    """Empty for a batch."""
    committed: int | None = None
    """The last micro-batch that is done; None if there is none."""
    marked: bool = True
    """Whether its checkpoint knows its sinks by their marks: one of an earlier release does not."""
    overwrite: bool = False
    accepted: frozenset[str] = frozenset()
    leases: Leases = field(default_factory=Leases)

    def own(self, folder: Storage) -> None:
        """Take a folder for rows, or say why not."""
        mark = small_file(folder / MARK)
        known = read(mark.read())
        there, job = content(folder.names()), known.get("job")
        self._check(str(folder), there, job, known.get("checkpoint"))
        if there and self.committed is None:
            check_ours(str(folder), folder.files())
        if job not in (None, self.job) and not is_free(mark.read(), str(folder)):
            there = []  # Whoever holds it is named when the lease is asked for.
        self.leases.take(Lease(mark, str(folder), self.job, self.checkpoint))
        if self.committed is None:
            for name in there:
                (folder / name).delete()

    def _check(self, where: str, there: list[str], job: str | None, checkpoint: str | None) -> None:
        if self.committed is None:
            if there and not self.overwrite:
                raise not_empty(where) if job in (None, self.job) else _of_another(where, checkpoint)
        elif there and job not in (None, self.job):
            raise _of_another(where, checkpoint)
        elif there and job is None and self.marked:
            raise DataError(
                f"{where} holds files, and none that says they are of this job ({MARK} is not there)",
                expected="the sink that the checkpoint was begun with",
            )
        elif not there and job != self.job and "sink" not in self.accepted:
            raise DataError(
                f"{where} is empty, and the checkpoint has written {self.committed + 1:,} micro-batches elsewhere",
                expected="the sink that the checkpoint was begun with",
                hint="--accept sink goes on into this one: earlier rows stay where they are",
            )

    def check_rewound(self, where: str, last: int) -> bool:
        """Whether micro-batches that the checkpoint does not know have to go from the sink: the checkpoint is older
        than it. One that was written and not committed is written again, and so is what `--drain` wrote."""
        known = -1 if self.committed is None else self.committed
        if last <= known + 1:
            return False
        if "rewind" not in self.accepted:
            raise DataError(
                f"the checkpoint ends with micro-batch {known}, and {where} has rows of micro-batch {last}: "
                "the checkpoint is an older copy",
                expected="the checkpoint that these rows were written with",
                hint="--accept rewind removes the rows of later micro-batches and writes them again from the source, "
                "if that still has the records",
            )
        return True


def _of_another(where: str, checkpoint: str | None) -> SkybandError:
    whose = f", whose checkpoint is {checkpoint}" if checkpoint else ""
    return DataError(
        f"{where} is the sink of another job{whose}",
        expected="a new or empty folder, or the sink that this checkpoint was begun with",
    )
