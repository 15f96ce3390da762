"""Numbers of a job: from Spark's progress to the status line and to Prometheus."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import skyband as sb
from tests.spark import jobs

pytestmark = pytest.mark.spark


class Seen(dict[str, Any]):
    """An observed row."""

    def asDict(self) -> dict[str, Any]:  # noqa: N802
        return dict(self)


def progress(**observed: dict[str, Any]) -> SimpleNamespace:
    state = SimpleNamespace(customMetrics={"rocksdbSstFileSize": 3_000_000}, memoryUsedBytes=1)
    return SimpleNamespace(
        processedRowsPerSecond=1234.5,
        durationMs={"triggerExecution": 1500},
        stateOperators=[state],
        observedMetrics={name.replace("_", ":"): Seen(values) for name, values in observed.items()},
    )


def test_measures_add_up_and_are_shown() -> None:
    from prometheus_client import CollectorRegistry, generate_latest

    from skyband.cli.exporter import Exported
    from skyband.cli.status import status_line, summary
    from skyband.spark.metrics import Measures

    plan = sb.Workload.from_sql(jobs.WORKLOAD).plan()
    measures = Measures.of(plan)
    for _ in range(2):
        measures.take(progress(skyband_trades={"records": 100, "unranked": 3, "bad": None}, other={"records": 7}))
    family = plan.families[0].family.fingerprint
    measures.sent(family, 10, None)
    assert measures.counts == {"records": 200, "unranked": 6, "bad": 0}
    assert status_line(measures) == "200 records (1,234/s)   6 unranked   state 3.0 MB   batch 2 in 1.5 s"
    assert summary(measures) == "200 records in 2 micro-batches, 10 rows, 6 unranked"
    registry = CollectorRegistry()
    registry.register(Exported(measures))
    text = generate_latest(registry).decode()
    assert "skyband_records_total 200.0" in text
    assert "skyband_bad_total 0.0" in text
    assert "skyband_late_total" not in text, "what nobody counted is not zero"
    assert f'family="{family}"' in text


def test_a_wrong_address_is_refused() -> None:
    from skyband.cli.exporter import serve
    from skyband.spark.metrics import Measures

    with pytest.raises(sb.SkybandError, match="--metrics 9400 is no address"):
        serve(Measures({}), "9400")
