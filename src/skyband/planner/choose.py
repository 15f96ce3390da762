"""Which engine serves a family, and why."""

from __future__ import annotations

from dataclasses import dataclass

from skyband.engines.base import Registration, registered, registration
from skyband.errors import SkybandError
from skyband.planner.families import Family
from skyband.planner.objects import why_everything

WORLDS, NORMAL = "pk_topk", "pk_normal"
"""The engines of uncertain streams: for records that may not exist, and for scores with an error."""
GROUPED = "grouped"
"""Not an engine for one group but a table for all of them; see skyband.runtime.grouped."""


@dataclass(frozen=True)
class Choice:
    engine: str
    reason: str


def choose(family: Family, forced: str | None = None) -> Choice:
    """The first rule that applies. A forced engine serves every family it can; ABOVE goes to a threshold engine."""
    if family.stream.op is not None:
        what = "PER" if family.per else "WITH ERROR" if family.error else "PROBABILITY"
        raise SkybandError(
            f"query {family.queries[0].name}: {what} over stream "
            f"{family.stream.name}, which has deletes (OP = {family.stream.op})",
            expected="deletes only for queries without PER and WITH ERROR, over streams without PROBABILITY",
            hint="where one group is enough, a filter such as WHERE symbol = 'X' asks for it" if family.per else None,
        )
    if family.across is not None:
        return _objects(family, forced)
    if family.uncertain:
        return _uncertain(family, forced)
    if forced is not None:
        _refuse_other_data(family, registration(forced))
    if family.per and forced is None:
        return Choice(GROUPED, "PER: the candidates of all groups in one table, so that no group costs a call")
    if family.thresholds:
        return _threshold_engine(family, forced)
    if forced is not None:
        return _forced(family, registration(forced))
    if len(family.queries) == 1:
        return Choice(
            "shared", "one query: a record costs a comparison, and an answer that stands is not computed again"
        )
    return Choice(
        "shared", f"{len(family.queries)} queries share partitions, and the best of all newer ones, merged once"
    )


def _refuse_other_data(family: Family, engine: Registration) -> None:
    data = engine.capabilities.data
    if data == "complete":
        return
    why = {
        "uncertain": f"is for uncertain streams, and {family.stream.name} has no PROBABILITY",
        "incomplete": f"is for incomplete streams, and query {family.queries[0].name} has no OBJECT ... ACROSS ...",
    }[data]
    raise SkybandError(f"engine {engine.name} {why}", expected="one of " + ", ".join(registered()))


def _objects(family: Family, forced: str | None) -> Choice:
    known = registered("incomplete")
    exact = [name for name, each in known.items() if each.capabilities.exact]
    rough = [name for name in known if name not in exact]
    able = exact if family.approximate is None else [*rough, *exact]
    if forced is not None:
        if registration(forced).name not in able:
            wrong = "may miss some" if forced in rough else "is for records, not for objects"
            raise SkybandError(
                f"engine {forced} {wrong}, and query {family.queries[0].name} asks for the best objects",
                expected="one of " + ", ".join(able),
                hint="APPROXIMATE allows it to miss some" if forced in rough else None,
            )
        return Choice(forced, "asked for")
    if family.approximate is not None:
        if not rough:
            raise SkybandError(
                f"query {family.queries[0].name} asks for an approximate answer, and no engine gives one",
                expected="EXACT",
            )
        return Choice(rough[0], f"{family.approximate}: objects that will hardly make it are forgotten")
    engine = "eaa" if "eaa" in exact else exact[0]
    whole = why_everything(family)
    if whole is not None:
        return Choice(engine, "exact; it scores objects as their values come")
    return Choice(engine, "an object is kept while fewer than k others are sure to stay ahead of what it may reach")


def _uncertain(family: Family, forced: str | None) -> Choice:
    able = NORMAL if family.error is not None else WORLDS
    reason = "possible worlds: one pass for every k of the same window"
    if family.error is not None:
        reason = "scores with an error: one integration for every k of the same window"
    if forced is not None and registration(forced).name != able:
        what = "ranks scores with an error" if family.error is not None else f"is over {family.stream.name}, uncertain"
        raise SkybandError(f"engine {forced} was asked for, and query {family.queries[0].name} {what}", expected=able)
    return Choice(able, reason)


def _threshold_engine(family: Family, forced: str | None) -> Choice:
    if forced is not None and registration(forced).capabilities.thresholds:
        return Choice(forced, "asked for")
    name = next(name for name, known in registered().items() if known.capabilities.thresholds)
    return Choice(name, "ABOVE has no k: every record over the threshold is kept while a window holds it")


def _forced(family: Family, engine: Registration) -> Choice:
    able = engine.capabilities
    if able.thresholds:
        raise SkybandError(
            f"engine {engine.name} answers ABOVE, but query {family.queries[0].name} asks for TOP",
            expected="an engine for TOP: " + ", ".join(_top_engines()),
        )
    if not (able.row_windows if family.kind == "rows" else able.time_windows):
        raise SkybandError(
            f"engine {engine.name} has no {family.kind.upper()} windows, which query {family.queries[0].name} uses",
            expected="one of " + ", ".join(_top_engines()),
        )
    lifted = "" if able.several_queries or len(family.queries) == 1 else "; it knows one query, so one runs per query"
    return Choice(engine.name, "asked for" + lifted)


def _top_engines() -> list[str]:
    return [name for name, known in registered().items() if not known.capabilities.thresholds]
