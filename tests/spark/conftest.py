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
def connector() -> list[str]:
    return servers.connector()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with servers.postgres() as address:
        yield address


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    with servers.s3() as address:
        yield address
