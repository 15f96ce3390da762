"""How much one micro-batch reads unless somebody says otherwise: after an outage a stream catches up in steps that fit
into memory, not all at once."""

from __future__ import annotations

from collections.abc import Mapping

MOST_BYTES = 256 * 2**20
"""Of files. One that is larger is read whole."""
MOST_OFFSETS = 1_000_000
"""Of Kafka."""


def bounded(kind: str, options: Mapping[str, str]) -> dict[str, str]:
    """Options for a streaming reader with a bound, where they name none themselves."""
    if kind == "kafka":
        return {"maxOffsetsPerTrigger": str(MOST_OFFSETS)} | dict(options)
    said = {name.lower() for name in options}
    # Spark takes one of the two for files, not both.
    if said & {"maxfilespertrigger", "maxbytespertrigger"}:
        return dict(options)
    return {"maxBytesPerTrigger": str(MOST_BYTES)} | dict(options)
