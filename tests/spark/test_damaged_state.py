"""What Spark's state store gives back is looked at as a snapshot is: damaged, it is refused before a kernel sees it."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest

import skyband as sb
from skyband.engines.codec import sealed, unsealed
from skyband.model.times import Times
from skyband.runtime.steps import feed
from skyband.spark.state.store import KIND, ROWS, FamilyStateStore, read_stored
from tests.fuzz.mutations import any_edit
from tests.monitor.stored import pushes

WORKLOAD = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts, KEY = id);
CREATE QUERY log AS SELECT TOP 3 id FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS]
  OBJECT client ACROSS server IN ('x', 'y') (SUM) EACH BETWEEN 0 AND 9 AT MOST 9 TIMES ORDER BY SUM(a) EMIT CHANGES;
""")
(PLANNED,) = WORKLOAD.plan().families


class Variables:
    """The state variables of a key: a value, and a map."""

    def __init__(self, value: Any = None, held: dict[Any, Any] | None = None) -> None:
        self.value, self.held = value, {} if held is None else held

    def get(self) -> Any:
        return self.value

    def update(self, value: Any) -> None:
        self.value = value

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.held[key]

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.held[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.held[key]


def loaded(state: Variables) -> FamilyStateStore:
    store = FamilyStateStore(state, state)
    store.load(PLANNED, read_stored(state))
    return store


def went_on(state: Variables) -> int:
    """Rows of one more micro-batch."""
    return sum(len(rows) for rows in feed(loaded(state).operator, encoded(pushes()[6]), 70_000_000))


def encoded(table: pa.Table) -> pa.Table:
    operator = FamilyStateStore(None, None).load(PLANNED, read_stored(Variables()))
    operator.bind(table.schema)
    return operator.encode(table, Times(table["ts"].cast(pa.int64()).to_numpy()), None, -(2**62)).rows


@pytest.fixture(scope="module")
def saved() -> Variables:
    state = Variables()
    for number, table in enumerate(pushes()[:6]):
        store = loaded(state)
        for _ in feed(store.operator, encoded(table), number * 10_000_000):
            pass
        store.save()
    assert went_on(state) > 0
    return state


def with_blob(saved: Variables, key: Any, blob: bytes) -> Variables:
    """None: the clock; else a segment."""
    return Variables((blob,), saved.held) if key is None else Variables(saved.value, saved.held | {key: (blob,)})


def test_any_flip_is_refused(saved: Variables) -> None:
    rng = random.Random(1)
    for key in [None, *saved.held] * 20:
        blob = bytearray(saved.value[0] if key is None else saved.held[key][0])
        blob[rng.randrange(len(blob))] ^= 1 << rng.randrange(8)
        damaged = with_blob(saved, key, bytes(blob))
        with pytest.raises(sb.SkybandError, match="snapshot"):
            went_on(damaged)


def test_with_its_checksum_repaired_it_is_refused_or_valid(saved: Variables) -> None:
    rng, refused = random.Random(2), 0
    for key in [None, *saved.held] * 40:
        blob = saved.value[0] if key is None else saved.held[key][0]
        damaged = with_blob(saved, key, any_edit("", blob, rng, repaired=True).apply(blob))
        try:
            went_on(damaged)
        except sb.SkybandError:
            refused += 1
    assert refused > 20


def test_rows_of_a_stream_that_there_is_not_are_refused(saved: Variables) -> None:
    """A kernel would look it up."""
    key = next(iter(saved.held))
    table = pa.ipc.open_stream(unsealed(ROWS, saved.held[key][0])["rows"]).read_all()
    place = table.column_names.index("#feed")
    wild = table.set_column(place, "#feed", pa.array([10**6] * len(table)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, wild.schema) as writer:
        writer.write_table(wild)
    blob = sealed(ROWS, {"rows": sink.getvalue().to_pybytes()})
    with pytest.raises(sb.SkybandError, match="column #feed of its rows has values from 0 to 1000000"):
        went_on(with_blob(saved, key, blob))


def test_what_it_says_has_to_have_its_form(saved: Variables) -> None:
    parts = unsealed(KIND, saved.value[0])
    said = json.loads(parts["state"]) | {"segments": "many"}
    blob = sealed(KIND, parts | {"state": json.dumps(said).encode()})
    with pytest.raises(sb.SkybandError, match="what it says has another form"):
        went_on(with_blob(saved, None, blob))
