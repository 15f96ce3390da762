"""Which engine serves a family, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skyband.engines.base import Registration

ASKED_FOR = "asked for"
GROUPED = "grouped"
"""Not an engine for one group but a table for all of them; see skyband.runtime.executors."""


@dataclass(frozen=True)
class Choice:
    engine: str
    reason: str


def first_choice(able: Iterable[Registration]) -> Registration:
    """Of engines that can serve a family the one with the highest priority; of equals the first by name."""
    return min(able, key=lambda known: (-known.capabilities.priority, known.name))


def one_of(engines: Iterable[Registration]) -> str:
    """For a message."""
    return "one of " + ", ".join(known.name for known in engines)
