"""`ORDER BY ... WITH ERROR ...` from the text to the rows: Monitor, PER, sharing, real earthquakes."""

from __future__ import annotations

from math import erfc, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import skyband as sb
from skyband.datasets import load

DATA = Path(__file__).parents[3] / "shared" / "data"
TEXT = """CREATE STREAM s WITH (TIME = ts, KEY = id);
CREATE QUERY best AS
  SELECT TOP 1 id
  FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]
  ORDER BY mag DESC
  WITH ERROR 2 * err;
"""


def table(rows: list[tuple[int, int, float | None, float | None]]) -> pa.Table:
    """(second, id, magnitude, error), in two regions."""
    second, id, mag, err = zip(*rows, strict=True)
    region = pa.array(["north" if each % 2 else "south" for each in id])
    times = pa.array(np.array(second) * 1_000_000).cast(pa.timestamp("us"))
    columns = {"ts": times, "id": id, "mag": pa.array(mag, pa.float64()), "err": pa.array(err, pa.float64())}
    return pa.table(columns | {"region": region})


def wins(a: tuple[float, float], b: tuple[float, float]) -> float:
    """P(a's score is above b's): their difference is normal."""
    return 0.5 * erfc((b[0] - a[0]) / (sqrt(a[1] ** 2 + b[1] ** 2) * sqrt(2)))


@pytest.mark.parametrize(
    "order",
    ["ORDER BY mag DESC WITH ERROR 2 * err", "ORDER BY mag WITH ERROR 2 * err DESC", "WITH ERROR 2*err ORDER BY mag"],
)
def test_the_clause_reads_and_prints(order: str) -> None:
    workload = sb.Workload.from_sql(TEXT)
    assert str(workload) == TEXT
    text = f"CREATE STREAM s WITH (TIME = ts, KEY = id); SELECT TOP 1 id FROM s [RANGE 10 s SLIDE 5 s] {order};"
    (query,) = sb.Workload.from_sql(text).queries
    assert (query.by, query.ascending) == ("mag", False)
    explained = sb.Workload.from_sql(text).explain()
    assert "engine    pk_normal" in explained
    assert "normal, with a standard error of 2 * err; probabilities within 1e-9" in explained


def test_two_scores_are_compared_by_their_difference() -> None:
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT))
    rows = pa.concat_tables(
        [monitor.push(table([(1, 0, 5.0, 0.2), (2, 1, 5.1, 0.5), (3, 2, 9.0, -1.0)])), monitor.close()]
    )
    (first,) = rows.filter(pc.equal(rows["window_end"].cast(pa.int64()), 5_000_000)).to_pylist()
    assert (first["id"], first["score"]) == (1, 5.1)
    assert first["probability"] == pytest.approx(wins((5.1, 1.0), (5.0, 0.4)), abs=1e-9)
    assert monitor.counters["unranked"] == 1


def test_sure_scores_and_missing_errors() -> None:
    """k = 2 of a sure 5, one without an error at 5 (newer: it ranks first), and a doubtful one around 5."""
    query = sb.TopK("two", k=2, by="mag", error="err", window="10 seconds", using="PT_K(0.001)")
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts", key="id")))
    monitor.push(table([(1, 0, 5.0, 0.0), (2, 1, 5.0, None), (3, 2, 5.0, 1.0), (4, 3, None, 1.0)]))
    rows = monitor.close()
    assert dict(zip(rows["id"].to_pylist(), rows["probability"].to_pylist(), strict=True)) == pytest.approx(
        {1: 1.0, 0: 0.5, 2: 0.5}, abs=1e-9
    )
    assert monitor.counters["unranked"] == 1


def test_groups_ascending_frequency_and_a_restart() -> None:
    """Per region the lowest; two queries share the passes; a snapshot in the middle changes nothing."""
    draw = np.random.default_rng(4)
    records = table([(at, at, float(draw.normal(5, 1)), float(draw.uniform(0, 1))) for at in range(40)])
    options: dict[str, Any] = {"by": "mag", "error": "err", "window": "10 seconds", "per": "region", "ascending": True}
    often = sb.TopK("often", k=1, frequency="4 seconds", **options)
    seldom = sb.TopK("seldom", k=2, frequency="9 seconds", **options)
    stream = sb.Stream("s", time="ts", key="id")
    monitor, parts = sb.Monitor(sb.Workload([often, seldom], stream=stream)), []
    for low in range(0, 40, 8):
        monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
        parts.append(monitor.push(records.slice(low, 8)))
    rows = pa.concat_tables(parts)
    whole = sb.Monitor(sb.Workload([often, seldom], stream=stream)).push(records)
    assert rows.drop_columns("probability") == whole.drop_columns("probability").slice(0, len(rows))
    np.testing.assert_allclose(rows["probability"], whole["probability"][: len(rows)], rtol=0, atol=1e-12)
    for end, group in {(row["window_end"], row["group_key"]) for row in rows.to_pylist() if row["query"] == "often"}:
        inside = [row for row in records.to_pylist() if row["region"] == group and row["ts"] < end][-5:]
        (best,) = [
            row for row in rows.to_pylist()
            if (row["query"], row["window_end"], row["group_key"]) == ("often", end, group)
        ]  # fmt: skip
        sampled = draw.normal([row["mag"] for row in inside], [row["err"] for row in inside], (20_000, len(inside)))
        share = np.bincount(sampled.argmin(axis=1), minlength=len(inside)) / 20_000
        assert best["probability"] == pytest.approx(share.max(), abs=0.02)


