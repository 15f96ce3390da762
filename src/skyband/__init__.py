"""Continuous top-k queries over data streams, many at once, sharing their work."""

from skyband.engines import engines
from skyband.errors import SkybandError
from skyband.model import Above, Stream, TopK, Window
from skyband.monitor import Monitor
from skyband.workload import Workload

__all__ = ["Above", "Monitor", "SkybandError", "Stream", "TopK", "Window", "Workload", "engines"]
__version__ = "0.1.0"
