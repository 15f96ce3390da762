"""Stage 3: packed answers to result rows; of objects that are spread over buckets, merged first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from skyband.planner import PlannedFamily
from skyband.runtime.results import Results
from skyband.runtime.state import table_bytes
from skyband.spark.spill import ANSWERS_DDL, received
from skyband.spark.spread import is_spread, merged


def packed_answers(family: str, answers: pa.Table) -> pa.RecordBatch:
    """A row of `ANSWERS_DDL`."""
    data = pa.array([table_bytes(answers.combine_chunks())])
    return pa.record_batch({"family": [family], "answers": data, "spilled": pa.nulls(1, pa.string())})


def unpacked(answers: DataFrame, families: dict[str, PlannedFamily], results: Results) -> DataFrame:
    """Result rows. Where objects are spread, all answers of a family come into one partition first; of a stream all
    those of a micro-batch, which are all there are to its reports."""
    if any(is_spread(planned.family) for planned in families.values()):
        if answers.isStreaming:
            answers = answers.mapInArrow(_inline, ANSWERS_DDL)
        answers = answers.repartition(f.substring_index("family", "/", 1))
    schema = from_arrow_schema(results.schema, prefer_timestamp_ntz=True)
    return answers.mapInArrow(Unpack(families, results), schema)


def _inline(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Files are read where they were written: the next stage may run on another machine."""
    for batch in batches:
        for row in batch.to_pylist():
            for answers in received(row["answers"], row["spilled"]):
                yield packed_answers(row["family"], answers)


@dataclass(frozen=True)
class Unpack:
    """What `mapInArrow` calls on every partition of answers."""

    families: dict[str, PlannedFamily]
    results: Results

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spread: dict[str, tuple[PlannedFamily, list[pa.Table]]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                planned = self.families[row["family"]]
                for answers in received(row["answers"], row["spilled"]):
                    if is_spread(planned.family):
                        spread.setdefault(planned.family.fingerprint, (planned, []))[1].append(answers)
                    else:
                        yield from self.results.batches(planned.family, answers)
        for planned, parts in spread.values():
            yield from self.results.batches(planned.family, merged(planned, parts))
