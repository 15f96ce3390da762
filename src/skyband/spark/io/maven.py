"""Jars that Spark fetches from Maven: its own connectors for Kafka and Avro, and Delta's, as its release wants them."""

from __future__ import annotations

import logging
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from pyspark.version import __version__ as spark_version

from skyband.errors import SkybandError, UnavailableError

log = logging.getLogger("skyband")
SCALA = "2.13"
SPARK = "org.apache.spark"
KAFKA, AVRO, DELTA = f"spark-sql-kafka-0-10_{SCALA}", f"spark-avro_{SCALA}", "delta-spark"
TOKENS = f"spark-token-provider-kafka-0-10_{SCALA}"
_UNRESOLVED = re.compile(r"unresolved dependency: ([\w.-]+)#([\w.-]+);([\w.-]+)")


@dataclass(frozen=True)
class Connectors:
    """Releases that work with one minor version of Spark."""

    spark: str
    """Of Spark's own packages, for Kafka and Avro."""
    delta: str | None
    """Of Delta, in the artifact made for that Spark; None where there is none."""


CONNECTORS = {
    "4.1": Connectors("4.1.1", "4.4.0"),
    "4.2": Connectors("4.2.0", "4.4.0"),
    "4.3": Connectors("4.2.0", None),
}
INSTEAD = {f"{SPARK}:{TOKENS}": "4.0.0", f"{SPARK}:{AVRO}": "4.1.1"}
"""A mirror of Maven may have a connector and lack what belongs to it. These work in its place, with every Spark of the
table."""


def minor() -> str:
    """`4.2` where this is 4.2.1."""
    return ".".join(spark_version.split(".")[:2])


def connector(artifact: str, version: str | None = None) -> str:
    """One of Spark's own packages: in the release that was said, or in the one that works with this Spark."""
    known = CONNECTORS.get(minor())
    return f"{SPARK}:{artifact}:{version or (known.spark if known else spark_version)}"


def delta() -> str:
    """Delta's package for this Spark."""
    known = CONNECTORS.get(minor())
    if known is None or known.delta is None:
        there = [each for each, found in CONNECTORS.items() if found.delta]
        raise UnavailableError(
            f"Delta tables need a release of Delta made for Spark {minor()}, and skyband knows of none",
            expected="Spark " + " or ".join(there),
            hint=f"pip install 'pyspark=={there[-1]}.*'; or --package GROUP:ARTIFACT:VERSION, once there is one",
        )
    return f"io.delta:{DELTA}_{minor()}_{SCALA}:{known.delta}"


def settings(packages: Iterable[str]) -> dict[str, str]:
    """What a session needs for these packages and jars."""
    packages = list(packages)
    jars = [each for each in packages if each.endswith(".jar")]
    named = [each for each in packages if not each.endswith(".jar")]
    found = {"spark.jars": ",".join(jars)} if jars else {}
    found |= {"spark.jars.packages": ",".join(named)} if named else {}
    if any(DELTA in each for each in packages):
        found["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
        found["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    return found


def missing(said: Iterable[str]) -> list[str]:
    """The packages that the JVM complained about, as `group:artifact:version`."""
    return list(dict.fromkeys(":".join(found) for line in said for found in _UNRESOLVED.findall(line)))


def unresolved(packages: list[str]) -> SkybandError:
    """Why the jars could not be had."""
    return UnavailableError(
        f"Maven does not give {', '.join(packages)}",
        expected="packages that are there, and a network that reaches them",
        hint="--connector VERSION asks for another release of Spark's connectors; "
        "--package GROUP:ARTIFACT:VERSION or --package FILE.jar takes the place of what is missing",
    )


def without(packages: list[str], chosen: Mapping[str, str]) -> dict[str, str] | None:
    """The settings `chosen`, with older jars in place of packages that are missing; None if one has no stand-in."""
    jars = [chosen["spark.jars"]] if "spark.jars" in chosen else []
    left_out = [name for name in chosen.get("spark.jars.excludes", "").split(",") if name]
    names = [package.rpartition(":")[0] for package in packages]
    for name in names:
        jar = fetched(f"{name}:{INSTEAD[name]}") if name in INSTEAD and name not in left_out else None
        if jar is None:
            return None
        jars.append(jar)
    for package, name in zip(packages, names, strict=True):
        log.warning("Maven does not give %s: %s takes its place", package, INSTEAD[name])
    return dict(chosen) | {"spark.jars": ",".join(jars), "spark.jars.excludes": ",".join([*left_out, *names])}


def fetched(package: str) -> str | None:
    """The path of a package's own jar, fetched by the Ivy that comes with Spark; None where it cannot be had."""
    with TemporaryDirectory(prefix="skyband-") as folder:
        listing = Path(folder, "jars")
        ivy = next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"))
        java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
        words = [java, "-jar", ivy, "-dependency", *package.split(":"), "-confs", "default", "-notransitive"]
        done = subprocess.run([*words, "-cachepath", listing], capture_output=True, check=False)
        return listing.read_text().strip() or None if done.returncode == 0 and listing.exists() else None
