"""Which packages go with which Spark."""

from __future__ import annotations

import pytest

import skyband as sb
from skyband.runtime.locations import Location
from skyband.spark.io import maven
from skyband.spark.io.locations import packages

KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"


@pytest.mark.parametrize(
    ("spark", "kafka", "delta"),
    [
        ("4.1.0", "4.1.1", "io.delta:delta-spark_4.1_2.13:4.4.0"),
        ("4.1.4", "4.1.1", "io.delta:delta-spark_4.1_2.13:4.4.0"),
        ("4.2.1", "4.2.0", "io.delta:delta-spark_4.2_2.13:4.4.0"),
        ("4.3.0", "4.2.0", None),
        ("4.9.3", "4.9.3", None),
    ],
)
def test_packages_go_by_the_minor_version(
    monkeypatch: pytest.MonkeyPatch, spark: str, kafka: str, delta: str | None
) -> None:
    monkeypatch.setattr(maven, "spark_version", spark)
    topic, table = Location("kafka", "host:9092/t"), Location("delta", "lake/t")
    assert packages([topic], []) == [f"{KAFKA}:{kafka}"]
    assert packages([topic], [], "4.0.0") == [f"{KAFKA}:4.0.0"]
    if delta is None:
        with pytest.raises(sb.SkybandError, match=f"made for Spark {spark[:3]}, and skyband knows of none") as refused:
            packages([table], [])
        assert "pip install 'pyspark==4.2.*'" in str(refused.value)
        delta = "io.delta:delta-spark_2.13:9.0.0"
        assert packages([table], [delta]) == [delta]
    else:
        assert packages([topic, table], []) == [f"{KAFKA}:{kafka}", delta]
    assert "DeltaSparkSessionExtension" in maven.settings([delta])["spark.sql.extensions"]


def test_a_part_that_is_missing_has_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark may miss one after the other; what it misses although it was left out has none."""
    monkeypatch.setattr(maven, "fetched", lambda package: f"/jars/{package.split(':')[1]}.jar")
    tokens, avro = (f"{maven.SPARK}:{each}" for each in (maven.TOKENS, maven.AVRO))
    once = maven.without([f"{tokens}:4.2.0"], {"spark.jars": "/mine.jar"})
    assert once == {"spark.jars": f"/mine.jar,/jars/{maven.TOKENS}.jar", "spark.jars.excludes": tokens}
    twice = maven.without([f"{avro}:4.2.0"], once)
    assert twice is not None
    assert twice["spark.jars.excludes"] == f"{tokens},{avro}"
    assert maven.without([f"{avro}:4.2.0"], twice) is None
    assert maven.without([f"{KAFKA}:4.2.0"], {}) is None


def test_what_was_given_takes_the_place_of_what_is_needed() -> None:
    given = ["file:///jars/spark-sql-kafka-0-10_2.13-4.2.0.jar"]
    assert packages([Location("kafka", "host:9092/t")], given) == given
