"""Families of records with one score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skyband.engines.base import Registration, registered, registration
from skyband.errors import SkybandError
from skyband.model import Ints, MetaQuery, Query, TopK
from skyband.planner.choice import ASKED_FOR, GROUPED, Choice, first_choice, one_of
from skyband.planner.families.base import Facts, FamilyKind, refused, unable
from skyband.planner.families.family import Family
from skyband.planner.words import some

if TYPE_CHECKING:
    from skyband.planner.plan import PlannedFamily

OTHER_DATA = {
    "uncertain": "is for uncertain streams, and {stream} has no PROBABILITY",
    "groups": "is for groups, and query {query} has no GROUP BY",
    "objects": "is for objects, and query {query} has no OBJECT ... ACROSS ...",
}


class CompleteFamilies(FamilyKind):
    def choose(self, family: Family, forced: str | None) -> Choice:
        refuse_deletes(family)
        top, above = _by_question()
        if forced is None:
            return self._usual(family, top, above)
        known = registration(forced)
        _refuse_other_data(family, known)
        if family.unbounded:
            return Choice(GROUPED, f"{ALL_TIME} ({forced}, which was asked for, keeps what leaves a window)")
        if family.thresholds and not known.capabilities.thresholds:
            # Who asks for an engine for TOP asks nothing for ABOVE.
            return Choice(first_choice(above).name, f"{ABOVE} ({forced}, which was asked for, answers TOP)")
        if family.ties and not known.capabilities.ties and not known.capabilities.thresholds:
            return Choice(_tied(top).name, f"{TIES} ({forced}, which was asked for, lists k records)")
        if family.at_most and not known.capabilities.at_most and not known.capabilities.thresholds:
            return Choice(_capping(top).name, f"{CAPPED} ({forced}, which was asked for, counts no categories)")
        _refuse_unable(family, known, above if family.thresholds else top)
        alone = not known.capabilities.several_queries and len(family.queries) > 1
        return Choice(forced, ASKED_FOR + ("; it knows one query, so one runs per query" if alone else ""))

    def _usual(self, family: Family, top: list[Registration], above: list[Registration]) -> Choice:
        if family.unbounded:
            return Choice(GROUPED, ALL_TIME)
        if family.ties:
            return Choice(_tied(top).name, TIES)
        if family.at_most:
            return Choice(_capping(top).name, CAPPED)
        if family.per:
            return Choice(GROUPED, "PER: the candidates of all groups in one table, so that no group costs a call")
        if family.thresholds:
            return Choice(first_choice(above).name, ABOVE)
        count = len(family.queries)
        reason = "one query: a record costs a comparison, and an answer that stands is not computed again"
        if count > 1:
            reason = f"{count} queries share partitions, and the best of all newer ones, merged once"
        return Choice(first_choice(top).name, reason)

    def facts(self, planned: PlannedFamily) -> Facts:
        family, meta = planned.family, planned.meta
        score = [("score", f"{family.score_type.name}, {EXACT}")] if family.score_type.whole else []
        if family.half_life is not None:
            score.append(("decay", DECAY.format(family.queries[0].window.length_text(family.half_life))))
        if family.unbounded:
            return [*score, ("keeps", f"the best {meta.most:,} of all time, and nothing else")]
        if (views := int((meta.width // meta.period).sum())) > MOST_TOLD:
            return [*score, ("views", f"up to {views:,} alive, too many to tell them apart here")]
        starts, k, apart = meta.views(meta.longest)
        depth = [] if family.thresholds else [("k", _depths(meta, k))]
        depth += [("ties", UNBOUNDED)] if family.ties else []
        depth += [("at most", f"{_caps(meta)} with the same {', '.join(family.at_most)}")] if family.at_most else []
        return [*score, ("views", _views(len(starts), apart)), *depth, ("panes", _panes(meta, family))]

    def notes(self, query: Query) -> list[str]:
        lists = ["and what ties with the last"] if isinstance(query, TopK) and query.ties else []
        if isinstance(query, TopK) and query.at_most:
            lists.append(f"at most {query.at_most.count:,} per {', '.join(query.at_most.per)}")
        frame, show = query.window, query.window.length_text
        grows = [f"of every {show(frame.width)}, as far as it has come"] if frame.special == "CUMULATE" else []
        return [*super().notes(query), *lists, *grows]


MOST_TOLD = 100_000
"""Views that `explain` looks at one by one."""
EXACT = "ranked exactly, as a 64-bit integer; only DOUBLE scores share an index with other scores and filters"
ABOVE = "ABOVE has no k: every record over the threshold is kept while a window holds it"
ALL_TIME = "UNBOUNDED: the best of all time in one table; whatever k better ones outrank is dropped for good"
TIES = "WITH TIES: what has the score of the k-th is kept and listed as well"
CAPPED = "AT MOST: of newer and better records only so many with the same values count against one"
DECAY = "half after every {}; ranked by log2(score) + time / half life, which no report changes"
UNBOUNDED = "as many as there are: where many records have one score, lists and state grow with them"


def refuse_deletes(family: Family) -> None:
    """Only a multi-score family can take records back."""
    if family.stream.op is None:
        return
    special = next((word for query in family.queries for word in query.specials), None)
    what = "PER" if family.per else "WITH ERROR" if family.error else special or "PROBABILITY"
    raise SkybandError(
        f"query {family.queries[0].name}: {what} over stream "
        f"{family.stream.name}, which has deletes (OP = {family.stream.op})",
        expected="deletes only for queries without PER, WITH TIES, AT MOST, CUMULATE, UNBOUNDED, DECAY and WITH ERROR, "
        "over streams without PROBABILITY",
        hint="where one group is enough, a filter such as WHERE symbol = 'X' asks for it" if family.per else None,
    )


def _by_question() -> tuple[list[Registration], list[Registration]]:
    """Engines for TOP, and for ABOVE."""
    known = registered("complete").values()
    return (
        [each for each in known if not each.capabilities.thresholds],
        [each for each in known if each.capabilities.thresholds],
    )


def _tied(top: list[Registration]) -> Registration:
    """Who lists ties."""
    return first_choice(each for each in top if each.capabilities.ties)


def _capping(top: list[Registration]) -> Registration:
    """Who lists at most so many of a category."""
    return first_choice(each for each in top if each.capabilities.at_most)


def _refuse_other_data(family: Family, engine: Registration) -> None:
    why = OTHER_DATA.get(engine.capabilities.data)
    if why is not None:
        why = why.format(stream=family.stream.name, query=family.queries[0].name)
        raise SkybandError(f"engine {engine.name} {why}", expected=one_of(registered("complete").values()))


def _refuse_unable(family: Family, engine: Registration, fitting: list[Registration]) -> None:
    name = family.queries[0].name
    if engine.capabilities.thresholds and not family.thresholds:
        raise SkybandError(
            f"engine {engine.name} answers ABOVE, but query {name} asks for TOP",
            expected="an engine for TOP: " + one_of(fitting).removeprefix("one of "),
        )
    if why := unable(family, engine):
        raise refused(engine, why, [each for each in fitting if unable(family, each) is None])


def _views(alive: int, apart: int) -> str:
    """Views and what separate execution would keep, once the longest window is full."""
    if alive == apart:
        return f"{alive:,} alive"
    return f"{alive:,} alive, against {apart:,} in separate execution ({apart / alive:.1f} times fewer)"


def _caps(meta: MetaQuery) -> str:
    """How many a list may have: the n of the queries."""
    assert meta.at_most is not None
    return " or ".join(f"{n:,}" for n in np.unique(meta.at_most).tolist())


def _depths(meta: MetaQuery, k: Ints) -> str:
    """Of the views: the k of each."""
    values, counts = np.unique(k, return_counts=True)
    if len(values) == 1:
        return f"{values[0]:,} in every view"
    if len(values) <= 4:
        return ", ".join(f"{value:,} in {some(n, 'view', 'views')}" for value, n in zip(values, counts, strict=True))
    return f"{values[0]:,} to {values[-1]:,}, by view (median {int(np.median(k)):,}); at most {meta.most:,} of a pane"


def _panes(meta: MetaQuery, family: Family) -> str:
    size = pane_sizes(meta)
    show = family.queries[0].window.length_text
    if size.min() == size.max():
        return f"{show(int(size[0]))} each"
    return f"{show(int(size.min()))} to {show(int(size.max()))}, median {show(int(np.median(size)))}"


def pane_sizes(meta: MetaQuery) -> Ints:
    """Stretches between neighbouring view starts and report moments, over one longest window in the steady state; where
    those are too many to look at, the shortest slide, which they are at most."""
    first = meta.longest
    edges = meta.edges(first, 2 * first, 4 * MOST_TOLD)
    if edges is None:
        return np.array([int(meta.period.min())])
    return np.diff(np.union1d(edges, [first, 2 * first]))
