"""Algorithms behind one protocol. Importing this package registers them all."""

import sys
from types import ModuleType

from skyband.engines.base import Capabilities, registered
from skyband.engines.complete import above, kskyband, mintopk, mtopband, mtoplist, panes, sap, shared
from skyband.engines.groups import totals
from skyband.engines.many import sma, tma, tsl
from skyband.engines.objects import approximate, eaa, sla
from skyband.engines.uncertain import pk_normal, pk_topk

__all__ = [
    "above",
    "approximate",
    "eaa",
    "engines",
    "kskyband",
    "mintopk",
    "mtopband",
    "mtoplist",
    "panes",
    "pk_normal",
    "pk_topk",
    "sap",
    "shared",
    "sla",
    "sma",
    "tma",
    "totals",
    "tsl",
]


def engines() -> dict[str, Capabilities]:
    """Every engine by name, with what it can do."""
    return {name: known.capabilities for name, known in registered(None).items()}


class _Package(ModuleType):
    """`sb.engines()` has the name of this package, which Python puts in its place once the package is imported."""

    def __call__(self) -> dict[str, Capabilities]:
        return engines()


sys.modules[__name__].__class__ = _Package
