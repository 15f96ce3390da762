"""Real streams: loaders on files made here, and on the real ones where they are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skyband.datasets import REAL, available, lateness, load
from skyband.errors import SkybandError

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not available(DATA), reason="the real streams (../shared/data) are not here")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    honeypot = {"ts": pa.array([1, 2, 3], pa.timestamp("us")), "arrival_seq": [2, 0, 1], "dst_port": [7, 8, 9]}
    pq.write_table(pa.table(honeypot), tmp_path / "honeypot.parquet")
    return tmp_path


def test_only_what_is_there_is_available(folder: Path) -> None:
    assert available(folder) == ["honeypot"]


def test_records_come_in_order_of_arrival(folder: Path) -> None:
    assert load(folder, "honeypot")["dst_port"].to_pylist() == [8, 9, 7]
    assert load(folder, "honeypot", arrival=False)["dst_port"].to_pylist() == [7, 8, 9]
    chosen = load(folder, "honeypot", ["dst_port"])
    assert chosen.column_names == ["dst_port"]
    assert chosen["dst_port"].to_pylist() == [8, 9, 7]


def test_unknown_names_and_absent_files_are_refused(folder: Path) -> None:
    with pytest.raises(SkybandError, match=r"no real stream called 'trains'"):
        load(folder, "trains")
    with pytest.raises(SkybandError, match=r"there is no file .*flights\.parquet"):
        load(folder, "flights")


@needs_data
@pytest.mark.parametrize("name", REAL)
def test_real_streams_are_sorted_by_time_and_have_their_columns(name: str) -> None:
    if name not in available(DATA):
        pytest.skip(f"the real stream {name} is not here")
    real = REAL[name]
    rank_by = real.rank_by.split(" / ")
    key = [real.stream.key] if real.stream.key else []
    table = load(DATA, name, [real.stream.time, *rank_by, *key], arrival=False)
    ts = table[real.stream.time]
    assert ts.null_count == 0
    assert (np.diff(ts.cast(pa.int64()).to_numpy()) >= 0).all()
    assert all(pa.types.is_integer(table[c].type) or pa.types.is_floating(table[c].type) for c in rank_by)


@needs_data
def test_the_honeypot_is_as_late_as_it_declares() -> None:
    if "honeypot" not in available(DATA):
        pytest.skip("the real stream honeypot is not here")
    late = lateness(load(DATA, "honeypot", ["ts"])["ts"].cast(pa.int64()).to_numpy())
    assert 0.3 < (late > 0).mean() < 0.7
    assert late.max() <= REAL["honeypot"].stream.lateness
