"""Prometheus text of a running job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from skyband.errors import SkybandError

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from skyband.spark.metrics import Measures

_COUNTS = {
    "records": "Records read.",
    "late": "Records that came after a window of theirs was reported.",
    "dropped": "Records that came after all their windows were reported.",
    "unranked": "Records without a score, once for every query.",
    "bad": "Records left out, such as those without a time.",
}


class Exported(Collector):
    """Reads the measures when it is asked."""

    def __init__(self, measures: Measures) -> None:
        self._measures = measures

    def collect(self) -> Iterator[Metric]:
        now = self._measures
        for name, said in _COUNTS.items():
            if name in now.counts:
                yield CounterMetricFamily(f"skyband_{name}", said, now.counts[name])
        yield CounterMetricFamily("skyband_batches", "Micro-batches done.", now.batches)
        yield GaugeMetricFamily("skyband_records_per_second", "Of the last micro-batch.", now.records_per_second)
        yield GaugeMetricFamily("skyband_batch_seconds", "How long the last micro-batch took.", now.batch_seconds)
        yield GaugeMetricFamily("skyband_state_bytes", "State kept.", now.state_bytes)
        if now.watermark is not None:
            yield GaugeMetricFamily("skyband_watermark_seconds", "Time up to which all is known.", now.watermark / 1e6)
        reports = CounterMetricFamily("skyband_reports", "Reports made, also without rows.", labels=["query"])
        for query, count in now.reports.items():
            reports.add_metric([query], count)
        yield reports
        yield from self._families()

    def _families(self) -> Iterator[Metric]:
        labels = ["family", "engine"]
        rows = CounterMetricFamily("skyband_rows", "Result rows sent.", labels=labels)
        kept = GaugeMetricFamily("skyband_candidates", "Records that may still be reported.", labels=labels)
        delay = GaugeMetricFamily("skyband_report_delay_seconds", "From a window's end to its report.", labels=labels)
        right = GaugeMetricFamily("skyband_precision", "Share of the true lists, estimated.", labels=labels)
        for name, family in self._measures.families.items():
            rows.add_metric([name, family.engine], family.rows)
            if family.kept:
                kept.add_metric([name, family.engine], sum(family.kept.values()))
            if family.precision is not None:
                right.add_metric([name, family.engine], family.precision)
            if family.delay is not None:
                delay.add_metric([name, family.engine], family.delay)
        yield rows
        yield kept
        yield right
        yield delay


def address(text: str) -> tuple[str, int]:
    """`[host]:port` as host ('' for all) and port."""
    found = re.fullmatch(r"(.*):(\d+)", text)
    if not found or int(found[2]) > 65_535:
        raise SkybandError(f"--metrics {text} is no address", expected="HOST:PORT, or :PORT")
    return found[1], int(found[2])


def serve(measures: Measures, where: str) -> str:
    """Answer at `[host]:port`; the address to ask."""
    host, port = address(where)
    registry = CollectorRegistry()
    registry.register(Exported(measures))
    try:
        start_http_server(port, host or "0.0.0.0", registry)
    except OSError as error:
        raise SkybandError(f"--metrics {where}: {error.strerror}", expected="an address that is free") from None
    return f"http://{host or 'localhost'}:{port}/metrics"
