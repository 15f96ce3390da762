"""Spark's daemon of Python workers, with all that our stages need imported before it forks the first of them.

Spark's own lets every worker import for itself, because what is imported may start threads, which a fork leaves behind.
Of what we import only Arrow does: a thread of its allocator, which knows of forks. Started by Spark as a program.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

from pyspark import daemon

from skyband.engines.compiled import prepare

NEEDED = (
    "pandas",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.sql.streaming.map_state_client",
    "pyspark.sql.streaming.value_state_client",
    "skyband.spark.io.last_reports",
    "skyband.spark.made",
    "skyband.spark.scan",
    "skyband.spark.stages.maintain",
    "skyband.spark.stages.processor",
    "skyband.spark.stages.scan",
    "skyband.spark.stages.unpack",
)


def load() -> None:
    """What cannot be imported is missed by the task that needs it, which can say so."""
    for name in NEEDED:
        with suppress(ImportError):
            import_module(name)
    prepare()
    gc.collect()
    gc.freeze()  # Workers would copy every page on which their collector counts.


if __name__ == "__main__":
    load()
    daemon.manager()
