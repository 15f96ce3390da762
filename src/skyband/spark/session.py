"""A Spark session as the commands want it: local unless told otherwise, quiet, with settings that suit the pipeline."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread
from typing import ClassVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext, accumulators
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from skyband.errors import UnavailableError
from skyband.spark.interpreter import interpreter, of_the_driver
from skyband.spark.io import maven, resolved
from skyband.spark.settings import PARTITIONS, suit_checkpoint

OLDEST_JAVA = 17
DELTA_LOG = "spark.databricks.delta.snapshotPartitions"
QUIET = """rootLogger.level = LEVEL
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark|%p|%c{1}|%m%n%ex{0}
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = off
"""
CHATTER = ("Starting Streaming TransformWithState", "Streaming TransformWithState")
"""What PySpark's workers say of themselves in every micro-batch."""
PANDAS = "PySpark does not yet fully support pandas"
LAST_WORDS = "Terminating due to java.lang.OutOfMemoryError"
FIXED = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "67108864",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.redaction.options.regex": "(?i)url|passw|secret|token|jaas|credential|access[.]?key|api[.]?key",
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stopTimeout": "15s",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.daemon.module": "skyband.spark.daemon",
}
"""Times without a zone are read as UTC, so casts between the two kinds of timestamp are exact; and Parquet says of a
timestamp that it is an instant, which Spark's own default does not. A plan without rows is not cut short: what was
counted on the way would be gone with it, and asking for that fails."""


def session(
    streaming: bool,
    packages: Iterable[str] = (),
    master: str | None = None,
    ui: bool = False,
    debug: bool = False,
    settings: Mapping[str, str] | None = None,
    keys: int | None = None,
    java: Sequence[str] = (),
    checkpoint: str | None = None,
    said: Callable[[str], object] | None = None,
) -> SparkSession:
    """Start Spark, or say in one line why that cannot be. `keys`: how many keys the state of a stream will have;
    `java`: more options of the JVM; `checkpoint`: where a stream will have its own; `said`: who is told of every line
    that the JVM and its workers say, Spark's own warnings too."""
    Chatter.heard = _to_standard_error if said is None else said
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = FIXED | {"spark.ui.enabled": str(ui).lower()} | maven.settings(packages)
    chosen |= _java_options(debug, said is not None, java) | ({} if master is None else {"spark.master": master})
    # What Py4J could not send to a JVM that is gone we say ourselves; it complains to the root logger as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)
    # PySpark warns in several places, and its workers once more; it works with pandas 3.
    warnings.filterwarnings("ignore", message=PANDAS)
    known = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{known},ignore:{PANDAS}" if known else f"ignore:{PANDAS}"
    wanted = chosen | dict(settings or {})
    spark = _built(resolved.known(wanted))
    resolved.note(wanted, spark.sparkContext.getConf().get(resolved.JARS))
    _limit_partitions(spark, keys if streaming else None)
    if checkpoint is not None:
        suit_checkpoint(spark, checkpoint)
    return spark


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return f"{os.sep}py4j{os.sep}" not in record.pathname


def hush() -> None:
    """From here on the JVM and its workers are ended in the middle of their work: what they say of it helps nobody."""
    Chatter.ending = True


def quiet_end(spark: SparkSession) -> None:
    """End the session and the JVM's talking."""
    hush()
    with suppress(Py4JError, ConnectionError):  # It may have ended by itself.
        spark.stop()


