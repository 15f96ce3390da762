"""State keys: a family and a bucket of it, as its data model splits it; in a batch also a range of its reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from skyband.planner import PlannedFamily
from skyband.runtime.data_models.registry import DataModel, data_model
from skyband.runtime.time_ranges import Ends, TimeRanges

LATE = "late/0"
"""The state key that counts the records of a stream, and those that came late."""


def state_key(planned: PlannedFamily, bucket: int) -> str:
    return f"{planned.family.fingerprint}/{bucket}"


def by_state_key(families: Iterable[PlannedFamily]) -> dict[str, PlannedFamily]:
    """What each state key serves."""
    return {
        state_key(planned, bucket): served
        for planned in families
        for bucket, served in data_model(planned).partitioning.buckets(planned).items()
    }


class BatchPart(NamedTuple):
    """What a key of a batch serves: some reports of a family, or of a bucket of it."""

    planned: PlannedFamily
    ends: Ends


def range_key(planned: PlannedFamily, bucket: int, ranges: TimeRanges, number: int) -> str:
    """Where there are several ranges a third number counts the parts of the family: it says to which task they go."""
    key = state_key(planned, bucket)
    return key if ranges.count == 1 else f"{key}/{bucket * ranges.count + number}"


def by_range_key(families: Iterable[tuple[DataModel, TimeRanges]]) -> dict[str, BatchPart]:
    """What each key of a batch serves."""
    return {
        range_key(model.planned, bucket, ranges, number): BatchPart(served, ranges.ends(number))
        for model, ranges in families
        for bucket, served in model.partitioning.buckets(model.planned).items()
        for number in range(ranges.count)
    }


def state_locations(families: Iterable[PlannedFamily]) -> dict[str, str]:
    """By query, as text: where its state is."""
    models = [data_model(planned) for planned in families]
    return {str(query): model.location(query) for model in models for query in model.planned.family.queries}


def merges(planned: PlannedFamily) -> bool:
    """The answers of its buckets are still to be merged."""
    return data_model(planned).partitioning.merges
