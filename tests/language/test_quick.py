"""What is read without sqlglot is read as sqlglot reads it: the same tokens, nodes and places, or it is left alone."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from skyband.errors import SkybandError
from skyband.language.expressions.dialect import RESERVED, words_of_any
from skyband.language.expressions.expression import read_any
from skyband.language.expressions.nodes import Call, Node, Place
from skyband.language.expressions.quick import quick
from skyband.language.expressions.scan import scan
from tests.drawn import examples
from tests.language.samples import Maker

ROOT = Path(__file__).parents[2]
WORKLOADS = sorted([*(ROOT / "examples").glob("*.sql"), *(ROOT / "tests/planner/golden").glob("*.sql")])
TYPED = (
    "a price _x AND or Not t.x t . x a.b.c 1 12 0.5 1. .5 1e5 0x1F 0b1 1_000 10s 3L 'x' 'it''s' 'a\\'b' \"q\" `q` ; ' é"
    " ² + - * / % = == != <> <=> < <= > >= ! . , ( ) [ ] -- /* */ ->> || && :: := {% @ $ # ? \\ \n \t abs( f( date( "
    "case interval array( map( row( any( all( exists( values top limit order group by offset 99999999999999999999"
)
pieces = st.lists(st.sampled_from(TYPED.split(" ")), max_size=12)
texts = pieces.map("".join) | pieces.map(" ".join) | st.text(max_size=8)


def places(node: Node) -> list[tuple[type, Place]]:
    below = node.args if isinstance(node, Call) else ()
    return [(type(node), node.place), *(each for arg in below for each in places(arg))]


def same_nodes(text: str) -> bool:
    found = quick(text, RESERVED)
    if found is None:
        return False
    wanted = read_any(text, text, 0)
    assert found == wanted
    assert repr(found) == repr(wanted)  # 1 == 1.0 == True
    assert places(found) == places(wanted)
    return True


@examples(1500)
@given(texts)
@example("a--b\nc")
@example("1e5 2.5.1 0x1F")
@example("x'1F' b'1' r'a' 1'x'")
@example("a <=>--: b")
def test_tokens(text: str) -> None:
    found = scan(text)
    if found is not None:
        assert found == words_of_any(text)


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.name)
def test_tokens_of_workloads(path: Path) -> None:
    text = path.read_text()
    assert scan(text) == words_of_any(text)


@examples(1500)
@given(texts)
@example("-a * -2 + -(3)")
@example("f(a, (b)) + ( c )")
@example("a < b = c <> d")
def test_nodes(text: str) -> None:
    try:
        same_nodes(text)
    except SkybandError as error:
        pytest.fail(f"read without sqlglot, which refuses it: {error}")


def test_nodes_of_long_expressions() -> None:
    rng, known = random.Random(3), 0
    for seed in range(400):
        text = Maker(seed).make(rng.choice("nb"), rng.randrange(4))
        known += same_nodes(text)
    assert known > 40


@pytest.mark.parametrize(
    "text",
    ["price", "price * size", "0.3 * a + 0.7 * b - 2 * c", "abs(price - 100) / size", "symbol = 'S1' AND size > 10",
     "(a + b) * (c - -1) % 7", "trades.price >= 2 OR NOT_A_WORD < 3", "power(ln(price), 2) + greatest(a, b, 0)"],
)  # fmt: skip
def test_plain_expressions_need_no_sqlglot(text: str) -> None:
    assert same_nodes(text)
