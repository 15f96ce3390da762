"""Several windows over the same objects: one structure per width, behind the face of one engine.

A structure holds what the reports of its width may need; what the engine holds is the union. Widths are few where
queries differ in k and slide, and those share a structure with the largest k.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol, TypeVar

import numpy as np

from skyband.engines.base import Counters
from skyband.engines.codec import damaged, pack, unpack
from skyband.engines.kernels.objects.state import Answered, Beats, Due, Recipe
from skyband.engines.limits import FARTHEST, LARGEST, ArrayLimits, Limits, check_arrays, check_number
from skyband.errors import SkybandError
from skyband.model import NEVER, Answers, DueReports, Ints, MetaQuery
from skyband.model.apart import COLLECTIONS, COMBINATIONS, EXPRESSION, FALLING, UNLIMITED, Assembly, AttributeValues

FINE = 16
"""With more distinct slides than this, any moment is taken for the start of a window."""
ENTRIES = 1024
T = TypeVar("T")
KIND = "objects"
MOST_STREAMS = 2**20
"""That are not declared: some structures have a place for each."""
DTYPES = {"Ints": np.int64, "Links": np.int32, "Floats": np.float64, "Flags": np.bool_}
NONE: Ints = np.empty(0, np.int64)
COLUMNS = ("id", "at", "object", "stream", "value")


class Structure(Protocol):
    """Holds the objects of windows of one width."""

    def advance(self, values: AttributeValues, due_reports: DueReports) -> Answers: ...

    def load(self, values: AttributeValues, until: int) -> None:
        """Hold these instead."""

    def held(self) -> tuple[AttributeValues, Ints]:
        """Every value a report to come may need, and its number by feed order since the last `load`."""

    def tidy(self) -> None:
        """Drop what can be dropped."""

    def check(self) -> None:
        """Assert what must hold of it."""

    @property
    def counters(self) -> Counters: ...


class Family:
    """What `sla`, `eaa` and `approximate` have in common; each makes its own structures."""

    def __init__(self, meta: MetaQuery) -> None:
        self.meta = meta
        self.until = int(NEVER)
        self._taken = 0
        self._widths = np.unique(meta.width)
        self.structures = [self.structure(meta, width) for width in self._widths.tolist()]

    def structure(self, meta: MetaQuery, width: int) -> Structure:
        raise NotImplementedError

    def advance(self, values: AttributeValues, due_reports: DueReports) -> Answers:
        """Take in values and answer reports, both in time order, interleaved (as `Engine.advance`)."""
        self._taken += len(values)
        width = due_reports.end - due_reports.start
        own = [np.flatnonzero(width == each) for each in self._widths.tolist()]
        pairs = zip(self.structures, own, strict=True)
        parts = [structure.advance(values, due_reports[mine]) for structure, mine in pairs]
        self.until = due_reports.until
        return parts[0] if len(parts) == 1 else Answers.woven(own, parts)

    def rebuild(self, values: AttributeValues, until: int, fresh: Ints = NONE) -> None:
        self._taken += len(fresh)
        self.load(values, until)

    def load(self, values: AttributeValues, until: int) -> None:
        """These values and nothing else."""
        self.until = max(self.until, until)
        for structure in self.structures:
            structure.load(values, self.until)

    def settle(self) -> None:
        """Drop whatever can be dropped now, instead of when it is due."""
        for structure in self.structures:
            structure.tidy()

    def held(self) -> AttributeValues:
        """Every value that a report to come may need, in feed order."""
        parts = [structure.held() for structure in self.structures]
        if len(parts) == 1:
            return parts[0][0]
        _, first = np.unique(np.concatenate([feed for _, feed in parts]), return_index=True)
        return AttributeValues(*(np.concatenate([getattr(part, name) for part, _ in parts])[first] for name in COLUMNS))

    def check(self) -> None:
        """Assert what must hold of the structures, for tests."""
        for structure in self.structures:
            structure.check()

    def candidates(self) -> Ints:
        """Labels, rising, of the values in `held`: their rows must be kept."""
        return np.sort(self.held().id)

    def __len__(self) -> int:
        return sum(structure.counters["candidates"] for structure in self.structures)

    @property
    def counters(self) -> Counters:
        """Work done by all structures; `candidates` are the values kept, `objects` the distinct objects of them, each
        counted once per width."""
        total: Counter[str] = Counter()
        for structure in self.structures:
            total.update(structure.counters)
        return {**total, "records": self._taken}


def saved(engine: Family) -> bytes:
    """What it holds, and its clock: for an engine that has to keep more than rows."""
    engine.settle()
    held = engine.held()
    return pack(KIND, {name: getattr(held, name) for name in COLUMNS}, {"until": engine.until})


def resume(engine: Family, state: bytes) -> None:
    """Go on from what was `saved`."""
    columns, numbers = unpack(KIND, state)
    arrays = [np.array(columns[name]) for name in COLUMNS]
    how, until = assembly_of(engine.meta), numbers["until"]
    last = len(how) - 1 if len(how) else MOST_STREAMS
    limits = (Limits(), Limits(-FARTHEST, FARTHEST), Limits(), Limits(0, last), Limits(-LARGEST, LARGEST))
    check_arrays(
        KIND,
        [
            (array, ArrayLimits(name, np.float64 if name == "value" else np.int64, (-1,), values, name == "at"))
            for array, name, values in zip(arrays, COLUMNS, limits, strict=True)
        ],
    )
    check_number(KIND, "its clock", until, int(NEVER), FARTHEST)
    if len(arrays[1]) and arrays[1][-1] >= until:
        raise damaged(KIND, "it holds values from behind its clock")
    engine.load(AttributeValues(*arrays), until)


def assembly_of(meta: MetaQuery) -> Assembly:
    if meta.apart is None:
        raise SkybandError(
            "an engine for objects was given a query about records",
            expected="a query with OBJECT and ACROSS",
            hint="leave the choice of the engine to the planner",
        )
    return meta.apart


def recipe_of(meta: MetaQuery) -> Recipe:
    """The assembly as kernels want it."""
    how = assembly_of(meta)
    return Recipe(
        COLLECTIONS.index(how.collect),
        (*COMBINATIONS, EXPRESSION).index(how.combine),
        len(how),
        np.asarray(how.weight, np.float64),
        np.asarray(how.low, np.float64),
        np.asarray(how.high, np.float64),
        np.asarray(how.times, np.int64),
        how.ever,
        how.combine == "SUM" and not np.any(how.low),
        -1.0 if meta.ascending else 1.0,
    )


def beats_of(meta: MetaQuery, width: int) -> tuple[Beats, int]:
    """When windows of this width end, and the largest k asked of them."""
    mine = meta.width == width
    pairs = np.unique(np.stack((meta.period[mine], meta.phase[mine] % meta.period[mine])), axis=1)
    if pairs.shape[1] > FINE:
        pairs = pairs[:, :0]
    period, phase = (np.ascontiguousarray(row, np.int64) for row in pairs)
    return Beats(width, period, phase), int(meta.k[mine].max())


def due_of(meta: MetaQuery, due_reports: DueReports) -> Due:
    """Reports as kernels want them. Beats are ordered by query, and all beats of a query have its threshold."""
    if meta.threshold is None:
        above = np.full(len(due_reports), np.nan)
    else:
        above = np.asarray(meta.threshold[np.searchsorted(meta.query, due_reports.query)], np.float64)
    return Due(due_reports.start, due_reports.end, due_reports.k, above)


def least_of(meta: MetaQuery, width: int) -> float:
    """What a score has to exceed to be in any report of this width: -inf where some k are listed whatever they have."""
    return -np.inf if meta.threshold is None else float(meta.threshold[meta.width == width].min())


def nothing_prunes(meta: MetaQuery) -> str | None:
    """Why no object may be dropped while the window holds it, as `explain` says it; None where some may."""
    how = assembly_of(meta)
    if meta.ascending and meta.threshold is None:
        return "lowest scores rank first, and a score may still fall to its lowest"
    if not len(how):
        return "the streams are not declared"
    if how.collect in FALLING:
        return f"{how.collect} lets a score fall while its values stay"
    if not np.isfinite(how.high).all():
        return "not every stream has a highest value"
    if how.collect == "SUM" and (how.low < 0).any():
        return "values below zero let a SUM fall"
    if how.collect == "SUM" and (how.times >= UNLIMITED).any():
        return "not every stream has a largest number of values"
    if how.combine == "PRODUCT" and (how.low < 0).any():
        return "factors below zero turn an order round"
    if not how.steady:
        return "a score may be infinite, or none, where attributes are high"
    return None


def scale_of(recipe: Recipe) -> float:
    """How large the sums of a score can become: rounding errors are relative to it."""
    largest = np.maximum(np.abs(recipe.low), np.abs(recipe.high * np.maximum(recipe.times, 1)))
    return float((recipe.weight * largest).sum())


def blank(kind: type[T], room: int, **sizes: int) -> T:
    """A structure of a kernel with an array of zeros in every field, `room` long unless said otherwise."""
    noted = {name: str(getattr(each, "__forward_arg__", each)) for name, each in kind.__annotations__.items()}
    return kind(**{name: np.zeros(sizes.get(name, room), DTYPES[each]) for name, each in noted.items()})


def answered(reports: int) -> Answered:
    """Room for the answers of so many reports, to begin with."""
    return blank(Answered, ENTRIES, begin=reports, size=reports, used=1)


def grown(out: Answered, more: int) -> Answered:
    """Room for at least so many more entries."""
    used = int(out.used[0])
    id, score = np.empty(2 * used + more, np.int64), np.empty(2 * used + more)
    id[:used], score[:used] = out.id[:used], out.score[:used]
    return Answered(out.begin, out.size, id, score, out.used)


def answers_of(out: Answered) -> Answers:
    used = int(out.used[0])
    return Answers(out.begin, out.size, out.id[:used], out.score[:used])
