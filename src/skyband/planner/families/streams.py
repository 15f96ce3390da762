"""What `explain` says of a stream."""

from __future__ import annotations

from skyband.model import Stream
from skyband.model.duration import duration_text


def stream_text(stream: Stream) -> str:
    parts = [f"time {stream.time}"]
    if stream.key:
        parts.append(f"key {stream.key}")
    parts.append(f"up to {duration_text(stream.lateness)} late" if stream.lateness else "in time order")
    if stream.bounds.option or stream.bounds.behind_time:
        parts.append(stream.bounds.told)
    if stream.expire is not None:
        parts.append(f"groups of rows forgotten after {duration_text(stream.expire)} of silence")
    if stream.op:
        parts.append(f"deletes by {stream.op}")
    if stream.probability:
        parts.append("uncertain")
    return f"stream {stream.name}: {', '.join(parts)}"
