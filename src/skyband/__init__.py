"""Continuous top-k queries over data streams, many at once, sharing their work."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skyband.engines import engines
    from skyband.errors import SkybandError
    from skyband.model import Above, Across, Approximate, Feed, Join, Stream, Table, TopK, Window
    from skyband.monitor import Monitor
    from skyband.spark.scan import scan
    from skyband.workload import Workload

__all__ = [
    "Above", "Across", "Approximate", "Feed", "Join", "Monitor", "SkybandError", "Stream", "Table", "TopK", "Window",
    "Workload", "engines", "scan",
]  # fmt: skip
__version__ = "0.1.0"

_HOME = {
    "Above": "skyband.model",
    "Across": "skyband.model",
    "Approximate": "skyband.model",
    "Feed": "skyband.model",
    "Join": "skyband.model",
    "Monitor": "skyband.monitor",
    "SkybandError": "skyband.errors",
    "Stream": "skyband.model",
    "Table": "skyband.model",
    "TopK": "skyband.model",
    "Window": "skyband.model",
    "Workload": "skyband.workload",
    "engines": "skyband.engines",
    "scan": "skyband.spark.scan",
}


def __getattr__(name: str) -> object:
    """Names are looked up when they are used: Spark starts many processes that need only one module of this package."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found
