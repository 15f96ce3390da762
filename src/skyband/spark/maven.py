"""Jars that Spark fetches from Maven: its own connectors for Kafka and Avro, and Delta's."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.version import __version__ as spark_version

from skyband.errors import SkybandError

SCALA = "2.13"
KAFKA, AVRO = f"spark-sql-kafka-0-10_{SCALA}", f"spark-avro_{SCALA}"
DELTA = "io.delta:delta-spark"
_UNRESOLVED = re.compile(r"unresolved dependency: ([\w.-]+)#([\w.-]+);([\w.-]+)")


def connector(artifact: str, version: str | None = None) -> str:
    """One of Spark's own packages, in Spark's own version unless another is said."""
    return f"org.apache.spark:{artifact}:{version or spark_version}"


def settings(packages: Iterable[str]) -> dict[str, str]:
    """What a session needs for these packages and jars."""
    packages = list(packages)
    jars = [each for each in packages if each.endswith(".jar")]
    named = [each for each in packages if not each.endswith(".jar")]
    found = {"spark.jars": ",".join(jars)} if jars else {}
    found |= {"spark.jars.packages": ",".join(named)} if named else {}
    if any(each.startswith(DELTA) or "delta-spark" in each for each in packages):
        found["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
        found["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    return found


def unresolved(said: Iterable[str]) -> SkybandError | None:
    """Why the jars could not be had, if that is what the JVM complained about."""
    missing = dict.fromkeys(":".join(found) for line in said for found in _UNRESOLVED.findall(line))
    if not missing:
        return None
    return SkybandError(
        f"Maven does not give {', '.join(missing)}",
        expected="packages that are there, and a network that reaches them",
        hint="--connector VERSION asks for another release of Spark's connectors; "
        "--package GROUP:ARTIFACT:VERSION or --package FILE.jar takes the place of what is missing",
    )
