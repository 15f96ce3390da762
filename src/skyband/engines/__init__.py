"""Algorithms behind one protocol. Importing this package registers them all."""

from skyband.engines.base import Capabilities, registered
from skyband.engines.complete import above, kskyband, mintopk, mtopband, mtoplist, sap, shared

__all__ = ["above", "engines", "kskyband", "mintopk", "mtopband", "mtoplist", "sap", "shared"]


def engines() -> dict[str, Capabilities]:
    """Every engine by name, with what it can do."""
    return {name: known.capabilities for name, known in registered().items()}