def check_java() -> None:
    """Spark runs on Java; without, its own message is a page long."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    version = _java_version(java) if java else None
    if version is None or version < OLDEST_JAVA:
        found = "none was found" if version is None else f"{java} is Java {version}"
        raise UnavailableError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {found}",
            hint=f"install it ({_install_command()}), or set JAVA_HOME",
        )


def first_line(error: BaseException) -> str:
    """What an error of Spark says, without its stack trace."""
    text = str(error).strip() or type(error).__name__
    lines = text.split("\n\nJVM stacktrace:")[0].splitlines()
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        # Py4J's own words say nothing; the innermost cause says it, or else what Java threw.
        said = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
        lines = [said[-1] if said else lines[1].removeprefix(": ")]
    return re.sub(r"\s*SQLSTATE: \w+\s*$", "", lines[0])


def _java_version(java: str) -> int | None:
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return None
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else None


def _install_command() -> str:
    """The one command to run, as scripts/java.sh says it."""
    commands = {
        "apt-get": "sudo apt-get install -y openjdk-17-jre-headless",
        "dnf": "sudo dnf install -y java-17-openjdk-headless",
        "brew": "brew install openjdk@17",
    }
    return next((said for tool, said in commands.items() if shutil.which(tool)), "a Java 17 runtime")


def _java_options(debug: bool, warnings: bool, more: Sequence[str]) -> dict[str, str]:
    """Our own lines say what went wrong; the JVM's pages of it only with --debug, and a line for each with --log.

    A deep stack: a stream that is stopped while it writes has Spark match a long message with a regular expression that
    goes one level down for every letter.
    """
    # Without memory a JVM is no use to anybody: it ends at once, and says so where we listen.
    options = ["-Xss64m", "-XX:+ExitOnOutOfMemoryError", "-XX:+DisplayVMOutputToStderr", *more]
    if not debug:
        folder = mkdtemp(prefix="skyband-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder, "log4j2.properties")
        path.write_text(QUIET.replace("LEVEL", "warn" if warnings else "off"))
        options.append(f"-Dlog4j2.configurationFile={path.as_uri()}")
    return {"spark.driver.extraJavaOptions": " ".join(options)}


def _no_traceback(*_: object) -> None:
    """A JVM that ends in the middle of a word is told of by whoever waits for it; PySpark's thread that counts would
    print a traceback."""


def _built(chosen: Mapping[str, str]) -> SparkSession:
    chatter, Chatter.ending, Chatter.starved = Chatter(), False, False
    python = interpreter()
    try:
        with of_the_driver(python):
            gateway = launch_gateway(_conf(chosen), {"stderr": chatter.pipe})  # type: ignore[no-untyped-call]
        # The JVM has added what it fetched to these jars: they must not be set anew.
        conf = _conf({name: chosen[name] for name in chosen if name != "spark.jars"})
        context = SparkContext(conf=conf, gateway=gateway)
    except (PySparkException, Py4JError) as error:
        if not (missing := maven.missing(chatter.said)):
            raise UnavailableError(f"Spark did not start: {chatter.complaint() or first_line(error)}") from error
        if (again := maven.without(missing, chosen)) is None:
            raise maven.unresolved(missing) from error
        return _built(again)
    chatter.started = True
    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = _no_traceback  # type: ignore[assignment, method-assign]
    if python is not None and str(context.master).startswith("local"):
        context.pythonExec = python
    return SparkSession.builder.getOrCreate()


def _conf(chosen: Mapping[str, str]) -> SparkConf:
    conf = SparkConf().setAppName("skyband")
    for name, value in chosen.items():
        conf.set(name, value)
    return conf


def _to_standard_error(line: str) -> None:
    sys.stderr.write(line)


class Chatter:
    """What the JVM says on its standard error: kept back while it starts, passed on afterwards.

    Python workers inherit it, and their warnings about bad records must be seen.
    """

    heard: ClassVar[Callable[[str], object]] = _to_standard_error
    """Who is told of a line."""
    ending = False
    starved = False
    """It has said that its memory is used up, with its last words."""

    def __init__(self) -> None:
        read, self.pipe = os.pipe()
        self.started = False
        self.said: list[str] = []
        Thread(target=self._pass_on, args=(read,), daemon=True).start()

    def complaint(self) -> str | None:
        """The line that says why the JVM did not start."""
        wrong = [line for line in self.said if "Exception" in line or "rror:" in line]
        return wrong[0].strip().removeprefix('Exception in thread "main" ') if wrong else None

    def _pass_on(self, read: int) -> None:
        with os.fdopen(read, errors="replace") as lines:
            for line in lines:
                if line.startswith(LAST_WORDS):
                    Chatter.starved = True
                elif not self.started:
                    self.said.append(line)
                elif line.strip() and not line.startswith(CHATTER) and not Chatter.ending:
                    Chatter.heard(line)


def _limit_partitions(spark: SparkSession, keys: int | None) -> None:
    """A micro-batch pays for every shuffle partition, 0.1 s of it for Python workers that find nothing to do: not more
    than there are cores, or keys in the state of a stream, unless somebody chose. Delta reads the log of a table in 50
    tasks with every micro-batch, where there are local cores only for nothing."""
    context = spark.sparkContext
    chosen, cores = dict(context.getConf().getAll()), context.defaultParallelism
    if PARTITIONS not in chosen:
        spark.conf.set(PARTITIONS, str(max(cores, 2) if keys is None else min(cores, keys)))
    if chosen["spark.master"].startswith("local") and DELTA_LOG not in chosen:
        spark.conf.set(DELTA_LOG, str(cores))
