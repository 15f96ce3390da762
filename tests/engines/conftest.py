"""Every engine for complete data is registered before the suites are collected: they run over the registry."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from skyband.engines import complete

for module in pkgutil.walk_packages(complete.__path__, f"{complete.__name__}."):
    import_module(module.name)
