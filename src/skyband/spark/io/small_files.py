"""Small files that several processes look at: read and written whole, or made only where there is none.

A rename is one step on a disk and on HDFS; in an object store a file appears when it is whole, and a rename is a copy.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from skyband.spark.io.storage import Storage
from skyband.spark.io.stores import GCS, S3

BESIDE = ".new"
_ONLY_NEW = "fs.option.create.conditional.overwrite"
"""An object store that knows conditional writes is asked for one; others look first."""


class SmallFile(Protocol):
    def read(self) -> str | None:
        """None if it is not there."""

    def write(self, text: str) -> None:
        """Whole or not at all."""

    def overwrite(self, text: str) -> None:
        """Something shorter in its place, where a full disk has no room for another file beside it."""

    def create(self, text: str) -> bool:
        """Whether it was not there before."""


def small_file(place: Storage) -> SmallFile:
    path = place.on_disk()
    return StoreFile(place) if path is None else DiskFile(path)


@dataclass(frozen=True)
class DiskFile:
    """Of this machine, or mounted like one."""

    path: Path

    def read(self) -> str | None:
        try:
            return self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def write(self, text: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + BESIDE)
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # What Hadoop once noted of an older text would make this one look damaged.
        self.path.with_name(f".{self.path.name}.crc").unlink(missing_ok=True)
        beside.replace(self.path)

    def overwrite(self, text: str) -> None:
        with self.path.open("r+b") as file:
            file.write(text.encode().ljust(self.path.stat().st_size))

    def create(self, text: str) -> bool:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            made = self.path.open("x", encoding="utf-8")
        except FileExistsError:
            return False
        try:
            with made as file:
                file.write(text)
        except OSError:
            self.path.unlink(missing_ok=True)  # An empty one would look like one that somebody is writing.
            raise
        return True


@dataclass(frozen=True)
class StoreFile:
    """Wherever else Hadoop reaches."""

    place: Storage

    def read(self) -> str | None:
        with suppress(Py4JJavaError):
            return self.place.content().decode(errors="replace")
        if self.place.exists():
            return self.place.content().decode(errors="replace")
        return None

    def write(self, text: str) -> None:
        if self.place.scheme in (*S3, *GCS):
            self.place.fill(text)
            return
        beside = Storage(self.place.spark, f"{self.place}{BESIDE}")
        beside.fill(text)
        beside.replace(self.place)

    def overwrite(self, text: str) -> None:
        self.write(text)

    def create(self, text: str) -> bool:
        builder: Any = self.place.system.createFile(self.place.path).recursive().overwrite(False)
        try:
            stream = builder.opt(_ONLY_NEW, True).build()
            stream.write(bytearray(text.encode()))
            stream.close()
        except Py4JJavaError:
            if self.place.exists():
                return False
            raise
        return True
