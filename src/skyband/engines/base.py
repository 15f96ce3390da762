"""What every engine is: three verbs, a counter board, and declared capabilities under one registered name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

from skyband.errors import SkybandError
from skyband.model import Answers, Ints, MetaQuery, Moments, Records, Sightings
from skyband.model.many import Asked, Points

Counters = dict[str, int]
"""Work done. Every engine counts records, comparisons, insertions, candidates (now) and candidates_peak."""


class Engine(Protocol):
    """Holds the candidates of one family."""

    def advance(self, records: Records, moments: Moments) -> Answers:
        """Take in records and answer reports, both in time order, interleaved. Records are older than
        `moments.until`; no record of a later call is older than this call's `until`."""

    def admit(self, late: Records, order: Ints) -> Ints:
        """Take in records that are older than some already fed: they count in reports still to come.

        `order` puts the candidates (by id) followed by `late` into feed order. Returns the new ids of all of them, in
        that order."""

    def candidates(self) -> Ints:
        """Ids, rising, of the records that may still be reported: their columns must be kept."""

    def snapshot(self) -> bytes:
        """Everything that decides future answers."""

    def restore(self, state: bytes) -> None:
        """Go on where a snapshot (by any engine of the same data model) was taken."""

    @property
    def counters(self) -> Counters: ...


class IncompleteEngine(Protocol):
    """Holds the values of objects whose attributes arrive apart. Records are known by the labels that came with them;
    the label of an answer is that of the object's newest record inside the window."""

    def advance(self, sightings: Sightings, moments: Moments) -> Answers:
        """Take in values and answer reports, as `Engine.advance` does."""

    def rebuild(self, sightings: Sightings, fresh: int = 0) -> None:
        """Hold these values instead, of which `fresh` are new: some came late, or a snapshot is restored."""

    def held(self) -> Sightings:
        """Every value that a report to come may need, in feed order."""

    def candidates(self) -> Ints:
        """The labels of these, rising."""

    def snapshot(self) -> bytes:
        """Everything that decides future answers."""

    def restore(self, state: bytes) -> None:
        """Go on where a snapshot (by any engine of the same data model) was taken."""

    @property
    def counters(self) -> Counters: ...


@dataclass(frozen=True)
class Capabilities:
    """What an engine can do; the planner chooses, refuses and explains by it."""

    summary: str
    source: str
    several_queries: bool = True
    """One structure for a family; otherwise a wrapper runs one per query."""
    thresholds: bool = False
    """Answers ABOVE (and not TOP)."""
    row_windows: bool = True
    time_windows: bool = True
    deletes: bool = False
    exact: bool = True
    drops: bool = True
    """Forgets what can no longer be reported, where that is proven; otherwise keeps the window."""
    data: str = "complete"
    """The data model: complete, incomplete or uncertain. Engines of one model can stand in for each other."""


@dataclass(frozen=True)
class Registration:
    name: str
    capabilities: Capabilities
    build: Callable[[MetaQuery], Engine]


_REGISTRY: dict[str, Registration] = {}
B = TypeVar("B", bound=Callable[[MetaQuery], object])


def register(name: str, capabilities: Capabilities) -> Callable[[B], B]:
    """Class decorator: the engine is known by `name` in explain, metrics, benchmarks and docs alike."""

    def add(build: B) -> B:
        if name in _REGISTRY:
            raise AssertionError(f"engine {name} is registered twice")
        # An engine of another data model takes other records; who asks for one by name knows that.
        _REGISTRY[name] = Registration(name, capabilities, cast("Callable[[MetaQuery], Engine]", build))
        return build

    return add


def registered(data: str | None = "complete") -> dict[str, Registration]:
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


class ManyEngine(Protocol):
    """Holds a window of points for queries that each have their own score. It keeps every point of the window: any of
    them may be the best by some score to come."""

    def add(self, asked: Sequence[Asked]) -> Ints:
        """New queries; their places, by which answers are asked for."""

    def remove(self, place: int) -> None: ...

    def advance(self, points: Points, deleted: Ints, since: int) -> None:
        """Points that arrived, in feed order, and the numbers of points that were deleted, these among them; what is
        older than `since` leaves. Points are numbered as they come."""

    def answers(self, places: Ints) -> Answers:
        """The answers of these queries over the window as it is, by number."""

    def __len__(self) -> int:
        """Points in the window, deleted ones included."""

    @property
    def first(self) -> int:
        """The number of the oldest point in the window."""

    @property
    def counters(self) -> Counters: ...


@dataclass(frozen=True)
class ManyRegistration:
    name: str
    capabilities: Capabilities
    build: Callable[[int, int | None], ManyEngine]
    """From the number of columns and, for ROWS, the length of the window."""


_MANY: dict[str, ManyRegistration] = {}
M = TypeVar("M", bound=Callable[[int, int | None], ManyEngine])


def register_many(name: str, capabilities: Capabilities) -> Callable[[M], M]:
    """As `register`, for an engine that serves many scores at once."""

    def add(build: M) -> M:
        if name in _MANY or name in _REGISTRY:
            raise AssertionError(f"engine {name} is registered twice")
        _MANY[name] = ManyRegistration(name, capabilities, build)
        return build

    return add


def registered_many() -> dict[str, ManyRegistration]:
    return dict(sorted(_MANY.items()))
