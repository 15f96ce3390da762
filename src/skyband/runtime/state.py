"""What has to be saved of an operator: its clock, what it knows of its queries, and its rows. Monitor and Spark's state
store write the same, by the one codec; queries are named by their texts."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.engines.codec import reading, sealed, stored_table, table_bytes, unsealed
from skyband.errors import DataError
from skyband.model import Ints
from skyband.runtime.clock import clock_at
from skyband.runtime.encoded import SCORE, SECOND, ints
from skyband.runtime.executors.base import NO_IDS
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.stored_rows import ID, KIND, check_listed, check_rows
from skyband.runtime.stored_values import COUNT, PLACE, bits, by_name, items, read_json, record, several, whole
from skyband.runtime.work import work

PLAN = record(
    {},
    {
        "pending": by_name(by_name(several(PLACE, items(several(whole(1), PLACE))))),
        "beats": by_name(items(several(whole(1), PLACE))),
    },
)
"""What an executor says of its plan: of uncertain families the beats, and who still follows earlier ones."""
QUERY = record(
    {"since": PLACE, "since in group": by_name(PLACE), "listed": by_name(items(COUNT))}, {"told": by_name(items(bits))}
)
STATE = record(
    {
        "until": PLACE,
        "next id": COUNT,
        "records": COUNT,
        "work": by_name(bits),
        "peak": bits,
        "queries": by_name(QUERY),
        "plan": PLAN,
    },
    {"unfolded": COUNT, "room": COUNT},
)
"""What `state_of` writes."""


def json_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def state_of(operator: FamilyOperator) -> dict[str, Any]:
    """Everything that decides a family's future answers, but its rows and what an engine has learnt."""
    texts, counters = _texts(operator), operator.executor.counters
    queries: dict[str, dict[str, Any]] = {}
    for number, text in enumerate(texts):
        since, in_group = operator.warm_up[number]
        queries[text] = {"since": since, "since in group": in_group, "listed": {}}
    for (number, group), ids in operator.changes.previous.items():
        queries[texts[number]]["listed"][group] = ids.tolist()
    for (number, group), words in operator.changes.told.items():
        queries[texts[number]].setdefault("told", {})[group] = words.tolist()
    said = {} if not operator.model.folds else {"unfolded": operator.unfolded, "room": operator.room}
    return said | {
        "until": operator.clock.of(""),
        "next id": operator.store.next_id,
        "records": operator.records,
        "work": work(counters),
        "peak": counters["candidates_peak"],
        "queries": queries,
        "plan": operator.executor.saved_plan(operator.planned),
    }


def restore(
    operator: FamilyOperator,
    state: Mapping[str, Any],
    rows: pa.Table | None,
    learned: bytes,
    seen: Mapping[str, int],
    stayed: Container[str] | None = None,
) -> None:
    """Go on from `state_of` and the rows (with their ids); the operator is new, and may have other queries: of those
    that have not `stayed` (None: all have) nothing is taken over. `seen`, for ROWS: the records of each group.

    The state has the shape `STATE`; rows that cannot be its own are refused before an engine sees them."""
    if rows is not None:
        check_rows(operator, rows, state["next id"], seen)
    clock = clock_at(operator.planned.family.kind, state["until"], seen)
    operator.clock = clock
    operator.store.next_id, operator.records = state["next id"], state["records"]
    for number, text in enumerate(_texts(operator)):
        if text in state["queries"] and (stayed is None or text in stayed):
            known = state["queries"][text]
            operator.warm_up[number] = known["since"], known["since in group"]
            for group, ids in known["listed"].items():
                operator.changes.previous[number, group] = np.array(ids, np.int64)
            for group, words in known.get("told", {}).items():
                operator.changes.told[number, group] = np.array(words, np.int64)
    check_listed(NO_IDS if rows is None else ints(rows, ID), operator.changes.pinned())
    operator.executor.follow(state["plan"], operator.planned, clock)
    if rows is not None:
        _check_scores(operator, rows)
        operator.resume(rows.drop_columns([ID]), ints(rows, ID), clock, learned)
        check_listed(operator.store.ids, operator.executor.candidates())
    # Whoever goes on puts rows together when whoever saved them would have.
    operator.unfolded, operator.room = (state.get(name, getattr(operator, name)) for name in ("unfolded", "room"))
    operator.executor.recount(state["work"], state["peak"])


def _check_scores(operator: FamilyOperator, rows: pa.Table) -> None:
    """Numbers that were kept as one type would be misread as another."""
    family = operator.planned.family
    for name, what, kind in ((SCORE, "scores", family.score_type), (SECOND, "second keys", family.then_type)):
        if name in rows.column_names and rows.schema.field(name).type != pa.from_numpy_dtype(kind.key):
            kept = "64-bit integers" if pa.types.is_integer(rows.schema.field(name).type) else "DOUBLE"
            raise DataError(
                f"query {family.queries[0].name}: its saved {what} are {kept}, and now they are of type {kind.name}",
                expected="columns of the types that they had then",
                hint="start anew: without the snapshot, or with another checkpoint",
            )


def with_ids(rows: pa.Table, ids: Ints) -> pa.Table:
    """Rows of the store with their ids, as `restore` wants them."""
    return rows.append_column(ID, pa.array(ids))


def operator_bytes(operator: FamilyOperator) -> bytes:
    """All of an operator in one blob."""
    rows = operator.rows()
    parts = {
        "state": json_bytes(state_of(operator)),
        "rows": table_bytes(None if rows is None else with_ids(rows, operator.store.ids)),
        "learned": operator.executor.learned_state(),
    }
    return sealed(KIND, parts)


def restore_operator(operator: FamilyOperator, blob: bytes, seen: Mapping[str, int]) -> frozenset[str]:
    """Go on where `operator_bytes` was taken; of which queries something was known there, as text."""
    parts = unsealed(KIND, blob)
    with reading(KIND):
        state, rows = read_json(KIND, parts["state"], STATE), stored_table(KIND, parts["rows"])
        restore(operator, state, rows, parts["learned"], seen)
        return frozenset(state["queries"])


def _texts(operator: FamilyOperator) -> list[str]:
    return [str(query) for query in operator.planned.family.queries]
