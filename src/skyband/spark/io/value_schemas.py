"""Which schema a value was written with, and who reads it: one schema for all, or those of a registry, by number.

A registry is asked once for each number, in each process that reads values: what it said stays.
"""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from skyband.errors import SkybandError
from skyband.spark.io.avro_values import avro_reader
from skyband.spark.io.frames import FIRST, AvroFrame, Bare, Framing, ProtobufFrame, SchemaKey
from skyband.spark.io.protobuf_values import message_place, protobuf_reader
from skyband.spark.io.registry import Registered, Registry
from skyband.spark.io.value_reader import Unread, ValueReader

UNKNOWN = "unknown schema id"
FORGET = 60.0
"""Seconds after which a number that the registry did not know is asked for again."""
LARGEST = 2**31
"""Numbers of schemas are below that."""
MANY = 10_000
"""Unknown numbers that are remembered."""
Sources = tuple[bytes, ...]
"""A schema, behind those that it imports."""
Names = frozenset[str] | None
_known: dict[tuple[Registry, str, int], Sources | None] = {}
"""What registries said in this process; None: a schema of another kind."""
_unknown: dict[tuple[Registry, int], float] = {}
"""Numbers that a registry did not know, and when that was."""


class ValueFormat:
    """What values are in: Avro or Protobuf."""

    name: str
    kind: str
    """As a registry calls it."""
    form = ""
    """In which the registry is asked for schemas."""
    frame: Framing

    def source(self, registered: Registered, name: str | None) -> bytes:
        """A schema as readers want it, under the name by which another one imports it."""
        raise NotImplementedError

    def reader(self, sources: Sources, message: tuple[int, ...], names: Names) -> ValueReader:
        raise NotImplementedError

    def message(self, sources: Sources, name: str | None, where: str) -> tuple[int, ...] | None:
        """Which message of a schema that is, by its name; None if there are several, and no name."""
        return ()


class Avro(ValueFormat):
    """Schemas are JSON."""

    name, kind, frame = "Avro", "AVRO", AvroFrame()

    def source(self, registered: Registered, name: str | None) -> bytes:
        return registered.text.encode()

    def reader(self, sources: Sources, message: tuple[int, ...], names: Names) -> ValueReader:
        return avro_reader(sources, names)


class Protobuf(ValueFormat):
    """Schemas are files of descriptors: the registry compiles them, so nobody here has to."""

    name, kind, form, frame = "Protobuf", "PROTOBUF", "serialized", ProtobufFrame()

    def source(self, registered: Registered, name: str | None) -> bytes:
        try:
            file = FileDescriptorProto.FromString(b64decode(registered.text, validate=True))
        except (ValueError, DecodeError):
            raise SkybandError(
                f"the schema registry gives Protobuf schema {registered.number} as text, though it was asked for a "
                "descriptor (?format=serialized): descriptor=FILE.desc&message=NAME&framed=true does without it"
            ) from None
        file.name = name or f"skyband/{registered.number}.proto"
        return bytes(file.SerializeToString())

    def reader(self, sources: Sources, message: tuple[int, ...], names: Names) -> ValueReader:
        return protobuf_reader(sources, message or FIRST, names)

    def message(self, sources: Sources, name: str | None, where: str) -> tuple[int, ...] | None:
        return message_place(sources, name, where)


class Schemas(Protocol):
    """The readers of values."""

    def reader(self, key: SchemaKey, names: Names) -> ValueReader: ...


@dataclass(frozen=True)
class OneSchema:
    """All values are read with one schema, whatever number they say."""

    format: ValueFormat
    sources: Sources
    message: tuple[int, ...] = ()

    def reader(self, key: SchemaKey, names: Names) -> ValueReader:
        return self.format.reader(self.sources, self.message, names)


@dataclass(frozen=True)
class RegisteredSchemas:
    """Each value is read with the schema that it names."""

    format: ValueFormat
    registry: Registry
    sent: Mapping[int, Sources] = field(default_factory=dict)
    """What need not be asked for: the newest is known when a job starts."""

    def reader(self, key: SchemaKey, names: Names) -> ValueReader:
        found = self.found(key.number)
        return found if isinstance(found, Unread) else self.format.reader(found, key.message, names)

    def found(self, number: int) -> Sources | Unread:
        """The schema with this number; or why there is none."""
        if number in self.sent:
            return self.sent[number]
        if number >= LARGEST or self._asked_in_vain(number):
            return Unread(UNKNOWN)
        key = self.registry, self.format.kind, number
        if key not in _known:
            self._fetch(number)
        sources = _known.get(key, ())
        if sources is None:
            return Unread(f"a schema that is no {self.format.name}")
        return sources or Unread(UNKNOWN)

    def _asked_in_vain(self, number: int) -> bool:
        return time.monotonic() - _unknown.get((self.registry, number), -FORGET) < FORGET

    def _fetch(self, number: int) -> None:
        registered = self.registry.schema(number, self.format.form)
        if registered is not None and registered.kind != self.format.kind:
            _known[self.registry, self.format.kind, number] = None
        elif registered is not None and (imported := self._imported(registered)) is not None:
            sources = (*imported.values(), self.format.source(registered, None))
            _known[self.registry, self.format.kind, number] = sources
        else:
            if len(_unknown) >= MANY:
                _unknown.clear()
            _unknown[self.registry, number] = time.monotonic()

    def _imported(self, registered: Registered) -> dict[str, bytes] | None:
        """What a schema refers to, in an order in which each comes behind what it needs itself; None if some of it is
        not there."""
        found: dict[str, bytes] = {}
        for reference in registered.references:
            other = self.registry.referred(reference, self.format.form)
            inner = None if other is None else self._imported(other)
            if other is None or inner is None:
                return None
            found |= inner | {reference.name: self.format.source(other, reference.name)}
        return found


BARE: Framing = Bare()
AVRO, PROTOBUF = Avro(), Protobuf()
