"""Servers for the tests that need one, started when the first asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark import servers


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.kafka(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture(scope="session")
def connector(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Packages that make Spark talk to Kafka, where skyband's own choice cannot be had."""
    return servers.connector(tmp_path_factory.mktemp("connector"))


@pytest.fixture(scope="session")
def avro(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return servers.avro(tmp_path_factory.mktemp("avro"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with servers.postgres() as address:
        yield address
