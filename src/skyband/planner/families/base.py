"""What the planner has to know of a data model: the meta query of a family, who can serve it, what to tell of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from skyband.engines.base import Registration
from skyband.errors import SkybandError
from skyband.model import Above, Ints, MetaQuery, Query, TopK, UnboundedMeta
from skyband.model.apart import COMBINATIONS
from skyband.planner.choice import Choice, one_of
from skyband.planner.families.family import Family

if TYPE_CHECKING:
    from skyband.planner.plan import PlannedFamily

UNLIMITED = 2**31 - 1
"""The k of ABOVE."""
Facts = list[tuple[str, str]]
"""Lines of `explain`: a word and what is to be said."""


class FamilyKind:
    """One for each data model."""

    word = "family"
    """What it is called in `explain`."""

    def meta(self, family: Family) -> MetaQuery:
        """The beats of every query's window: mostly one."""
        beats = [(place, beat) for place, query in enumerate(family.queries) for beat in query.window.beats()]
        place = _of([place for place, _ in beats])
        logged = np.array([query.changes for query in family.queries])[place]
        kind = partial(UnboundedMeta, logged=logged) if family.unbounded else MetaQuery
        return kind(
            family.kind,
            width=_of([beat.width for _, beat in beats]),
            period=_of([beat.period for _, beat in beats]),
            phase=_of([beat.phase for _, beat in beats]),
            k=depths(family)[place],
            query=place,
            threshold=family.score_type.thresholds(
                [(query.name, query.threshold) for query in family.queries if isinstance(query, Above)]
            )[place]
            if family.thresholds
            else None,
            ascending=family.ascending,
            ties=family.ties,
            at_most=caps(family) if family.at_most else None,
        )

    def choose(self, family: Family, forced: str | None) -> Choice:
        """The engine that serves the family; `forced` was asked for."""
        raise NotImplementedError

    def title(self, family: Family) -> str:
        """What the family is, for the head of its part of `explain`."""
        return f"over {family.stream.name} by {family.order}"

    def facts(self, planned: PlannedFamily) -> Facts:
        raise NotImplementedError

    def notes(self, query: Query) -> list[str]:
        """What is special about a query."""
        frame = query.window
        if not frame.at_least_every:
            return []
        return [f"FREQUENCY: at every multiple of {frame.length_text(frame.slide)} since the epoch"]


def unable(family: Family, engine: Registration) -> str | None:
    """Why an engine of its data model cannot serve the family; None if it can."""
    able, name = engine.capabilities, family.queries[0].name
    if not {"rows": able.row_windows, "range": able.time_windows}[family.kind]:
        return f"has no {family.kind.upper()} windows, which query {name} uses"
    if not able.several_queries and len(family.queries) > 1 and able.data != "complete":
        return f"serves one query, and {len(family.queries)} share their records"
    above = next((query.name for query in family.queries if isinstance(query, Above)), None)
    if above is not None and not able.thresholds:
        return f"answers TOP, and query {above} asks for ABOVE"
    if family.across is not None and family.across.named and not able.expressions:
        return f"makes scores by {', '.join(COMBINATIONS)}, and query {name} ranks by an expression over attributes"
    if family.ties and not able.ties:
        return f"lists k records, and query {name} asks for those that tie with the last as well"
    if family.at_most and not able.at_most:
        return f"lists the best records whatever they have in common, and query {name} asks for AT MOST"
    return None


def refused(engine: Registration, why: str, able: Iterable[Registration]) -> SkybandError:
    """An engine that was asked for cannot do what is asked."""
    return SkybandError(f"engine {engine.name} {why}", expected=one_of(able))


def depths(family: Family) -> Ints:
    """The k of every query."""
    return _of([query.k if isinstance(query, TopK) else UNLIMITED for query in family.queries])


def caps(family: Family) -> Ints:
    """The n of every query's AT MOST."""
    return _of([query.at_most.count for query in family.queries if isinstance(query, TopK) and query.at_most])


def _of(values: list[int]) -> Ints:
    return np.array(values, np.int64)
