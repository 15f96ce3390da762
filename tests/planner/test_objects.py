"""Objects in a plan: who shares, who serves them, and what `explain` says may be dropped."""

from __future__ import annotations

from typing import Any

import pytest

import skyband as sb

STREAM = sb.Stream("s", time="ts", key="id")
DECLARED = sb.Across("client", "server", "SUM", ["a", sb.Feed("b", (0, 5), 3)], (0, 9))


def asked(name: str, by: str = "SUM(x)", across: sb.Across = DECLARED, **options: Any) -> sb.TopK:
    return sb.TopK(name, by=by, across=across, **{"k": 3, "window": "10 s", "slide": "1 s", **options})


def test_objects_share_whatever_their_windows_and_spelling() -> None:
    written_out = sb.Across("client", "server", "SUM", [sb.Feed("a", (0, 9), 1), sb.Feed("b", (0, 5), 3)])
    others = [
        asked("max", by="MAX(x)"),
        asked("largest", across=sb.Across("client", "server", "MAX", ["a", "b"])),
        asked("rough", approximate=True),
        asked("log", changes=True),
        asked("rows", window="10 rows", slide=2),
        sb.TopK("records", k=3, by="x", window="10 s", slide="1 s"),
    ]
    together = [asked("one"), asked("two", by="sum( x )", across=written_out, k=9, window="1 min", slide="7 s")]
    plan = sb.Workload([*together, *others], stream=STREAM).plan()
    assert [len(planned.family.queries) for planned in plan.families] == [2, 1, 1, 1, 1, 1, 1]
    assert len({planned.family.fingerprint for planned in plan.families}) == 7
    assert [planned.choice.engine for planned in plan.families] == [
        "eaa", "eaa", "eaa", "approximate", "eaa", "eaa", "shared"
    ]  # fmt: skip
    assert sb.Workload.from_sql(str(sb.Workload(together, stream=STREAM))).plan().families == (plan.families[0],)


def test_eight_families_of_objects_are_no_board() -> None:
    plan = sb.Workload([asked(f"q{n}", by=f"SUM(x * {n}.0)") for n in range(9)], stream=STREAM).plan()
    assert {planned.choice.engine for planned in plan.families} == {"eaa"}


@pytest.mark.parametrize(
    ("query", "engine", "message"),
    [
        (asked("q"), "shared", "engine shared is for records, not for objects"),
        (asked("q"), "approximate", "engine approximate may miss some"),
        (asked("q"), "pk_topk", "engine pk_topk is for records"),
        (
            sb.TopK("q", k=1, by="x", window="5 rows"),
            "eaa",
            "engine eaa is for objects, and query q has no OBJECT",
        ),
        (
            sb.Above("q", 5, "SUM(x)", "10 s", across=DECLARED),
            "sla",
            "engine sla answers TOP, and query q asks for ABOVE",
        ),
        (
            asked("q", "b", sb.Across("client", "server", streams=[sb.Feed("a", alias="b")], value="x")),
            "sla",
            "engine sla makes scores by SUM, MAX, MIN, PRODUCT, and query q ranks by an expression",
        ),
        (sb.TopK("q", k=1, by="x", window="5 rows"), "pk_topk", "engine pk_topk is for uncertain streams"),
    ],
)
def test_engines_that_cannot(query: sb.TopK | sb.Above, engine: str, message: str) -> None:
    with pytest.raises(sb.SkybandError, match=message):
        sb.Workload([query], stream=STREAM).plan(engine)


def test_an_exact_engine_may_serve_an_approximate_query() -> None:
    work = sb.Workload([asked("q", approximate=sb.Approximate(precision=0.9))], stream=STREAM)
    assert "eaa: asked for" in work.explain("eaa")
    assert "APPROXIMATE WITH PRECISION 0.9" in work.explain()
    assert "drops     objects that will hardly reach the list" in work.explain()


def test_what_is_not_declared_can_be_learnt_but_not_what_may_fall() -> None:
    for across, word in ((sb.Across("client", "server"), "drops"), (sb.Across("client", "server", "LAST"), "keeps")):
        query = asked("q", across=across, approximate=True)
        text = sb.Workload([query], stream=STREAM).explain()
        assert f"\n  {word}  " in text
        (planned,) = sb.Workload([query], stream=STREAM).plan().families
        engine: Any = planned.build()
        assert engine.structures[0].prunes == (word == "drops")


