"""State keys: a family and a bucket of it, as its data model splits it."""

from __future__ import annotations

from collections.abc import Iterable

from skyband.planner import PlannedFamily
from skyband.runtime.data_models.registry import data_model

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


def state_locations(families: Iterable[PlannedFamily]) -> dict[str, str]:
    """By query, as text: where its state is."""
    models = [data_model(planned) for planned in families]
    return {str(query): model.location(query) for model in models for query in model.planned.family.queries}


def merges(planned: PlannedFamily) -> bool:
    """The answers of its buckets are still to be merged."""
    return data_model(planned).partitioning.merges
