"""What Spark says of a micro-batch that is done, in a few calls. PySpark's own object asks the JVM for every number of
it by itself, which is hundreds, and looks a class up in all jars for every observation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext, cloudpickle
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

if TYPE_CHECKING:
    from skyband.spark.metrics import Measures

ROWS = "org.apache.spark.sql.api.python.PythonSQLUtils"


@dataclass(frozen=True)
class Progress:
    batch: int
    seconds: float
    watermark: str | None
    """Spark's own text of it (ISO, UTC)."""
    state_bytes: int
    observed: Mapping[str, Mapping[str, Any]]

    @staticmethod
    def of(done: Any) -> Progress:
        said = json.loads(done.json())
        # By its whole name: anything shorter is looked for in every package that PySpark imports.
        rows, named = getattr(SparkContext._jvm, ROWS), done.observedMetrics()
        # Its JSON names all observations, and leaves out what is nested in them.
        names = said.get("observedMetrics", {})
        observed = {name: cloudpickle.loads(rows.toPyRow(named.get(name))).asDict() for name in names}
        return Progress(
            said["batchId"],
            said["durationMs"].get("triggerExecution", 0) / 1_000,
            said.get("eventTime", {}).get("watermark"),
            sum(map(_disk, said["stateOperators"])),
            observed,
        )


def _disk(state: Mapping[str, Any]) -> int:
    """RocksDB's files, where it says how large they are; otherwise what is in memory."""
    return int(state.get("customMetrics", {}).get("rocksdbSstFileSize") or state["memoryUsedBytes"])


class Listener(StreamingQueryListener):
    """Hands every micro-batch to the measures."""

    def __init__(self, measures: Measures) -> None:
        self.measures = measures
        self._registered: Any = None

    @property
    def _jlistener(self) -> Any:
        if self._registered is None:
            jvm: Any = SparkContext._jvm
            self._registered = jvm.PythonStreamingQueryListenerWrapper(_Heard(self))
        return self._registered

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        pass

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        self.measures.idle()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        pass


class _Heard(JStreamingQueryListener):
    """What the JVM calls."""

    pylistener: Listener

    def onQueryProgress(self, jevent: Any) -> None:  # noqa: N802
        self.pylistener.measures.take(Progress.of(jevent.progress()))
