"""Hints name what was probably meant, or nothing."""

from __future__ import annotations

import pytest

from skyband.model.names import nearest


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("prise", "price size symbol", "price"),
        ("Symbl", "price size symbol", "symbol"),
        ("pirce", "price size symbol", "price"),
        ("tradeid", "trade_id ts", "trade_id"),
        ("vol", "price volume", "volume"),
        ("SUN", "SUM MAX LAST", "SUM"),
        ("t", "ts id", "ts"),
        ("upper", "power or", None),
        ("hour", "or floor", None),
        ("x", "y z", None),
        ("client", "price size", None),
    ],
)
def test_what_was_meant(word: str, known: str, meant: str | None) -> None:
    assert nearest(word, known.split()) == meant
