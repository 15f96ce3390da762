"""A schema registry over HTTP: one that is away, one that asks for a password, and what is none; and what a source that
has one may say."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from skyband.cli.main import app
from skyband.errors import SkybandError
from skyband.redaction import redacted
from skyband.spark.io import registry as home
from skyband.spark.io.registry import Registry
from tests.spark import jobs
from tests.spark.registry_server import RegistryServer, registry_server
from tests.spark.servers import free_port
from tests.spark.test_decoding import OLD
from tests.spark.written_values import TRADE, descriptors

SECRET = "s3cret"


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with registry_server() as found:
        found.add("trades-value", OLD)
        yield found


def test_the_two_calls(server: RegistryServer) -> None:
    registry = Registry.at(f"{server.address}/")
    assert registry.newest("trades-value") == 1
    assert registry.newest("nobody") is None
    found = registry.schema(1)
    assert found is not None
    assert (found.kind, found.references) == ("AVRO", ())
    assert registry.schema(7) is None
    assert server.asked[0] == "/subjects/trades-value/versions/latest"
    Registry.at(server.address).newest("a/b ü")
    assert server.asked[-1] == "/subjects/a%2Fb%20%C3%BC/versions/latest"


@pytest.mark.parametrize("place", ["address", "environment"])
def test_a_password(server: RegistryServer, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server.login = f"me:{SECRET}@/"
    stranger = Registry.at(server.address)
    with pytest.raises(SkybandError, match=r"does not let us in \(401\): set SKYBAND_REGISTRY_USER"):
        stranger.newest("trades-value")
    monkeypatch.setenv("SKYBAND_REGISTRY_USER", "me")
    monkeypatch.setenv("SKYBAND_REGISTRY_PASSWORD", f"{SECRET}@/" if place == "environment" else "another")
    said = server.address.replace("//", f"//me:{SECRET}%40%2F@") if place == "address" else server.address
    known = Registry.at(said)
    assert known.newest("trades-value") == 1
    assert SECRET not in repr(known)
    assert known.address == server.address


def test_one_that_is_busy_is_asked_again(server: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "FIRST_WAIT", 0.01)
    server.failing = 3
    assert Registry.at(server.address).newest("trades-value") == 1
    assert len(server.asked) == 4


def test_one_that_is_away_is_waited_for_and_then_named() -> None:
    address, began = f"http://127.0.0.1:{free_port()}", time.monotonic()
    with pytest.raises(SkybandError) as away:
        Registry.at(address.replace("//", f"//me:{SECRET}@"), 0.7).schema(1)
    said = f"the schema registry at {address} does not answer: Connection refused (tried for 0.7 s)"
    assert str(away.value).startswith(said)
    assert 0.2 < time.monotonic() - began < 5


def test_one_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "TIMEOUT", 0.1)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(SkybandError, match="does not answer: timed out"),
    ):
        Registry.at(f"http://127.0.0.1:{silent.getsockname()[1]}", 0.3).schema(1)


def test_what_is_no_registry(server: RegistryServer) -> None:
    with pytest.raises(SkybandError, match="is no schema registry"):
        Registry.at(f"{server.address}/elsewhere").newest("trades-value")


def test_who_we_are_sent_on_to_hears_no_password(server: RegistryServer) -> None:
    class Moved(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.headers["Authorization"]
            self.send_response(302)
            self.send_header("Location", server.address + self.path)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    moved = HTTPServer(("127.0.0.1", 0), Moved)
    thread = threading.Thread(target=moved.handle_request)
    thread.start()
    assert Registry.at(f"http://me:{SECRET}@127.0.0.1:{moved.server_address[1]}").newest("trades-value") == 1
    thread.join()
    moved.server_close()
    assert server.authorized == [None]


@pytest.mark.parametrize(
    "text", ["host:8081", "ftp://host", "http://", f"http://me:{SECRET}/@host", "http://host:port"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(SkybandError, match="says no address") as refused:
        Registry.at(text)
    assert SECRET not in str(refused.value)


# ------------------------------------------------------------------------------------------- the words of a source


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Files to read, somebody who listens where a broker should be, and no Java."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    Path("trade.desc").write_bytes(descriptors(TRADE))
    Path("trade.avsc").write_text('{"type": "record", "name": "t", "fields": [{"name": "ts", "type": "bytes"}]}')
    Path("text.avsc").write_text('"string"')
    jobs.write_workload(tmp_path)
    Path("bare.sql").write_text(
        "CREATE STREAM trades WITH (TIME = ts);\n" + "".join(jobs.WORKLOAD.partition("CREATE QUERY")[1:])
    )
    return f"trades=kafka://127.0.0.1:{free_port()}/t"


def refusal(source: str, workload: str = "trades.sql") -> str:
    with pytest.raises(SkybandError) as refused:
        app(["run", workload, "--source", source, "--sink", "noop"], standalone_mode=False)
    assert SECRET not in str(refused.value)
    return refused.value.message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("format=avro&schema=trade.avsc&registry=http://h", "Avro with both a schema and a registry"),
        ("format=avro&framed=true", "Avro without a schema"),
        ("format=avro&schema=absent&framed=true", "there is no absent"),
        ("format=avro&schema=text.avsc&framed=true", "text.avsc: a schema that is no record"),
        (
            "format=avro&schema=trade.avsc&framed=true",
            "column 'ts' is declared TIMESTAMP, and in trade.avsc it is BINARY",
        ),
        ("format=avro&schema=trade.avsc&framed=1", "framed=1"),
        ("format=avro&schema=trade.avsc&framed=true&scan=false", "scan=false with values that Spark cannot read"),
        ("format=avro&registry=http://h&framed=false", "framed=false with a registry"),
        (f"format=avro&registry=me:{SECRET}@h", "registry= says no address of a schema registry"),
        ("format=avro&registry=http://h&registryTimeout=soon", "registryTimeout=soon"),
        ("format=avro&descriptor=trade.desc", "descriptor= with format=avro"),
        ("registry=http://h", "registry= with format=json"),
        ("format=protobuf", "Protobuf needs a registry, or a descriptor and the name of its message"),
        ("format=protobuf&descriptor=trade.desc", "Protobuf needs a registry, or a descriptor"),
        ("format=protobuf&descriptor=absent&message=x", "there is no absent"),
        ("format=protobuf&descriptor=trade.desc&message=Trade", "trade.desc has no message 'Trade'"),
        ("format=protobuf&descriptor=trade.avsc&message=x", "trade.avsc is no set of Protobuf descriptors"),
        ("format=protobuf&descriptor=trade.desc&message=market.Trade", "no Kafka broker answers"),
        ("format=protobuff", "Kafka values in 'protobuff'"),
    ],
)
def test_a_source_is_refused_before_spark_starts(places: str, options: str, said: str) -> None:
    assert said in refusal(f"{places}?{options}")


def test_a_registry_is_asked_before_spark_starts(places: str, server: RegistryServer) -> None:
    away = f"http://127.0.0.1:{free_port()}"
    source = f"{places}?format=avro&registryTimeout=0.3&registry="
    assert f"the schema registry at {away} does not answer" in refusal(source + away.replace("//", f"//me:{SECRET}@"))
    assert "no Kafka broker answers" in refusal(source + server.address + "&subject=trades-value", "bare.sql")
    said = refusal(source + server.address, "bare.sql")
    assert "does not declare its columns, and the schema registry" in said
    assert "has no subject t-value" in said


def test_a_password_is_not_repeated(places: str) -> None:
    tail = f"?format=avro&registry=http://me:{SECRET}@host"
    assert "registry=***@host" in refusal(places.replace("trades=", "trade=") + tail)
    assert "registry=***@host" in refusal(places.replace("trades=", "") + tail)
    assert "registry=***@host" in refusal(places.replace("kafka:", "kafak:") + tail)
    assert SECRET not in redacted(f"registry=http%3A%2F%2Fme%3A{SECRET}%40host:8081&format=avro")


def test_avro_without_fastavro(places: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> Any:
        return None

    monkeypatch.setattr("skyband.spark.io.avro_values.find_spec", nothing)
    assert "pip install 'skyband[avro]'" in refusal(f"{places}?format=avro&schema=trade.avsc&framed=true")
    assert "no Kafka broker" in refusal(f"{places}?format=avro&schema=trade.avsc")
