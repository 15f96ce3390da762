"""The built-in market as a source: `market://?seconds=…&rate=…&seed=…`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from skyband.datasets import market
from skyband.datasets.market import SCHEMA


def market_tables(options: Mapping[str, str]) -> Iterator[pa.Table]:
    seconds = float(options["seconds"]) if "seconds" in options else None
    return market(seconds, rate=float(options.get("rate", "1000")), seed=int(options.get("seed", "0")))


GENERATED = {"market": (SCHEMA, market_tables)}
