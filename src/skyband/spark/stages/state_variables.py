"""What the state store gives a key."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


class State(NamedTuple):
    """A key's state variables, and the handle for its timers."""

    handle: StatefulProcessorHandle
    clock: Any
    segments: Any
