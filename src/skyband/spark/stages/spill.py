"""Answers on their way from `maintain` to `unpack`: a few as they are, many by way of a file on the task's own disk.

PySpark makes one Arrow batch of all that a call yields, in the worker and again in the JVM, so a stream that catches up
on hours would have to hold all of it at once. The stage behind reads in the same task, so on the same disk; Spark's
local folders are gone with the application, whatever happens.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from tempfile import NamedTemporaryFile, gettempdir

import pyarrow as pa

from skyband.engines.codec import table_bytes, table_of

ANSWERS_DDL = "state_key STRING, answers BINARY, spilled STRING"
"""Answers of a key of the state: a table, or the name of a file that holds several."""
INLINE_BYTES = 16_000_000
"""What one task sends as it is; timers of all its keys end in one Arrow batch."""
_SIZE = Struct("<q")


class Outgoing:
    """What one task sends of its answers."""

    def __init__(self) -> None:
        self._sent = 0

    def sent(self, answers: Iterator[pa.Table]) -> Iterator[tuple[bytes | None, str | None]]:
        """Tables as bytes or, once too many went that way, all the rest as the path of a file."""
        for table in answers:
            data = table_bytes(table.combine_chunks())
            if self._sent + len(data) > INLINE_BYTES:
                yield None, _spilled(data, answers)
                return
            self._sent += len(data)
            yield data, None


def received(answers: bytes | None, spilled: str | None) -> Iterator[pa.Table]:
    """The tables again, one after the other."""
    if spilled is None:
        table = table_of(answers or b"")
        yield from [] if table is None else [table]
        return
    with Path(spilled).open("rb") as file:
        while size := file.read(_SIZE.size):
            table = table_of(file.read(_SIZE.unpack(size)[0]))
            assert table is not None
            yield table
    Path(spilled).unlink()


def _spilled(first: bytes, rest: Iterator[pa.Table]) -> str:
    # Spark tells its workers where its blocks are; they are removed when it ends.
    folder = os.environ.get("SPARK_LOCAL_DIRS", gettempdir()).split(",")[0]
    with NamedTemporaryFile(prefix="skyband-answers-", dir=folder, delete=False) as file:
        file.write(_SIZE.pack(len(first)) + first)
        for table in rest:
            data = table_bytes(table.combine_chunks())
            file.write(_SIZE.pack(len(data)))
            file.write(data)
    return file.name
