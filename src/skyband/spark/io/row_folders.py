"""The folders of a stream's rows: `batch=N/` appears in one step (a rename), and holds the rows of micro-batch N, or of
all since the folder before it where they are gathered. What is not to be seen yet lies under names that readers pass
over."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession

from skyband.errors import DataError
from skyband.spark.io.storage import Storage

BATCH = "batch="
HELD, WRITING, OLD = "_skyband_held", "_skyband_writing", "_skyband_old"


class RowFolders:
    def __init__(self, spark: SparkSession, where: str) -> None:
        self.root = Storage(spark, where)

    def shown(self) -> list[int]:
        return _numbers(self.root.names())

    def held(self) -> list[int]:
        """Micro-batches whose rows are kept back."""
        return _numbers((self.root / HELD).names())

    def last(self) -> int:
        return max([-1, *self.shown(), *self.held()])

    def holding(self, number: int) -> Storage:
        return self.root / HELD / f"{BATCH}{number}"

    def writing(self, number: int) -> Storage:
        return self.root / WRITING / f"{BATCH}{number}"

    def show(self, number: int) -> None:
        """What was written becomes visible; what was there under this number, because it is done again, goes."""
        place = self.root / f"{BATCH}{number}"
        old = self._aside(place)
        self.writing(number).move(place)
        old.delete()

    def withdraw(self, number: int) -> None:
        self._aside(self.root / f"{BATCH}{number}").delete()

    def _aside(self, place: Storage) -> Storage:
        """In one step out of sight: files are deleted one by one."""
        old = self.root / OLD / str(place.path.getName())
        if place.exists():
            old.delete()
            place.move(old)
        return old

    def drop_held(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.holding(number).delete()

    def drop_shown_twice(self, committed: int) -> None:
        """A start that was cut off between the two steps: shown, and still held."""
        newest = max((number for number in self.shown() if number <= committed), default=-1)
        self.drop_held(number for number in self.held() if number <= newest)

    def rewind(self, committed: int) -> None:
        """Rows of later micro-batches go; refused where a folder has some of both."""
        shown = sorted(self.shown())
        spanning = next((number for number in shown if number > committed), None)
        earlier = max((number for number in shown if number <= committed), default=-1)
        if spanning is not None and earlier < committed:
            raise DataError(
                f"{self.root}/{BATCH}{spanning} holds the rows of micro-batches {earlier + 1} to {spanning}, "
                f"and the checkpoint ends with {committed}",
                expected="a copy of the sink that is as old as the checkpoint",
                hint="or begin anew: another checkpoint, and --overwrite",
            )
        for number in shown:
            if number > committed:
                self.withdraw(number)
        self.drop_held(number for number in self.held() if number > committed)


def _numbers(names: Iterable[str]) -> list[int]:
    found = (name.removeprefix(BATCH) for name in names if name.startswith(BATCH))
    return sorted(int(number) for number in found if number.isdigit())
