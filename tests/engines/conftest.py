"""Every engine for complete data is registered before the suites are collected: they run over the registry."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from skyband.engines import complete

for module in pkgutil.iter_modules(complete.__path__):
    import_module(f"{complete.__name__}.{module.name}")
