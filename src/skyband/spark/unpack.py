"""Stage 3 of a stream: packed answers to result rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from skyband.planner import PlannedFamily
from skyband.runtime.results import Results
from skyband.runtime.state import table_of


@dataclass(frozen=True)
class Unpack:
    """What `mapInArrow` calls on every partition of answers."""

    families: dict[str, PlannedFamily]
    results: Results

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                answers = table_of(row["answers"])
                if answers is not None:
                    yield from self.results.batches(self.families[row["family"]].family, answers)
