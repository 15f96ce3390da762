"""APPROXIMATE in a Monitor: fewer objects, a list that is mostly right, and what was learnt survives a restart."""

from __future__ import annotations

import pyarrow as pa
import pytest

import skyband as sb
from skyband.datasets import apart

STREAM = sb.Stream("s", time="ts", key="id")


def asked(approximate: sb.Approximate | None, name: str = "q", k: int = 10) -> sb.TopK:
    across = sb.Across("object", "stream", streams=["0", "1", "2"], between=(0, 1), ever=True)
    frame = {"window": "1000 rows", "slide": "100 rows"}
    return sb.TopK(name, k=k, by="SUM(value)", across=across, approximate=approximate or False, **frame)  # type: ignore[arg-type]


def run(query: sb.TopK, again: bool = False) -> tuple[sb.Monitor, dict[int, set[int]]]:
    """The objects of every report; with `again` the Monitor starts again from a snapshot, many times."""
    table, monitor, parts = apart(8_000, 3, seed=4), sb.Monitor(sb.Workload([query], stream=STREAM)), []
    for low in range(0, len(table), 500):
        parts.append(monitor.push(table.slice(low, 500)))
        if again:
            told = monitor.counters
            monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
            assert _shares(monitor.counters) == _shares(told)
    found: dict[int, set[int]] = {}
    for row in pa.concat_tables(parts).select(["row_end", "object"]).to_pylist():
        found.setdefault(row["row_end"], set()).add(row["object"])
    return monitor, found


def _shares(counters: dict[str, dict[str, dict[str, int]]]) -> dict[str, int]:
    (family,) = counters["families"].values()
    return {name: value for name, value in family.items() if name.endswith("_ppm")}


@pytest.mark.parametrize("again", [False, True], ids=["in one go", "started again"])
def test_fewer_objects_and_most_of_the_list(again: bool) -> None:
    exact, truth = run(asked(None))
    rough, found = run(asked(sb.Approximate(precision=0.8)), again)
    hits = sum(len(found[end] & truth[end]) for end in truth)
    assert hits / sum(map(len, truth.values())) > 0.7
    (all_of,), (some_of,) = exact.counters["families"].values(), rough.counters["families"].values()
    assert some_of["objects"] < 0.6 * all_of["objects"]
    assert 600_000 < some_of["precision_ppm"] <= 1_000_000
    assert "precision_ppm" not in rough.counters


def test_a_query_joins_an_approximate_family() -> None:
    monitor, _ = run(asked(sb.Approximate(objects=60)))
    before = _shares(monitor.counters)
    monitor.add(asked(sb.Approximate(objects=60), "more", k=3))
    after = _shares(monitor.counters)
    # Only the knob may have turned: a pass over what is kept was made.
    assert after | {"knob_ppm": before["knob_ppm"]} == before
    rows = monitor.push(apart(9_000, 3, seed=4).slice(8_000))
    assert set(rows["query"].to_pylist()) == {"q", "more"}
