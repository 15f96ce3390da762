"""`sla` = `eaa` = oracle on real streams, where they are at hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from skyband.datasets import air_quality, available, flights, honeypot, sightings
from skyband.engines.objects.eaa import Eaa
from skyband.engines.objects.sla import Sla
from skyband.model import NEVER
from skyband.model.apart import Assembly
from tests.engines.objects.support import Case, declared, family

DATA = Path(__file__).parents[4] / "shared" / "data"
HOUR = 3_600_000_000
none = np.empty(0)
OPEN = Assembly("SUM", "SUM", none, none, none, none.astype(np.int64))
PEAK = Assembly("MAX", "SUM", none, none, none, none.astype(np.int64))


@pytest.mark.skipif(not available(DATA), reason="the real streams (../shared/data) are not here")
@pytest.mark.parametrize(
    ("read", "rows", "hours", "how"),
    [
        (honeypot, 25_000, 24, OPEN),
        (air_quality, 60_000, 168, declared(6, ever=True)),
        (flights, 40_000, 24, OPEN),
        (flights, 40_000, 24, PEAK),
    ],
)
def test_real_streams(read: Callable[[Path], pa.Table], rows: int, hours: int, how: Assembly) -> None:
    fed, _, _ = sightings(read(DATA).slice(0, rows))
    meta = family("range", [(hours * HOUR, HOUR, 0, 20)], how)
    case = Case(meta, fed)
    due = meta.due_reports(fed.at, int(NEVER), int(NEVER), int(fed.at[-1]) + 1)
    eaa, sla = Eaa(meta), Sla(meta)
    first, second = eaa.advance(fed, due), sla.advance(fed, due)
    assert first.id.tolist() == second.id.tolist()
    assert first.score.tolist() == second.score.tolist()
    for i in np.linspace(0, len(due) - 1, 4).astype(int).tolist():
        wanted = case.expected(int(due.start[i]), int(due.end[i]), 20)
        assert (first.id[first[i]].tolist(), first.score[first[i]].tolist()) == wanted
    if len(how):
        eaa.settle()
        assert eaa.counters["objects"] < 0.5 * sla.counters["objects"]
