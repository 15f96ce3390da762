"""What others ask of a running job: Prometheus text, and whether it is well."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from socketserver import ThreadingMixIn
from threading import Thread
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from skyband.errors import SkybandError, UnavailableError

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from skyband.spark.metrics import Measures

PATIENCE = 600.0
_COUNTS = {
    "records": "Records read.",
    "late": "Records that came after a window of theirs was reported.",
    "dropped": "Records that came after all their windows were reported.",
    "unranked": "Records without a score, once for every query.",
    "bad": "Records left out, such as those without a time.",
    "future": "Records left out because their time is out of the stream's bounds.",
}


class Health:
    """Whether a job is well: Spark has said something of it lately, if only that there is nothing to do."""

    def __init__(self, measures: Measures, patience: float) -> None:
        """After so many seconds without a word it stands still."""
        self._measures, self._patience = measures, patience

    @property
    def stalled(self) -> bool:
        return time.time() - self._measures.heard > self._patience

    def told(self) -> dict[str, Any]:
        now = self._measures
        done = None if now.last_success is None else datetime.fromtimestamp(now.last_success, UTC).isoformat()
        status = "ended" if now.ended else "stalled" if self.stalled else "running"
        return {"status": status, "batch": now.batch, "last_success": done, "lag_seconds": now.lag}


class Exported(Collector):
    """Reads the measures when it is asked."""

    def __init__(self, measures: Measures, health: Health) -> None:
        self._measures, self._health = measures, health

    def collect(self) -> Iterator[Metric]:
        now = self._measures
        for name, said in _COUNTS.items():
            if name in now.counts:
                yield CounterMetricFamily(f"skyband_{name}", said, now.counts[name])
        yield CounterMetricFamily("skyband_batches", "Micro-batches done.", now.batches)
        yield GaugeMetricFamily("skyband_records_per_second", "Of the last micro-batch.", now.records_per_second)
        yield GaugeMetricFamily("skyband_batch_seconds", "How long the last micro-batch took.", now.batch_seconds)
        yield GaugeMetricFamily("skyband_state_bytes", "State kept.", now.state_bytes)
        yield GaugeMetricFamily("skyband_stalled", "Nothing was heard of Spark for long.", float(self._health.stalled))
        if now.last_success is not None:
            said = "When the last micro-batch was done, by the wall clock."
            yield GaugeMetricFamily("skyband_last_success_timestamp_seconds", said, now.last_success)
        if now.lag is not None:
            yield GaugeMetricFamily("skyband_lag_seconds", "From the watermark to now, by the wall clock.", now.lag)
        if now.watermark is not None:
            yield GaugeMetricFamily("skyband_watermark_seconds", "Time up to which all is known.", now.watermark / 1e6)
        reports = CounterMetricFamily("skyband_reports", "Reports made, also without rows.", labels=["query"])
        for query, count in now.reports.items():
            reports.add_metric([query], count)
        yield reports
        fates = CounterMetricFamily("skyband_query_records", "What became of records.", labels=["query", "fate"])
        for query, counts in now.fates.items():
            for fate, count in counts.items():
                fates.add_metric([query, fate], count)
        yield fates
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


LOOPBACK, ALL = "127.0.0.1", "0.0.0.0"
"""What a job does is nobody's business who was not told."""


def address(text: str) -> tuple[str, int]:
    """`[host]:port` as host and port: this machine alone, unless another is said; `*` for all that can reach it."""
    found = re.fullmatch(r"(.*):(\d+)", text)
    if not found or int(found[2]) > 65_535:
        raise SkybandError(f"--metrics {text} is no address", expected="HOST:PORT, or :PORT")
    return {"": LOOPBACK, "*": ALL}.get(found[1], found[1]), int(found[2])


def serve(measures: Measures, where: str, patience: float = PATIENCE) -> str:
    """Answer at `[host]:port`; the address to ask."""
    host, port = address(where)
    health, registry = Health(measures, patience), CollectorRegistry()
    registry.register(Exported(measures, health))
    metrics = make_wsgi_app(registry)

    def answer(asked: dict[str, Any], begin: Any) -> Iterable[bytes]:
        if asked["PATH_INFO"] != "/healthz":
            found: Iterable[bytes] = metrics(asked, begin)
            return found
        told = health.told()
        well = told["status"] == "running"
        begin("200 OK" if well else "503 Service Unavailable", [("Content-Type", "application/json")])
        return [json.dumps(told).encode()]

    try:
        server = make_server(host, port, answer, _Server, _Quiet)
    except OSError as error:
        raise UnavailableError(f"--metrics {where}: {error.strerror}", expected="an address that is free") from None
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{'localhost' if host in (LOOPBACK, ALL) else host}:{server.server_port}/metrics"


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    """Who asks every few seconds is not told of."""

    def log_message(self, format: str, *said: Any) -> None:
        pass
