"""The rows, one file per topic; importing this package registers them, and the engines they measure."""

from importlib import import_module
from pkgutil import iter_modules

from bench.rows import many_queries, one_query, time_u
from skyband.engines import complete

for _module in iter_modules(complete.__path__):
    import_module(f"{complete.__name__}.{_module.name}")

__all__ = ["many_queries", "one_query", "time_u"]
