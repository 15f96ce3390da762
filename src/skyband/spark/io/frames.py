"""What producers with a schema registry put in front of a value: a zero, the number of its schema in four bytes, and of
Protobuf which message of that schema it is."""

from __future__ import annotations

from typing import NamedTuple, Protocol

HEADER = 5
DEEPEST = 32
"""Messages inside messages, at most."""
FIRST = (0,)
"""The first message of a schema."""


class SchemaKey(NamedTuple):
    """Which schema, and which message of it."""

    number: int
    message: tuple[int, ...] = ()


class Framing(Protocol):
    """Where in a value its payload begins."""

    def opened(self, value: bytes) -> tuple[SchemaKey, bytes] | None:
        """What the value was written with, and the payload; None where there is no frame."""
        ...


class Bare:
    """Values without a frame."""

    def opened(self, value: bytes) -> tuple[SchemaKey, bytes] | None:
        return SchemaKey(0), value


class AvroFrame:
    """The number of the schema."""

    def opened(self, value: bytes) -> tuple[SchemaKey, bytes] | None:
        if len(value) < HEADER or value[0]:
            return None
        return SchemaKey(int.from_bytes(value[1:HEADER], "big")), value[HEADER:]


class ProtobufFrame:
    """The number of the schema, and the message in it."""

    def opened(self, value: bytes) -> tuple[SchemaKey, bytes] | None:
        if len(value) < HEADER or value[0]:
            return None
        message, place = _message(value)
        return None if message is None else (SchemaKey(int.from_bytes(value[1:HEADER], "big"), message), value[place:])


def _message(value: bytes) -> tuple[tuple[int, ...] | None, int]:
    """The message by its place in the file, then in the message around it ...; and where the payload begins."""
    count, place = _zigzag(value, HEADER)
    if count == 0:
        return FIRST, place
    if count is None or not 0 < count <= DEEPEST:
        return None, place
    path: list[int] = []
    for _ in range(count):
        number, place = _zigzag(value, place)
        if number is None or number < 0:
            return None, place
        path.append(number)
    return tuple(path), place


def _zigzag(value: bytes, place: int) -> tuple[int | None, int]:
    """A number of variable length, None where it does not end, and what is behind it."""
    number = shift = 0
    for byte in value[place : place + HEADER]:
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number >> 1 ^ -(number & 1), place
    return None, place
