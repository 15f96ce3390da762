"""Windows of uncertain records, the engine fed with them, and what it may say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import assume, strategies as st

from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.oracle import uncertain as oracle
from skyband.engines.uncertain.pk_topk import PkTopk, Tuples
from skyband.model import Answers, DueReports, Floats, Ints, MetaQuery, Using

CLOSE = 1e-9


@dataclass(frozen=True)
class Window:
    """Records by arrival; positions are times. `rule` is -1 for none."""

    score: Floats
    p: Floats
    rule: Ints
    source: Ints | None = None

    def __len__(self) -> int:
        return len(self.p)

    def __getitem__(self, part: slice) -> Window:
        source = None if self.source is None else self.source[part]
        return Window(self.score[part], self.p[part], self.rule[part], source)

    def tuples(self, first: int = 0) -> Tuples:
        place = np.arange(len(self))
        rule = np.where(self.rule < 0, NO_RULE, self.rule)
        source = rule if self.source is None else self.source
        return Tuples(place + first, place + first, self.score.copy(), self.p.copy(), rule, place, source)

    def ranked(self, exact: Any = float) -> list[oracle.Tuple]:
        """Best first; the newer of equals first; without what does not fit into its rule."""
        records = [
            oracle.Tuple(exact(p), None if rule < 0 else rule, place)
            for place, (p, rule) in enumerate(zip(self.p.tolist(), self.rule.tolist(), strict=True))
        ]
        fits = oracle.fitting(records)
        order = sorted(range(len(self)), key=lambda place: (-self.score[place], -place))
        return [records[place] for place in order if fits[place]]


def family(width: int, slide: int, asks: Sequence[tuple[int, Using]]) -> MetaQuery:
    """Queries over windows of one length."""
    n = len(asks)
    k = np.array([k for k, _ in asks])
    using = tuple(using for _, using in asks)
    return MetaQuery(
        "rows", np.full(n, width), np.full(n, slide), np.full(n, width % slide), k, np.arange(n), using=using
    )


def one_report(window: Window, asks: Sequence[tuple[int, Using]]) -> list[tuple[list[int], list[float]]]:
    """What each ask is answered over the whole window: places by arrival, and values."""
    meta = family(len(window), len(window), asks)
    engine = PkTopk(meta)
    return by_report(engine.advance(window.tuples(), due_reports(meta, 0, len(window))))


def due_reports(meta: MetaQuery, start: int, end: int) -> DueReports:
    """Every query over [start, end)."""
    n = len(meta)
    order = np.argsort(-meta.k, kind="stable")
    return DueReports(np.full(n, start), np.full(n, end), meta.k[order], meta.query[order], end)


def by_report(answers: Answers) -> list[tuple[list[int], list[float]]]:
    found = []
    for begin, size in zip(answers.begin.tolist(), answers.size.tolist(), strict=True):
        part = slice(begin, begin + size)
        found.append((answers.id[part].tolist(), answers.score[part].tolist()))
    return found


# --------------------------------------------------------------------------------------------------------- strategies

PROBABILITIES = st.one_of(
    st.sampled_from([1.0, 0.5, 0.25, 0.1, 1e-5, 1 - 1e-9, 1 - 2**-53, 0.3, 0.7]), st.floats(0.015625, 1.0, width=32)
)


@st.composite
def windows(draw: st.DrawFn, most: int = 14) -> Window:
    """Ties, sure records, rules of any size, some of them with more than fits."""
    n = draw(st.integers(1, most))
    score = draw(st.lists(st.integers(0, 4).map(float), min_size=n, max_size=n))
    p = draw(st.lists(PROBABILITIES, min_size=n, max_size=n))
    rule = draw(st.lists(st.sampled_from([-1, -1, 0, 1, 2]), min_size=n, max_size=n))
    if draw(st.booleans()):
        # Shares of a rule, so that it holds several records.
        p = [each if number < 0 else each / 4 for each, number in zip(p, rule, strict=True)]
    assume(not _above_one(p, rule))
    return Window(np.array(score), np.array(p), np.array(rule))


def _above_one(p: list[float], rule: list[int]) -> bool:
    """A rule that holds a little more than 1, as it may by 1e-9: then worlds do, too, and the enumeration of them says
    up to so much more for every record, which is more than is allowed here."""
    held = dict.fromkeys(rule, 0.0)
    for each, number in zip(p, rule, strict=True):
        if number >= 0 and held[number] + each <= 1 + 1e-9:
            held[number] += each
    return any(total > 1 + 1e-12 for total in held.values())
