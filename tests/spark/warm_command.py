"""`skyband` again and again in one process, whose JVM has been started and is warm: `jobs.warm` asks it.

Commands that want the same settings share Spark's context, each in a session of its own: what a command waits for
otherwise is mostly a new context and a new daemon of workers. What workers keep of an earlier command, none finds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from skyband.cli.main import main
from skyband.spark import pipeline, session
from skyband.spark.stages.processor import Maintain

ONE_DAEMON = {"spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false"}
"""Spark's stages with state tell their workers so in any case, and workers that are told something else come from
another daemon: a second one that imports all there is, in every command. Jobs that go on for long are better off with
workers that do nothing but keep state."""
OF_THE_JVM = "spark.driver.extraJavaOptions"
"""It has been started with those of the first."""


def serve(answers: int) -> None:
    """A command for every line of standard input; its exit code for an answer."""
    session.FIXED.update(ONE_DAEMON)
    session.launch_gateway = _once(session.launch_gateway)  # type: ignore[attr-defined]
    session._built = Shared().built
    pipeline.Maintain = _forgetful  # type: ignore[assignment, attr-defined]
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
    return 0


class Shared:
    """A context for as long as the settings are the same."""

    def __init__(self) -> None:
        self._start = session._built
        self._settings: Mapping[str, str] = {}
        self._first: SparkSession | None = None
        self._last: SparkSession | None = None

    def built(self, chosen: Mapping[str, str]) -> SparkSession:
        settings = {name: value for name, value in chosen.items() if name != OF_THE_JVM}
        if self._first is None or settings != self._settings:
            if (left := SparkContext._active_spark_context) is not None:
                left.stop()
            self._first = None  # The start may be refused.
            self._first, self._settings = self._start(chosen), settings
        session.Chatter.ending, session.Chatter.starved = False, False
        self._last = self._first.newSession()
        self._last.stop = self._end  # type: ignore[method-assign]
        return self._last

    def _end(self) -> None:
        """What a command leaves behind of its own."""
        assert self._last is not None
        for query in self._last.streams.active:
            query.stop()
        self._last.catalog.clearCache()


def _forgetful(*arguments: Any) -> Maintain:
    """A start like no other: workers keep state by what they were started with."""
    found = Maintain(*arguments)
    found._made_of += os.urandom(8)
    return found


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
