"""When records came, and what is known of it: looked at once, and handed on."""

from __future__ import annotations

from dataclasses import dataclass

from skyband.model.types import Ints


@dataclass(frozen=True)
class Times:
    """Times, or positions, of records that arrived together.

    >>> import numpy as np
    >>> times = Times(np.array([3, 5, 4]))
    >>> times.rise, times.of(np.array([0, 2])).rise
    (False, True)
    """

    at: Ints
    aligned: bool = True
    """They are known, and not only up to a shift: without that nobody knows where windows begin and end."""
    known_to_rise: bool = False
    """Somebody has seen it. Otherwise nobody has looked."""

    def __len__(self) -> int:
        return len(self.at)

    @property
    def rise(self) -> bool:
        """None is older than the one before."""
        return self.known_to_rise or bool((self.at[1:] >= self.at[:-1]).all())

    def of(self, places: Ints | slice) -> Times:
        """Those at places that rise."""
        return Times(self.at[places], self.aligned, self.known_to_rise)

    def copied(self) -> Times:
        return Times(self.at.copy(), self.aligned, self.known_to_rise)
