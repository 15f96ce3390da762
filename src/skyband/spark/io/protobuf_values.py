"""Protobuf values, read by Google's library with the descriptor that they were written with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from google.protobuf import (
    any_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from skyband.errors import SkybandError
from skyband.model import Flags
from skyband.model.names import did_you_mean
from skyband.spark.io.frames import FIRST
from skyband.spark.io.protobuf_columns import protobuf_column
from skyband.spark.io.value_reader import UNDECODABLE, SchemaColumn, Unread, ValueReader, made_table

T = TypeVar("T")
_WELL_KNOWN = {
    each.DESCRIPTOR.name: each.DESCRIPTOR.serialized_pb
    for each in (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
}
"""What schemas import without bringing it."""


class ProtobufReader:
    """Reads the messages of one descriptor."""

    refusal = UNDECODABLE

    def __init__(self, message: Descriptor, names: frozenset[str] | None) -> None:
        found = {each.name: protobuf_column(each) for each in message.fields}
        mine = [each for each in found.values() if isinstance(each, SchemaColumn)]
        self._columns = [each for each in mine if names is None or each.name in names]
        self.nested = {name: each for name, each in found.items() if isinstance(each, str)}
        self._parse = GetMessageClass(message).FromString

    @cached_property
    def columns(self) -> pa.Schema:
        return pa.schema([(each.name, each.type) for each in self._columns])

    def read(self, payloads: Sequence[bytes]) -> tuple[pa.Table, Flags]:
        read = list(self._messages(payloads))
        messages = [each for each in read if each is not None]
        table, whole = made_table(self._columns, [messages] * len(self._columns), len(messages))
        good = np.fromiter((each is not None for each in read), bool, len(read))
        good[good] = whole
        return table, good

    def _messages(self, payloads: Sequence[bytes]) -> Iterator[Message | None]:
        for payload in payloads:
            try:
                yield self._parse(payload)
            except DecodeError:
                yield None

    def absent(self) -> pa.Table:
        """An empty message: zero where a field cannot be missing, NULL where it can."""
        return self.read([b""])[0]


@lru_cache(maxsize=1_000)
def protobuf_reader(sources: tuple[bytes, ...], message: tuple[int, ...], names: frozenset[str] | None) -> ValueReader:
    """Of a message, by its place in a file that comes last, behind those that it imports."""
    try:
        file = _file(sources)
    except (TypeError, DecodeError) as error:
        return Unread(f"a schema that cannot be read ({' '.join(str(error).split())[:100]})")
    found = _at(file, message)
    return Unread("a message that its schema has not") if found is None else ProtobufReader(found, names)


def _file(sources: Sequence[bytes]) -> FileDescriptor:
    pool = descriptor_pool.DescriptorPool()
    files = [FileDescriptorProto.FromString(each) for each in sources]
    added: set[str] = set()
    for file in files:
        for name in file.dependency:
            _add_well_known(pool, name, added)
        if file.name not in added:
            pool.AddSerializedFile(file.SerializeToString())
            added.add(file.name)
    return pool.FindFileByName(files[-1].name)


def _add_well_known(pool: descriptor_pool.DescriptorPool, name: str, added: set[str]) -> None:
    if name in _WELL_KNOWN and name not in added:
        pool.AddSerializedFile(_WELL_KNOWN[name])
        added.add(name)


def _at(file: FileDescriptor, path: tuple[int, ...]) -> Descriptor | None:
    """The first number counts the messages of the file, each other one those inside the message before. What Protobuf
    makes for a map is no message to those who count."""
    inside = list(file.message_types_by_name.values())
    found = None
    for number in path:
        if number >= len(inside):
            return None
        found = inside[number]
        inside = [each for each in found.nested_types if not each.GetOptions().map_entry]
    return found


def described(content: bytes, name: str, where: str) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """Of what `protoc --include_imports --descriptor_set_out` wrote: the files, that of the message last, and where in
    it the message is."""
    try:
        files = list(FileDescriptorSet.FromString(content).file)
    except DecodeError:
        files = []
    if not files:
        raise SkybandError(
            f"{where} is no set of Protobuf descriptors",
            expected="what `protoc --include_imports --descriptor_set_out=FILE.desc` writes",
        )
    places = {full: (file.name, path) for file in files for full, path in _messages_of(file)}
    home, path = _place(places, name, where)
    ordered = [each for each in files if each.name != home] + [each for each in files if each.name == home]
    sources = tuple(each.SerializeToString() for each in _needed(ordered))
    if isinstance(reader := protobuf_reader(sources, path, None), Unread):
        raise SkybandError(f"{where}: {reader.refusal}", hint="protoc --include_imports brings what a file imports")
    return sources, path


def _place(places: Mapping[str, T], name: str, where: str) -> T:
    if name not in places:
        raise SkybandError(
            f"{where} has no message {name!r}",
            expected="message= one of " + ", ".join(places),
            hint=did_you_mean(name, list(places)),
        )
    return places[name]


def _needed(files: Sequence[FileDescriptorProto]) -> list[FileDescriptorProto]:
    """The last file, and behind one another before it all that it needs."""
    known, found = {each.name: each for each in files}, dict[str, FileDescriptorProto]()

    def visit(file: FileDescriptorProto) -> None:
        for name in file.dependency:
            if name in known and name not in found:
                visit(known[name])
        found[file.name] = file

    visit(files[-1])
    return list(found.values())


def _messages_of(file: FileDescriptorProto) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The full names of all messages of a file, and their places."""
    level: list[tuple[str, tuple[int, ...], Any]]
    level = [(file.package, (number,), each) for number, each in enumerate(file.message_type)]
    while level:
        around, path, message = level.pop(0)
        full = f"{around}.{message.name}" if around else message.name
        yield full, path
        inner = [each for each in message.nested_type if not each.options.map_entry]
        level += [(full, (*path, number), each) for number, each in enumerate(inner)]


def message_place(sources: Sequence[bytes], name: str | None, where: str) -> tuple[int, ...] | None:
    """Where in the last file the message of that name is; without a name the only one, None if there are several."""
    file = FileDescriptorProto.FromString(sources[-1])
    if name is None:
        return FIRST if len(file.message_type) == 1 else None
    return _place(dict(_messages_of(file)), name, where)
