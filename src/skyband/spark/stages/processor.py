"""What Spark sees of stage 2. Spark imports this file anew for every micro-batch on the driver, only to ask for the
state's names: so it imports next to nothing, and the work itself only where there is some.

State names are frozen: a renamed one would silently lose what a checkpoint holds.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from skyband.spark.stages.state_variables import State

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

    from skyband.planner import PlannedFamily
    from skyband.spark.state.joining import Joining

VALUE = StructType([StructField("value", BinaryType())])
NUMBER = StructType([StructField("number", IntegerType())])
"""Not as text: the JVM would be asked what it means, once for each and for every task."""


class Maintain(StatefulProcessor):
    """Hands every call to a `ProcessKey`."""

    def __init__(self, families: dict[str, PlannedFamily], joining: Joining, lines: bool = False) -> None:
        # Bytes, so that the driver can look at this object without importing what it is made of.
        self._made_of = pickle.dumps((families, joining, lines))
        self._process: Callable[..., Iterator[Row]] | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = State(handle, handle.getValueState("clock", VALUE), handle.getMapState("segments", NUMBER, VALUE))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        slices = [(bytes(row.rows), row.slice, row.size, row.oldest) for row in rows]
        yield from self._work(key[0], slices, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        yield from self._work(key[0], [], timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        if self._process is not None:
            from skyband.spark.worker import settle

            settle()

    def _work(self, name: str, slices: list[tuple[bytes, int, int, int | None]], milliseconds: int) -> Iterator[Row]:
        from skyband.spark.stages.maintain import process_of
        from skyband.spark.stages.slices import PartitionSlice
        from skyband.spark.stages.spill import Outgoing

        if self._process is None:
            self._process = partial(process_of(self._made_of), state=self._state, outgoing=Outgoing())
        told = [PartitionSlice(rows, slice, size, oldest=oldest) for rows, slice, size, oldest in slices]
        return self._process(name, told, milliseconds)
