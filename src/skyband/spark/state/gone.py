"""State that no query asks for any more. It is kept until no window to come could hold a record of it, or until
somebody says that it may be forgotten; what a checkpoint's note does not know is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from skyband.errors import DataError, SkybandError
from skyband.planner import Plan, PlannedFamily
from skyband.runtime.data_models.registry import data_model
from skyband.spark.state.keys import by_state_key

Noted = list[dict[str, Any]]
"""As the note says it: state keys, the names of the queries that they serve, and for how long it lasts (`lasts`,
microseconds of the stream's time; None: windows of ROWS and without a start do not end by time, unless EXPIRE says so),
and whether they have no timer (`counted`)."""


def noted_state(plan: Plan) -> Noted:
    """Of the state that a plan has."""
    found: dict[tuple[tuple[str, ...], int | None, bool], list[str]] = {}
    for key, planned in by_state_key(plan.families).items():
        names = tuple(query.name for query in planned.family.queries)
        found.setdefault((names, lasts(planned), planned.family.kind == "rows"), []).append(key)
    return [
        {"keys": keys, "queries": list(names), "lasts": last, "counted": counted}
        for (names, last, counted), keys in found.items()
    ]


def lasts(planned: PlannedFamily) -> int | None:
    meta, stream = data_model(planned).meta, planned.family.stream
    if planned.family.kind == "rows" or meta.unbounded:
        return stream.expire
    return int(meta.longest) + stream.lateness


def gone_state(old: Mapping[str, Any], plan: Plan, forget: Iterable[str] = ()) -> Noted:
    """What the checkpoint has beside the state of this plan."""
    asked, forgotten = set(by_state_key(plan.families)), set(forget)
    gone = []
    for each in (*old.get("gone", ()), *old.get("state", ())):
        keys = [key for key in each["keys"] if key not in asked]
        if keys:
            said = sorted(forgotten.intersection(each["queries"]).union(each.get("forgotten", ())))
            gone.append(each | {"keys": keys, "forgotten": said})
            asked.update(keys)
    _check(forgotten, gone, plan)
    return gone


def _check(forgotten: set[str], gone: Noted, plan: Plan) -> None:
    known = sorted({name for each in gone for name in each["queries"]})
    for name in sorted(forgotten.difference(known)):
        there = name in [query.name for query in plan.queries]
        raise DataError(
            f"--forget {name}: " + ("it is still among the queries" if there else "there is no state of such a query"),
            expected=f"one that is gone: {', '.join(known)}" if known else "a query that is gone, and none is",
        )


def kept(gone: Noted) -> dict[str, int | None]:
    """By state key for how long it lasts."""
    return {key: each["lasts"] for each in gone for key in each["keys"]}


def forgotten_keys(gone: Noted) -> frozenset[str]:
    """Of which every query may be forgotten."""
    return frozenset(key for each in gone if set(each["queries"]) <= set(each["forgotten"]) for key in each["keys"])


def woken_keys(gone: Noted) -> frozenset[str]:
    """Those that end some time, and that no timer calls."""
    return frozenset(key for each in gone if each.get("counted") and each["lasts"] is not None for key in each["keys"])


def unknown_state(key: str) -> SkybandError:
    return DataError(
        f"the checkpoint holds state under {key}, of queries that its note does not know",
        expected="the checkpoint of this job, as the last start left it",
        hint="put skyband.json back as it was, or begin anew, with another checkpoint",
    )
