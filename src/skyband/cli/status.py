"""A running job in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skyband.spark.metrics import Measures


def status_line(measures: Measures) -> str:
    """What happens now."""
    counts = measures.counts
    parts = [f"{counts['records']:,} records ({measures.records_per_second:,.0f}/s)"]
    if measures.candidates is not None:
        parts.append(f"{measures.candidates:,} candidates")
    precise = [family.precision for family in measures.families.values() if family.precision is not None]
    if precise:
        parts.append(f"precision about {min(precise):.2f}")
    parts += lost(measures)
    parts.append(f"state {measures.state_bytes / 1e6:,.1f} MB")
    parts.append(f"batch {measures.batches} in {measures.batch_seconds:.1f} s")
    delays = [family.delay for family in measures.families.values() if family.delay is not None]
    if delays:
        parts.append(f"newest report {max(0.0, min(delays)):,.0f} s old")
    return "   ".join(parts)


def summary(measures: Measures) -> str:
    """What happened in all."""
    counts, rows = measures.counts, sum(family.rows for family in measures.families.values())
    reports = measures.reports.total()
    told = f"{counts['records']:,} records in {measures.batches} micro-batches, {reports:,} reports, {rows:,} rows"
    return ", ".join([told, *lost(measures)])


def lost(measures: Measures) -> list[str]:
    """Records that did not count as others did, where there are any."""
    counts = measures.counts
    return [f"{counts[name]:,} {name}" for name in ("late", "dropped", "unranked", "bad", "future") if counts[name]]
