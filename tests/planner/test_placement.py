"""Queries that run already stay in their families, whoever comes or goes."""

from __future__ import annotations

import skyband as sb
from skyband.planner import Placement
from skyband.planner.families.placement import noted, read

STREAM = sb.Stream("s", time="ts", key="id")
DELETES = sb.Stream("s", time="ts", key="id", op="op")


def top(name: str, by: str, k: int = 3, window: str = "1 minute") -> sb.TopK:
    return sb.TopK(name, k, by, window)


def scores(count: int) -> list[sb.TopK]:
    return [top(f"q{number}", f"{number}.5 * a + b") for number in range(count)]


def grouped(
    queries: list[sb.TopK], stream: sb.Stream = STREAM, placement: Placement | None = None
) -> tuple[dict[str, list[str]], Placement]:
    """By the names of the queries of each family its attributes; and where each query is."""
    workload = sb.Workload(queries, stream=stream)
    plan = workload.plan(placement=placement or {})
    found = {
        " ".join(query.name for query in each.family.queries): list(map(str, each.family.attributes))
        for each in plan.families
    }
    return found, read(noted(plan), map(str, workload.queries))


def test_a_family_stays_one_when_few_are_left() -> None:
    _, placement = grouped(scores(8))
    left = scores(8)[:2]
    assert grouped(left)[0] == {"q0": [], "q1": []}
    assert grouped(left, placement=placement)[0] == {"q0 q1": ["a", "b"]}


def test_attributes_stay_in_their_order_without_the_query_that_brought_them() -> None:
    first, *others = [top("x", "1.5 * b + a"), top("y", "a - 1.5 * b"), top("z", "2.5 * a")]
    before, placement = grouped([first, *others], DELETES)
    assert before == {"x y z": ["b", "a"]}
    assert grouped(others, DELETES)[0] == {"y z": ["a", "b"]}
    assert grouped(others, DELETES, placement)[0] == {"y z": ["b", "a"]}


def test_who_comes_joins_where_all_it_needs_is_there() -> None:
    _, placement = grouped([top("x", "a + 1.5 * b")], DELETES)
    came = [top("x", "a + 1.5 * b"), top("y", "b - 1.5 * a"), top("z", "b + 1.5 * c"), top("w", "c - 1.5 * b")]
    assert grouped(came, DELETES, placement)[0] == {"x y": ["a", "b"], "z w": ["b", "c"]}
    assert grouped(came, DELETES)[0] == {"x y z w": ["a", "b", "c"]}


def test_who_runs_apart_stays_apart_with_those_of_its_score() -> None:
    _, placement = grouped(scores(7))
    again = top("again", "0.5 * a + b", k=5)
    more = [*scores(8), again]
    assert list(grouped(more)[0]) == ["q0 q1 q2 q3 q4 q5 q6 q7 again"]
    assert list(grouped(more, placement=placement)[0]) == ["q0 again", *(f"q{number}" for number in range(1, 8))]
    many = [*scores(7), *(top(f"n{number}", f"a - {number}.25 * b") for number in range(8))]
    names = list(grouped(many, placement=placement)[0])
    assert names == [*(f"q{number}" for number in range(7)), " ".join(f"n{number}" for number in range(8))]


def test_a_place_that_does_not_fit_is_none() -> None:
    """As where a release takes scores apart otherwise."""
    query = top("x", "a + 1.5 * b")
    _, mine = grouped([query], DELETES)
    _, elsewhere = grouped([top("x", "c - 1.5 * d")], DELETES)
    placement = dict(zip(mine, elsewhere.values(), strict=True))
    assert grouped([query], DELETES, placement)[0] == {"x": ["a", "b"]}


def test_windows_are_told_apart() -> None:
    _, placement = grouped([top("x", "a + 1.5 * b")], DELETES)
    other = top("y", "a - 1.5 * b", window="2 minutes")
    assert grouped([other, top("x", "a + 1.5 * b")], DELETES, placement)[0] == {"y": ["a", "b"], "x": ["a", "b"]}
