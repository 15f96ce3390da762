"""Types of arrays. Kernels take these from here and nothing else of the model: a change of the model does not make them
compile anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Keys = NDArray[np.float64 | np.int64]
"""What records are ranked by: doubles or 64-bit integers."""

NEVER = np.int64(-(2**62))
"""Before every time and position: no record was fed, no moment was reported."""
