"""Edges that docs/language.md tells of, each as it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import skyband as sb

Row = dict[str, Any]
UNCERTAIN = sb.Stream("s", time="ts", key="id", probability="p", rule="rule", source="source")
DELETES = sb.Stream("s", time="ts", key="id", op="op")


def table(rows: Sequence[Row]) -> pa.Table:
    """Time, key and x of each record; what else it has may be left out."""
    usual: Row = {"p": 1.0, "rule": None, "source": None, "op": "I", "g": None, "h": None}
    types = {"ts": pa.timestamp("us"), "id": pa.int64(), "x": pa.float64(), "p": pa.float64()}
    whole = [usual | row for row in rows]
    names = ["ts", "id", "x", *usual]
    columns = {name: pa.array([row[name] for row in whole], types.get(name, pa.string())) for name in names}
    return pa.table(columns)


def answers(stream: sb.Stream, rows: Sequence[Row], **query: Any) -> list[Row]:
    """Rows of one query, the best by x of all there is unless it says otherwise."""
    asked: Row = {"name": "q", "k": 9, "by": "x", "window": "100 us"} | query
    monitor = sb.Monitor(sb.Workload([sb.TopK(**asked)], stream=stream))
    return [row for part in (monitor.push(table(rows)), monitor.close()) for row in part.to_pylist()]


@pytest.mark.parametrize(("window", "stays"), [("100 us", {2, 3}), ("9 rows", {1, 3})])
def test_a_rule_above_1_is_cut_by_time_or_by_position(window: str, stays: set[int]) -> None:
    """Record 1 came first and is the later one; 1 and 2 do not fit together, 3 fits beside either."""
    records = [(7, 1, 0.6), (3, 2, 0.6), (9, 3, 0.4)]
    rows: list[Row] = [{"ts": ts, "id": id, "x": 1.0, "p": p, "rule": "r"} for ts, id, p in records]
    assert {row["id"] for row in answers(UNCERTAIN, rows, window=window)} == stays


def test_of_equal_times_a_rule_is_cut_by_key() -> None:
    rows: list[Row] = [{"ts": 5, "id": id, "x": 1.0, "p": 0.6, "rule": "r"} for id in (2, 1)]
    assert [row["id"] for row in answers(UNCERTAIN, rows)] == [1]


def test_a_rule_s_total_counts_only_what_qualifies() -> None:
    """Neither a record that WHERE turns away nor one without a score takes room from the others."""
    rows: list[Row] = [
        {"ts": 1, "id": 1, "x": 5.0, "p": 0.9, "rule": "r", "g": "no"},
        {"ts": 2, "id": 2, "x": None, "p": 0.9, "rule": "r", "g": "yes"},
        {"ts": 3, "id": 3, "x": 5.0, "p": 0.9, "rule": "r", "g": "yes"},
    ]
    assert [row["id"] for row in answers(UNCERTAIN, rows, where="g = 'yes'")] == [3]
    assert [row["id"] for row in answers(UNCERTAIN, rows)] == [1]


def test_deletes_act_by_time_in_range_windows_and_by_arrival_in_rows_windows() -> None:
    """The delete comes behind the insert of 1 and before that of 2, with a time between theirs turned round."""
    rows: list[Row] = [
        {"ts": 10, "id": 1, "x": 1.0},
        {"ts": 5, "id": 1, "x": 0.0, "op": "D"},
        {"ts": 8, "id": 2, "x": 0.0, "op": "D"},
        {"ts": 4, "id": 2, "x": 2.0},
        {"ts": 11, "id": 3, "x": 3.0},
    ]
    assert {row["id"] for row in answers(DELETES, rows)} == {1, 3}
    assert {row["id"] for row in answers(DELETES, rows, window="3 rows")} == {2, 3}


def test_several_live_inserts_of_one_key_are_several_records() -> None:
    """And a delete takes all of them."""
    rows: list[Row] = [{"ts": ts, "id": 1, "x": float(ts)} for ts in (1, 2, 3)]
    assert [row["x"] for row in answers(DELETES, rows)] == [3.0, 2.0, 1.0]
    assert answers(DELETES, [*rows, {"ts": 4, "id": 1, "x": 0.0, "op": "D"}]) == []
    plain = sb.Stream("s", time="ts", key="id")
    assert [row["x"] for row in answers(plain, rows)] == [3.0, 2.0, 1.0]


def test_bad_records_take_no_position_and_unranked_ones_do() -> None:
    rows: list[Row] = [{"ts": at, "id": at, "x": 1.0} for at in range(6)]
    rows[1]["ts"], rows[3]["x"] = None, None
    found = answers(sb.Stream("s", time="ts"), rows, window="2 rows")
    assert [(row["row_end"], row["id"]) for row in found] == [(2, 2), (2, 0), (4, 4), (6, 5)]
    rows[3]["x"], rows[4]["p"] = 1.0, 1.5
    found = answers(UNCERTAIN, rows, window="2 rows")
    assert {(row["row_end"], row["id"]) for row in found} == {(2, 0), (2, 2), (4, 3), (4, 5)}


def test_the_text_of_a_group() -> None:
    values = [("a", "b"), ("a|b", None), ("\\N", ""), ("back\\slash", "|")]
    rows: list[Row] = [{"ts": at, "id": at, "x": 1.0, "g": g, "h": h} for at, (g, h) in enumerate(values)]
    found = {row["id"]: row["group_key"] for row in answers(sb.Stream("s", time="ts"), rows, per=("g", "h"))}
    assert [found[at] for at in range(4)] == ["a|b", "a\\|b|\\N", "\\\\N|", "back\\\\slash|\\|"]
    assert {row["group_key"] for row in answers(sb.Stream("s", time="ts"), rows)} == {""}


def test_pk_streams_shows_the_record_with_the_best_score_of_each_source() -> None:
    """Not its likeliest; `probability` is the sum over all its records, and records without a source are one."""
    rows: list[Row] = [
        {"ts": 1, "id": 1, "x": 9.0, "p": 0.1, "source": "a"},
        {"ts": 2, "id": 2, "x": 8.0, "p": 0.9, "source": "a"},
        {"ts": 3, "id": 3, "x": 7.0, "p": 0.5, "source": None},
        {"ts": 4, "id": 4, "x": 6.0, "p": 0.4, "source": None},
    ]
    found = answers(UNCERTAIN, rows, k=2, using="PK_STREAMS")
    assert [(row["id"], row["score"], row["source"]) for row in found] == [(1, 9.0, "a"), (3, 7.0, None)]
    # 4 is among the two best in the worlds in which at most one of the others exists.
    few = 0.9 * 0.1 * 0.5 + 0.1 * 0.1 * 0.5 + 0.9 * 0.9 * 0.5 + 0.9 * 0.1 * 0.5
    both = 0.5 * (1 - 0.1 * 0.9) + 0.4 * few
    assert [row["probability"] for row in found] == pytest.approx([1.0, both])


def test_u_topk_may_report_nothing_and_u_kranks_fewer_than_k() -> None:
    unlikely: list[Row] = [{"ts": at, "id": at, "x": 1.0, "p": 0.2} for at in range(2)]
    assert answers(UNCERTAIN, unlikely, k=2, using="U_TOPK") == []
    likely: list[Row] = [{"ts": at, "id": at, "x": 1.0, "p": 0.9} for at in range(2)]
    assert len(answers(UNCERTAIN, likely, k=2, using="U_TOPK")) == 2
    assert [row["rank"] for row in answers(UNCERTAIN, likely, k=3, using="U_KRANKS")] == [1, 2]
    same = [row | {"rule": "r", "p": 0.5} for row in likely]
    assert [row["rank"] for row in answers(UNCERTAIN, same, k=3, using="U_KRANKS")] == [1]