def test_queries_with_other_errors_or_none_stay_apart() -> None:
    stream = sb.Stream("s", time="ts", key="id")
    queries = [
        sb.TopK(name, k=1, by="mag", window="10 seconds", error=error)
        for name, error in (("a", "err"), ("b", " err "), ("c", "2 * err"), ("d", None))
    ]
    families = sb.Workload(queries, stream=stream).plan().families
    assert [[query.name for query in each.family.queries] for each in families] == [["a", "b"], ["c"], ["d"]]
    assert len({each.family.fingerprint for each in families}) == 3
    assert [each.choice.engine for each in families] == ["pk_normal", "pk_normal", "shared"]


@pytest.mark.parametrize(
    ("query", "stream", "message"),
    [
        ("SELECT ABOVE 3 FROM s [ROWS 5] ORDER BY x WITH ERROR e", "", "asks for ABOVE 3 of scores with an error"),
        ("SELECT TOP 3 FROM s [ROWS 5] ORDER BY x WITH ERROR e USING U_TOPK", "", "asks for U_TOPK of scores"),
        ("SELECT TOP 3 FROM s [ROWS 5] ORDER BY x WITH ERROR", "", "found the end of the statement after WITH ERROR"),
        ("SELECT TOP 3 FROM s [ROWS 5] ORDER BY x WITH e", "", "found `WITH`"),
        ("SELECT TOP 3 FROM s [ROWS 5] ORDER BY x WITH ERROR e", ", KEY = k, OP = o", "WITH ERROR over stream s"),
    ],
)
def test_what_makes_no_sense_is_refused(query: str, stream: str, message: str) -> None:
    with pytest.raises(sb.SkybandError, match=message):
        sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = t{stream}); {query};")


@pytest.mark.skipif(not DATA.is_dir(), reason="the real streams are not here: no ../shared/data")
def test_earthquakes_are_ranked_by_likelihood() -> None:
    """Measured errors, many ties, and some without an error: probabilities add up to k, and two of them agree with
    what a simulation says."""
    quakes = load(DATA, "earthquakes").slice(0, 3_000)
    query = sb.TopK("strongest", k=10, by="mag", error="mag_err", window="30 days", slide="10 days", using="PT_K(1e-9)")
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("quakes", time="ts", key="id")))
    rows = pa.concat_tables([monitor.push(quakes), monitor.close()])
    sums = rows.group_by("window_end").aggregate([("probability", "sum"), ("id", "count")])
    full = sums.filter(pc.greater(sums["id_count"], 10))
    assert len(full) >= 2
    np.testing.assert_allclose(full["probability_sum"], 10.0, rtol=0, atol=1e-5)
    last = pc.max(full["window_end"])
    mine = rows.filter(pc.equal(rows["window_end"], last))
    mean, error = (
        mine["mag"].to_numpy(),
        np.nan_to_num(pc.fill_null(mine["mag_err"].cast(pa.float64()), 0.0).to_numpy()),
    )
    # Of equal sure scores the newer ranks first.
    newest = np.argsort(np.argsort(mine["ts"].cast(pa.int64()).to_numpy(), kind="stable"))
    draw = np.random.default_rng(2).normal(mean, error, (20_000, len(mean))) + 1e-9 * newest
    often = np.bincount(np.argsort(-draw, axis=1)[:, :10].ravel(), minlength=len(mean)) / 20_000
    np.testing.assert_allclose(mine["probability"], often, rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("error", "probability", "engine"),
    [("err", None, "pk_topk"), ("err", None, "shared"), (None, "p", "pk_normal"), (None, None, "pk_normal")],
)
def test_a_forced_engine_must_fit(error: str | None, probability: str | None, engine: str) -> None:
    query = sb.TopK("q", k=1, by="mag", window="10 seconds", error=error)
    workload = sb.Workload([query], stream=sb.Stream("s", time="ts", key="id", probability=probability))
    with pytest.raises(sb.SkybandError, match=f"engine {engine}"):
        workload.plan(engine)


@pytest.mark.parametrize(
    ("a", "e", "best"),
    [
        ([1.0, 2.0, 3.0, 4.0], [0.5, 1e300, 0.5, 0.5], [(4.0, 0.96067), (3.0, 0.53816), (2.0, 0.5)]),
        ([1.0, 2.0, 1e300, 4.0], [0.5, 1e30, 0.5, 1e-300], [(1e300, 1.0), (2.0, 0.5), (4.0, 0.5)]),
        ([1.0, 2.0, 3.0, 4.0], [0.5, 1.7e308, 0.5, 0.5], [(4.0, 0.99881), (3.0, 0.99766)]),
    ],
    ids=["an error beyond all others", "errors that vanish", "an error beyond all numbers"],
)
def test_one_record_with_an_odd_error_holds_nobody_up(
    a: list[float], e: list[float], best: list[tuple[float, float]]
) -> None:
    """Panels were cut to what a crowd far below wanted, which is nothing beside 1e300: the report never came."""
    likely = "SELECT TOP 2 a FROM s [RANGE 1 DAY] ORDER BY a WITH ERROR e USING PT_K(0.4);"
    monitor = sb.Monitor(sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = ts); {likely}"))
    monitor.push(pa.table({"ts": pa.array(range(len(a)), pa.timestamp("us")), "a": a, "e": e}))
    rows = monitor.close().to_pylist()
    assert [row["a"] for row in rows] == [a for a, _ in best]
    assert [row["probability"] for row in rows] == pytest.approx([p for _, p in best], abs=2e-3)
