"""`eaa` where an expression over attributes makes the score: the oracle's reports, and what may be dropped by it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.datasets import appearances
from skyband.engines.objects.eaa import Eaa
from skyband.engines.objects.expressed import Expressed
from skyband.engines.objects.family import Family, nothing_prunes
from skyband.language.expressions.attributes import AttributeScore
from skyband.model import Floats, MetaQuery
from skyband.model.apart import EXPRESSION, Assembly, AttributeValues
from tests.drawn import examples
from tests.engines.objects.support import Case, cases, check, declared, family
from tests.engines.objects.test_dominance import dominance_set, fed_to
from tests.engines.objects.test_engines import RestlessExpressed

NAMES = ("a", "b", "c")
MADE: dict[str, Callable[..., float]] = {
    "2 * a + sqrt(b) + least(c, 1)": lambda a, b, c: 2 * a + (sqrt(b) if b >= 0 else nan) + min(c, 1),
    "ln(a) + b": lambda a, b, c: log(a) + b if a > 0 else nan,
    "a * b + c": lambda a, b, c: a * b + c,
    "greatest(a, b) + exp(c - 2)": lambda a, b, c: max(a, b) + exp(c - 2),
    "floor(a) + power(b, 3) / 4": lambda a, b, c: float(np.floor(a)) + b**3 / 4,
    "nullif(a, 1) + c": lambda a, b, c: nan if a == 1 else a + c,
}


@dataclass(frozen=True)
class Plain:
    """The same in Python, one object after the other: for the oracle."""

    text: str

    def __call__(self, attributes: Floats) -> Floats:
        return np.array([MADE[self.text](*column) for column in attributes.T.tolist()])

    def steady(self, highest: Floats) -> bool:
        raise NotImplementedError


class PlainEaa(Eaa):
    def structure(self, meta: MetaQuery, width: int) -> Expressed:
        """Reports are compared with `Plain`, which the oracle takes from the case."""
        assert meta.apart is not None
        assert isinstance(meta.apart.score, Plain)
        floors = tuple((meta.apart.low >= 0).tolist())
        score = AttributeScore(meta.apart.score.text, NAMES, floors)
        return RestlessExpressed(replace(meta, apart=replace(meta.apart, score=score)), width)


@examples(200)
@given(st.data(), st.sampled_from(list(MADE)), st.booleans())
def test_every_report_is_that_of_the_oracle(data: st.DataObject, text: str, above: bool) -> None:
    case = data.draw(cases(longest=100, above=above))
    how = case.meta.apart
    assert how is not None
    low = max(float(how.low[0]), 0.0) if len(how) else 0.0
    high = float(how.high[0]) if len(how) else np.inf
    given_values = replace(case.fed, stream=case.fed.stream % 3, value=np.maximum(case.fed.value, low))
    three = np.full(3, low), np.full(3, high), np.full(3, len(case.fed) + 1)
    apart = Assembly(how.collect, EXPRESSION, np.ones(3), *three, how.ever, Plain(text))
    case = Case(replace(case.meta, apart=apart), given_values)
    last = int(case.fed.at[-1]) + 1 if len(case.fed) else 0
    first = int(case.fed.at[0]) if len(case.fed) else 0
    untils = sorted({*data.draw(st.lists(st.integers(first, last), max_size=4)), last, last + 60})
    engine = check(case, PlainEaa, untils)
    engine.check()


def expressed(text: str, ever: bool = True, **bounds: float) -> Assembly:
    how = declared(3, ever=ever, **bounds)  # type: ignore[arg-type]
    floors = tuple((how.low >= 0).tolist())
    return replace(how, combine=EXPRESSION, score=AttributeScore(text, NAMES, floors))


@pytest.mark.parametrize("ever", [True, False])
@pytest.mark.parametrize("text", ["2 * a + sqrt(b) + least(c, 1)", "ln(a + 1) + b", "a * b + c"])
def test_what_is_kept_is_the_dominance_set(text: str, ever: bool) -> None:
    for seed in range(3):
        fed = appearances(90, 3, 0.6, remembered=8, seed=seed)
        how = expressed(text, ever)
        held = set(fed_to(100, 1, 2, how, fed).held().object.tolist())
        assert held == dominance_set(fed, 2, how)
        assert not ever or len(held) < len(np.unique(fed.object))


@pytest.mark.parametrize(
    ("text", "high"),
    [
        ("nullif(a, 1) + b", 2.0),  # at 1 it loses its score, and at more has it again
        ("CAST(a AS BIGINT) + b", 2.0),  # NULL beyond 2^63
        ("exp(a) * b + c", 1000.0),  # infinity times zero, where b is missing
        ("a + b", np.inf),
    ],
)
def test_nothing_is_dropped_where_a_leader_may_lose_its_score(text: str, high: float) -> None:
    assert nothing_prunes(family("rows", [(10, 1, 0, 2)], expressed(text, high=high)))
    assert nothing_prunes(family("rows", [(10, 1, 0, 2)], expressed("a + ln(b) / 3", high=1000.0))) is None


def test_a_leader_that_loses_its_score_drops_nobody() -> None:
    """p has 1.5 and then 2, which is no score: q is the best then, though p was ahead of all that q can reach."""
    high, times = np.array([1.5, 0.0, 0.0]), np.full(3, 2)
    how = replace(expressed("nullif(a, 2) + b"), high=high, times=times)
    four = np.arange(4)
    fed = AttributeValues(four, four, np.array([8, 8, 7, 7]), 0 * four, np.array([0.25, 0.25, 1.5, 0.5]))
    case = Case(family("rows", [(4, 1, 0, 1)], how), fed)
    assert case.expected(0, 4, 1)[1] == [0.5]

    def settle(number: int, engine: Family) -> Family:
        engine.settle()
        return engine

    check(case, Eaa, [3, 4], settle)


def test_a_score_travels_as_text() -> None:
    score = AttributeScore("a + sqrt(b)", ("a", "b"), (False, True))
    assert pickle.loads(pickle.dumps(score)) == score
    attributes = np.array([[1.0, 2.0], [4.0, 9.0]])
    assert pickle.loads(pickle.dumps(score))(attributes).tolist() == score(attributes).tolist() == [3.0, 5.0]
