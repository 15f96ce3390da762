"""Somebody whom rows are sent to may be away for a while: asked again, with longer and longer breaks, and said so."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from skyband.errors import SkybandError, UnavailableError

T = TypeVar("T")
PATIENCE = 600.0
"""Seconds from the first refusal to the last try."""
FIRST, LONGEST = 1.0, 30.0
"""Seconds between two tries."""
log = logging.getLogger("skyband")
stopping = Event()
"""Set when a job is asked to end: nobody waits any more, and the next start does the micro-batch again."""


class AwayError(SkybandError):
    """Who is to take the rows cannot be reached, or is not ready."""


def patiently(who: str, action: Callable[[], T]) -> T:
    """What `action` gives, once it is not told any more that somebody is away."""
    began, pause, tried = time.monotonic(), FIRST, 1
    while True:
        try:
            found = action()
        except AwayError as error:
            gone = time.monotonic() - began
            if gone + pause > PATIENCE or stopping.is_set():
                raise _given_up(who, error, gone) from error
            log.warning("%s is away (%s): try %d in %.0f s", who, error.message, tried + 1, pause)
            stopping.wait(pause)
            pause, tried = min(2 * pause, LONGEST), tried + 1
        else:
            if tried > 1:
                log.warning("%s is back after %.0f s", who, time.monotonic() - began)
            return found


def _given_up(who: str, error: AwayError, seconds: float) -> SkybandError:
    return UnavailableError(
        f"{who} has been away for {seconds:,.0f} s: {error.message}",
        hint="what was committed is safe, and the same command goes on from --checkpoint",
    )
