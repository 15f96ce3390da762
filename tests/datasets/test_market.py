"""The simulated market: sound trades, bursts, and the same trades however they are cut into tables."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from skyband.datasets import market
from skyband.datasets.market import SCHEMA
from skyband.errors import SkybandError


@pytest.fixture(scope="module")
def trades() -> pa.Table:
    return pa.concat_tables(market(seconds=120, rate=1_000, symbols=12, seed=4)).combine_chunks()


def test_columns_are_as_promised(trades: pa.Table) -> None:
    assert trades.schema == SCHEMA
    assert all(column.null_count == 0 for column in trades.columns)
    ts = trades["ts"].cast(pa.int64()).to_numpy()
    begin = int(datetime(2026, 1, 5, 14, 30, tzinfo=UTC).timestamp()) * 1_000_000
    assert (np.diff(ts) >= 0).all()
    assert begin <= ts[0]
    assert ts[-1] < begin + 120_000_000
    assert np.array_equal(trades["trade_id"].to_numpy(), np.arange(1, len(trades) + 1))
    assert len(pc.unique(trades["symbol"])) == 12


def test_prices_are_positive_cents_that_walk(trades: pa.Table) -> None:
    price = trades["price"].to_numpy()
    assert (price > 0).all()
    assert np.array_equal(price, np.round(price, 2))
    assert np.abs(trades["change"].to_numpy()).max() < 0.05


def test_change_is_against_the_symbols_trade_before(trades: pa.Table) -> None:
    for symbol in pc.unique(trades["symbol"]).to_pylist():
        own = trades.filter(pc.equal(trades["symbol"], symbol))
        price, change = own["price"].to_numpy(), own["change"].to_numpy()
        assert change[0] == 0
        assert np.array_equal(change[1:], price[1:] / price[:-1] - 1)
        assert (change != 0).any()


def test_sizes_have_a_heavy_tail(trades: pa.Table) -> None:
    size = np.sort(trades["size"].to_numpy())
    assert size[0] >= 1
    assert size[int(0.999 * len(size))] > 50 * np.median(size)


def test_bursts_lift_activity_and_sizes(trades: pa.Table) -> None:
    second = (trades["ts"].cast(pa.int64()).to_numpy() - trades["ts"][0].value) // 1_000_000
    count = np.bincount(second)
    busy = count > 2_000
    assert 0 < busy.mean() < 0.5
    assert np.abs(count[~busy] / 1_000 - 1).max() < 0.2
    size = trades["size"].to_numpy()
    assert np.median(size[busy[second]]) > 2 * np.median(size[~busy[second]])


@pytest.mark.parametrize("rows", [1, 977, 100_000])
def test_the_size_of_tables_changes_no_trade(rows: int) -> None:
    settings = {"rate": 500.0, "symbols": 5, "seed": 2}
    whole = pa.concat_tables(market(seconds=10, **settings))  # type: ignore[arg-type]
    parts = list(market(seconds=10, rows=rows, **settings))  # type: ignore[arg-type]
    assert [len(part) for part in parts[:-1]] == [rows] * (len(parts) - 1)
    assert 0 < len(parts[-1]) <= rows
    assert pa.concat_tables(parts).equals(whole)


def test_more_seconds_begin_with_the_same_trades() -> None:
    short = pa.concat_tables(market(seconds=3.5, rate=300, seed=1))
    long = pa.concat_tables(market(seconds=9, rate=300, seed=1))
    assert long.slice(0, len(short)).equals(short)
    assert not pa.concat_tables(market(seconds=3.5, rate=300, seed=2)).equals(short)


def test_it_may_go_on_for_ever() -> None:
    tables = list(islice(market(rate=200_000, seed=0), 5))
    assert sum(map(len, tables)) > 400_000
    assert tables[-1]["ts"][-1].as_py() > tables[0]["ts"][0].as_py()


def test_it_is_fast_enough_for_a_demonstration() -> None:
    def trades_per_second() -> float:
        began = time.process_time()
        n = sum(map(len, market(seconds=4, rate=100_000)))
        return n / (time.process_time() - began)

    assert max(trades_per_second() for _ in range(3)) > 1_000_000


def test_symbols_by_number_or_name() -> None:
    few = pa.concat_tables(market(seconds=5, rate=500, symbols=["A", "B"]))
    assert set(pc.unique(few["symbol"]).to_pylist()) == {"A", "B"}
    many = pa.concat_tables(market(seconds=5, rate=5_000, symbols=100))
    assert len(pc.unique(many["symbol"])) == 100


def test_a_quiet_market_sends_no_empty_tables() -> None:
    tables = list(market(seconds=60, rate=0.2, seed=3))
    assert tables
    assert all(len(table) for table in tables)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(SkybandError, match="rate = 0"):
        market(rate=0)
    with pytest.raises(SkybandError, match="symbols = 0"):
        market(symbols=0)
    with pytest.raises(SkybandError, match="none twice"):
        market(symbols=["A", "A"])
    with pytest.raises(SkybandError, match="rows = 0"):
        market(rows=0)
    with pytest.raises(SkybandError, match="without a time zone"):
        market(start=datetime(2026, 1, 1))
