"""What a row is, how rows are found by name, and how contestants are timed in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from time import process_time

from skyband.engines.base import Registration, registered

Figure = str | int | float | None
Line = dict[str, Figure]


@dataclass(frozen=True)
class Ratio:
    """One figure over another of the same run, and what the project asks of it."""

    what: str
    value: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def asked(self) -> str:
        least = "" if self.at_least is None else f"at least {self.at_least:g}"
        most = "" if self.at_most is None else f"at most {self.at_most:g}"
        return f"{least}, {most}" if least and most else least or most

    @property
    def holds(self) -> bool | None:
        """None where nothing is asked."""
        if self.at_least is None and self.at_most is None:
            return None
        enough = self.at_least is None or self.value >= self.at_least
        return enough and (self.at_most is None or self.value <= self.at_most)


@dataclass
class Result:
    """What a row found. `lines` is the table; `notes` say how to read it; `details` go to the file only."""

    settings: dict[str, Figure]
    lines: list[Line] = field(default_factory=list)
    ratios: list[Ratio] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    details: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """How rows are run: `quick` takes tiny sizes, to see that they work; `say` tells what is going on."""

    quick: bool = False
    say: Callable[[str], None] = lambda text: None

    def engines(self, names: Iterable[str], result: Result) -> list[Registration]:
        """The engines of these names; one that is not there is noted, and the row goes on without it."""
        known = registered()
        wanted = list(names)
        result.notes += [f"engine {name} is not registered" for name in wanted if name not in known]
        return [known[name] for name in wanted if name in known]

    def asked(self, value: float) -> float | None:
        """What is asked of a ratio; nothing at tiny sizes."""
        return None if self.quick else value


@dataclass(frozen=True)
class Row:
    name: str
    summary: str
    measure: Callable[[Run], Result]


ROWS: dict[str, Row] = {}


def row(name: str, summary: str) -> Callable[[Callable[[Run], Result]], Callable[[Run], Result]]:
    """Register the decorated function as the row `name`."""

    def add(measure: Callable[[Run], Result]) -> Callable[[Run], Result]:
        if name in ROWS:
            raise AssertionError(f"row {name} is registered twice")
        ROWS[name] = Row(name, summary, measure)
        return measure

    return add


def chosen(names: Iterable[str]) -> list[Row]:
    """Rows by name, or by the beginning of one (`queries-1000` is four rows); all without names.

    Raises LookupError for a name that is nobody's.
    """
    wanted = list(names)
    if not wanted:
        return list(ROWS.values())
    found: dict[str, Row] = {}
    for name in wanted:
        matching = {own: row for own, row in ROWS.items() if own == name or own.startswith(f"{name}-")}
        if not matching:
            raise LookupError(name)
        found |= matching
    return list(found.values())


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of this process for one call."""
    began = process_time()
    work()
    return process_time() - began


def in_turns(contestants: Mapping[str, Callable[[], object]], rounds: int, run: Run) -> dict[str, list[float]]:
    """CPU seconds of every contestant in every round. All take their turn in each, so that a slow minute hits all."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for i in range(rounds):
        for name, work in contestants.items():
            run.say(f"round {i + 1} of {rounds}: {name}")
            seconds[name].append(cpu_seconds(work))
    return seconds


def median_ratio(above: list[float], below: list[float]) -> float:
    """The median over rounds of one contestant's time over another's."""
    return median(a / max(b, 1e-15) for a, b in zip(above, below, strict=True))