def test_explain_says_what_is_dropped() -> None:
    text = sb.Workload([asked("q")], stream=STREAM).explain()
    assert "over s by SUM(x) DESC" in text
    assert "objects   client, with values that arrive apart, by server" in text
    assert "score     SUM over the streams of the sum of x; 0 where there is none" in text
    assert "bounds    no value above 5 to 9 (by stream), at most 1 to 3 (by stream) of an object in a window" in text
    assert "drops     objects that cannot reach the list any more" in text
    assert "keeps     every value of the window: sla drops nothing" in sb.Workload([asked("q")], stream=STREAM).explain(
        "sla"
    )


def test_explain_says_what_a_count_may_reach() -> None:
    counted = sb.Across("client", "server", "COUNT", ["a", "b"], times=3)
    text = sb.Workload([asked("q", across=counted)], stream=STREAM).explain()
    assert "score     SUM over the streams of the number of x; 0 where there is none" in text
    assert "bounds    values: at most 3 of an object in a window" in text
    assert "drops     objects that cannot reach the list any more" in text


def test_explain_says_what_may_still_rise_above() -> None:
    def told(across: sb.Across = DECLARED, **options: Any) -> str:
        return sb.Workload([sb.Above("q", 5, "SUM(x)", "10 s", across=across, **options)], stream=STREAM).explain()

    for text in (told(), told(ascending=True)):
        assert "eaa: an object is kept while it may still rise above the lowest threshold" in text
        assert "drops     objects that cannot rise above the lowest threshold any more" in text
    mean = told(sb.Across("client", "server", "AVG", ["a"], (0, 1)))
    assert "keeps     every value of the window: an object may come to any value by AVG" in mean
    negative = told(sb.Across("client", "server", "SUM", ["a"], (-1, 1)))
    assert "values of a may be negative, and a sum rises when they leave" in negative


def named(between: tuple[float, float] | None = (0, 9), collect: str = "MAX", value: str = "x") -> sb.Across:
    feeds = [sb.Feed("bridge", alias="b"), sb.Feed("tunnel", alias="t")]
    return sb.Across("client", "server", collect, feeds, between, value=value)


def test_expressions_over_attributes_are_shared_and_explained() -> None:
    queries = [asked("one", "2*b + sqrt(t)", named()), asked("two", "2 * b + SQRT( t )", named(value=" ( x )"), k=9)]
    others = [asked("more", "b + t", named()), asked("last", "2 * b + sqrt(t)", named(collect="LAST"))]
    work = sb.Workload([*queries, *others], stream=STREAM)
    families = work.plan().families
    assert [len(planned.family.queries) for planned in families] == [2, 1, 1]
    assert len({planned.family.fingerprint for planned in families}) == 3
    text = work.explain(all=True)
    assert "over s by 2 * b + sqrt(t) DESC" in text
    assert "streams   bridge as b, tunnel as t" in text
    assert "score     2 * b + sqrt(t), of the largest of x; 0 where there is none" in text
    assert "drops     objects that cannot reach the list any more" in text
    assert "keeps     every value of the window: a LAST value may be lower" in text
    assert sb.Workload.from_sql(str(work)).plan().families == families


def test_explain_says_where_an_expression_has_no_limit() -> None:
    for by, across in (("nullif(b, 3) + t", named()), ("exp(b) + t", named((0, 1000)))):
        text = sb.Workload([asked("q", by, across)], stream=STREAM).explain()
        assert (
            "keeps     every value of the window: a score may be infinite, or none, where attributes are high" in text
        )


def test_a_count_with_a_promise_is_another_family() -> None:
    """What one may drop, the other needs."""
    promised, not_told = (sb.Across("client", "server", "COUNT", ["a"], times=times) for times in (1, None))
    plan = sb.Workload([asked("one", across=promised), asked("two", across=not_told)], stream=STREAM).plan()
    assert len(plan.families) == 2


@pytest.mark.parametrize(
    ("across", "options", "why"),
    [
        (sb.Across("client", "server"), {}, "the streams are not declared"),
        (sb.Across("client", "server", "LAST", ["a"], (0, 1)), {}, "a LAST value may be lower"),
        (sb.Across("client", "server", "AVG", ["a"], (0, 1)), {}, "another value may lower an AVG"),
        (
            sb.Across("client", "server", "COUNT", ["a", sb.Feed("b", times=2)]),
            {},
            "how many values of an object a may",
        ),
        (sb.Across("client", "server", "SUM", ["a", "b"]), {}, "no highest value is declared for a, b"),
        (sb.Across("client", "server", "SUM", ["a"], (-1, 1)), {}, "values of a may be negative"),
        (DECLARED, {"ascending": True}, "lowest scores come first"),
    ],
)
def test_explain_says_why_nothing_is(across: sb.Across, options: dict[str, Any], why: str) -> None:
    text = sb.Workload([asked("q", across=across, **options)], stream=STREAM).explain()
    assert f"keeps     every value of the window: {why}" in text
