"""What every engine is: four verbs, a counter board, and declared capabilities under one registered name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from skyband.errors import SkybandError
from skyband.model import Answers, DueReports, Ints, MetaQuery

Counters = dict[str, int]
"""Work done. Every engine counts records, comparisons, insertions, candidates (now) and candidates_peak."""
DataModelName = Literal["complete", "groups", "multi_score", "objects", "uncertain"]
"""What the records of a family are: with one score, summed up by group, with a score for each query, values of objects
that arrive apart, or uncertain."""
B = TypeVar("B")


class Engine(Protocol[B]):
    """Holds the candidates of (a PER group of) a family. Its batches are arrays with labels, in feed order: `Records`,
    `Points`, `AttributeValues` or `Tuples`, by its data model."""

    def advance(self, batch: B, due_reports: DueReports, /) -> Answers:
        """Take in records and answer reports, both in time order, interleaved. Records are older than
        `due_reports.until`; no record of a later call is older than this call's `until`."""

    def held(self) -> B:
        """Every record that a report to come may need, in feed order."""

    def rebuild(self, batch: B, until: int, fresh: Ints = ..., /) -> None:
        """Hold these instead, with the clock at `until`: some came late (`fresh` are their labels), or the state of
        another engine of this data model is taken over. What is no longer needed may be among them."""

    def candidates(self) -> Ints:
        """Labels, rising, of what is held: their rows must be kept."""

    def __len__(self) -> int:
        """How many records are held, at most."""

    @property
    def counters(self) -> Counters: ...


class LearningEngine(Engine[B], Protocol):
    """An engine that is not exact: it knows more than the records it holds."""

    until: int
    """How far its clock has come."""

    def snapshot(self) -> bytes:
        """What it holds, and all that it has learnt."""

    def restore(self, state: bytes) -> None:
        """Go on where a snapshot was taken."""


AnyEngine = Engine[Any]
"""An engine of whatever data model."""


@dataclass(frozen=True)
class Capabilities:
    """What an engine can do; the planner chooses, refuses and explains by it."""

    summary: str
    source: str
    several_queries: bool = True
    """One structure for a family; otherwise a wrapper runs one per query."""
    thresholds: bool = False
    """Answers ABOVE (and not TOP); of a multi-score engine, and of one for objects or groups: ABOVE as well."""
    row_windows: bool = True
    time_windows: bool = True
    deletes: bool = False
    exact: bool = True
    """Otherwise it learns from what it sees, and its `snapshot` and `restore` keep what it learnt."""
    drops: bool = True
    """Forgets what can no longer be reported, where that is proven; otherwise keeps the window."""
    integer_keys: bool = False
    """Takes scores that are 64-bit integers, and compares them as such; doubles every engine takes."""
    second_key: bool = False
    """Takes a second key, which ranks records with equal scores (`Records.second`)."""
    ties: bool = False
    """Answers TOP WITH TIES as well: all records with the score of the k-th."""
    at_most: bool = False
    """Answers TOP AT MOST n PER as well, for records with a category (`Records.category`)."""
    expressions: bool = False
    """Of objects: ranks by any expression over attributes that does not fall when one rises (`Assembly.score`)."""
    errors: bool = False
    """Ranks scores that have a standard error (and none without)."""
    data: DataModelName = "complete"
    """Engines of one data model can stand in for each other."""
    priority: int = 0
    """Of the engines that can serve a family the one with the highest is taken, where none is asked for; one with 0
    only if there is no other."""


@dataclass(frozen=True)
class Registration:
    name: str
    capabilities: Capabilities
    build: Callable[[MetaQuery], AnyEngine]


_REGISTRY: dict[str, Registration] = {}
F = TypeVar("F", bound=Callable[[MetaQuery], AnyEngine])


def register(name: str, capabilities: Capabilities) -> Callable[[F], F]:
    """Decorator of a class, or of a function that builds an engine: it is known by `name` in explain, metrics,
    benchmarks and docs alike."""

    def add(build: F) -> F:
        if name in _REGISTRY:
            raise AssertionError(f"engine {name} is registered twice")
        _REGISTRY[name] = Registration(name, capabilities, build)
        return build

    return add


def registered(data: DataModelName | None = "complete") -> dict[str, Registration]:
    """The engines of one data model by name; of all with None."""
    return {name: known for name, known in sorted(_REGISTRY.items()) if data in (None, known.capabilities.data)}


def registration(name: str) -> Registration:
    """The engine called `name`; an unknown name is refused with the names there are."""
    try:
        return _REGISTRY[name]
    except KeyError:
        raise SkybandError(
            f"there is no engine called {name!r}", expected="one of " + ", ".join(sorted(_REGISTRY))
        ) from None
