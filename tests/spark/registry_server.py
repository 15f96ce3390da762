"""A schema registry for tests: an HTTP server with the calls that skyband makes, in a thread of this process.

No real one installs from PyPI here. Answers have the form of Confluent's REST interface.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Schema:
    number: int
    kind: str
    text: str
    serialized: bytes = b""
    references: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class RegistryServer:
    """What is registered, who may ask, and what was asked."""

    port: int = 0
    schemas: dict[int, Schema] = field(default_factory=dict)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    login: str | None = None
    failing: int = 0
    """So many requests are answered with 503."""
    asked: list[str] = field(default_factory=list)
    authorized: list[str | None] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, subject: str, schema: object, references: list[dict[str, Any]] | None = None) -> int:
        """An Avro schema as JSON, or the bytes of a Protobuf file's descriptor."""
        number = len(self.schemas) + 1
        if isinstance(schema, bytes):
            made = Schema(number, "PROTOBUF", 'syntax = "proto3";', schema, references or [])
        else:
            made = Schema(number, "AVRO", json.dumps(schema), references=references or [])
        self.schemas[number] = made
        self.subjects.setdefault(subject, []).append(number)
        return number

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        parts = urlsplit(path)
        form = parse_qs(parts.query).get("format", [""])[0]
        match [unquote(word) for word in parts.path.strip("/").split("/")]:
            case ["schemas", "ids", number] if int(number) in self.schemas:
                return 200, self._schema(self.schemas[int(number)], form)
            case ["schemas", "ids", _]:
                return 404, {"error_code": 40403, "message": "Schema not found"}
            case ["subjects", subject, "versions", version] if subject in self.subjects:
                there = self.subjects[subject]
                place = len(there) if version == "latest" else int(version)
                found = self._schema(self.schemas[there[place - 1]], form)
                return 200, found | {"subject": subject, "version": place, "id": there[place - 1]}
            case ["subjects", _, "versions", _]:
                return 404, {"error_code": 40401, "message": "Subject not found"}
        return 404, {}

    def _schema(self, schema: Schema, form: str) -> dict[str, Any]:
        text = (
            base64.b64encode(schema.serialized).decode() if form == "serialized" and schema.serialized else schema.text
        )
        found: dict[str, Any] = {"schema": text}
        if schema.kind != "AVRO":
            found["schemaType"] = schema.kind
        return found | ({"references": schema.references} if schema.references else {})


@contextmanager
def registry_server(**settings: Any) -> Iterator[RegistryServer]:
    state = RegistryServer(**settings)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            state.authorized.append(self.headers.get("Authorization"))
            wanted = None if state.login is None else f"Basic {base64.b64encode(state.login.encode()).decode()}"
            if state.failing:
                state.failing -= 1
                code, body = 503, {"error_code": 50301, "message": "away"}
            elif wanted not in (None, self.headers.get("Authorization")):
                code, body = 401, {"error_code": 401, "message": "Unauthorized"}
            else:
                code, body = state.answer(self.path)
            said = json.dumps(body).encode() if body else b"<html>nothing here</html>"
            self.send_response(code)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", state.port), Handler)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
