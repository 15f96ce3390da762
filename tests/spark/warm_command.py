"""`skyband` again and again in one process, whose JVM has been started and is warm: `jobs.warm` asks it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyspark import SparkContext

from skyband.cli.main import main
from skyband.spark import session

ONE_DAEMON = {"spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false"}
"""Spark's stages with state tell their workers so in any case, and workers that are told something else come from
another daemon: a second one that imports all there is, in every command. Jobs that go on for long are better off with
workers that do nothing but keep state."""


def serve(answers: int) -> None:
    """A command for every line of standard input; its exit code for an answer."""
    session.FIXED.update(ONE_DAEMON)
    session.launch_gateway = _once(session.launch_gateway)  # type: ignore[attr-defined]
    for line in sys.stdin:
        code = _run(json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(answers, f"{code}\n".encode())


def _run(words: list[str]) -> int:
    sys.argv = ["skyband", *words]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        if (left := SparkContext._active_spark_context) is not None:
            left.stop()
    return 0


def _once(launch: Any) -> Any:
    """All that starts a JVM is the first time's."""
    known: list[Any] = []

    def launched(*arguments: Any) -> Any:
        if not known:
            known.append(launch(*arguments))
        return known[0]

    return launched


if __name__ == "__main__":
    serve(int(sys.argv[1]))
