"""The store of uncertain records checks itself: runs in rank order, turns, rules as numbers."""

from __future__ import annotations

import numpy as np

from skyband.engines.checks import check_best_first, check_rising, check_shared_out
from skyband.engines.kernels.uncertain.ranks import CROWDED, FRESH, MAIN, STORED, TAKEN, Store
from skyband.engines.kernels.uncertain.rule_codes import FREE
from skyband.model import Ints


def check_store(store: Store, dead: int, rule: Ints) -> None:
    """Records in feed order; those before TAKEN stand in one of two runs, best first, unless they are `dead`."""
    sizes = store.sizes
    stored, taken = int(sizes[STORED]), int(sizes[TAKEN])
    assert 0 <= taken <= stored <= len(store.at), "store: its ends are out of order"
    check_rising(store.at[:stored], "store: times")
    main, fresh = store.main[: sizes[MAIN]], store.fresh[: sizes[FRESH]]
    for run in (main, fresh):
        check_best_first(store.score[run], run, "run")
    both = np.sort(np.concatenate((main, fresh)))
    check_rising(both, "runs: a record is in two", strictly=True)
    assert len(both) == 0 or both[-1] < taken, "runs: a record that was not taken in"
    assert np.isin(np.arange(dead, taken), both).all(), "runs: a record of the window is missing"
    turn = store.turn[dead:stored]
    check_rising(store.at[turn], "turns: times")
    check_shared_out((turn - dead).tolist(), stored - dead, "turns")
    _check_rules(store, stored, rule[:stored])


def _check_rules(store: Store, stored: int, rule: Ints) -> None:
    """A number for each rule; the total of its records, and whether one may be too much."""
    code, p = store.code[:stored], store.p[:stored]
    ruled = np.flatnonzero(code != FREE)
    pairs = {(int(rule[slot]), int(code[slot])) for slot in ruled}
    assert len({each for each, _ in pairs}) == len({number for _, number in pairs}) == len(pairs), "rules: mixed up"
    for number in {number for _, number in pairs}:
        total = float(p[code == number].sum())
        assert abs(store.total[number] - total) <= 1e-9 * max(1.0, total), "rules: a total is not its records'"
        assert store.sizes[CROWDED] or total <= 1.0 + 1e-9, "rules: one is too full, and nobody knows"
