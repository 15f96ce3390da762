"""An engine knows records by numbers and tells labels, however these go on from record to record."""

from __future__ import annotations

import numpy as np
import pytest

from skyband.engines.base import registered
from skyband.model import DueReports, MetaQuery, Records
from tests.engines.feeding import family

META = family([(40, 5, 0, 3), (25, 10, 0, 2)])
DRAW = np.random.default_rng(3)
SCORE = DRAW.permutation(300).astype(float)
RISING = np.arange(300)
LABELS = {
    "the numbers themselves": RISING,
    "from elsewhere on": RISING + 70,
    "with a gap": np.where(RISING < 130, RISING + 70, RISING + 95),
    "with a gap within a batch": np.where(RISING < 115, RISING + 70, RISING + 95),
    "one later, then in any order": np.concatenate((RISING[:160] + 70, 230 + DRAW.permutation(140))),
    "in any order": DRAW.permutation(300),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ["shared", "sap", "panes"])
def test_answers_and_candidates_carry_the_labels_given(name: str, labels: str) -> None:
    label = LABELS[labels]
    plain, labelled = (registered("complete")[name].build(META) for _ in range(2))
    for low in range(0, 300, 30):
        due = reports(META, low, low + 30)
        part = slice(low, low + 30)
        told = plain.advance(Records(RISING[part], SCORE[part]), due)
        found = labelled.advance(Records(RISING[part], SCORE[part], label[part]), due)
        assert found.id[found.entries()].tolist() == label[told.id[told.entries()]].tolist()
        assert labelled.candidates().tolist() == sorted(label[plain.candidates()].tolist())
        assert labelled.held().id is not None
        assert labelled.held().id.tolist() == label[plain.held().id].tolist()


def reports(meta: MetaQuery, low: int, high: int) -> DueReports:
    return meta.due_reports(RISING[low:high], low - 1, low, high)
