"""Servers for the tests that need one, started when the first asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark import jobs, servers


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.kafka(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture(scope="session")
def topics(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[jobs.Warm]:
    """Fills and reads topics of that broker."""
    process = jobs.Warm(tmp_path_factory.mktemp("topics"), "tests.spark.topics", kafka)
    yield process
    process.end()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with servers.postgres() as address:
        yield address


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    with servers.s3() as address:
        yield address
