"""Result rows into a folder, written by Arrow: Parquet, CSV or JSON lines, as Spark would write them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

from skyband.errors import SkybandError
from skyband.model.readable import moment_text, python_rows
from skyband.runtime.locations import Location, check_folder, local
from skyband.runtime.owned_folders import MARK, check_ours, content

NAME = "part-00000"
LAST = 30_000 * 365 * 86_400_000_000
"""Microseconds from 1970 that Arrow writes right."""


class Writer(Protocol):
    def write(self, rows: pa.Table) -> None: ...
    def close(self) -> None: ...


def row_writer(folder: Path, kind: str, schema: pa.Schema) -> Writer:
    """One file in the folder, which `checked_folder` has found good; whatever is in there goes, and a mark says that
    it is ours."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
    (folder / MARK).write_text(json.dumps({"job": "monitor", "holder": ""}) + "\n")
    return _WRITERS[kind](folder, schema)


def checked_folder(location: Location, overwrite: bool) -> Path:
    """The folder: it is there or can be made, and nothing is in it that is to stay."""
    folder = local(location.where)
    if folder is None:
        raise SkybandError(f"{location.where} is not on this machine", expected="a folder here")
    check_folder(location.where, empty=not overwrite)
    if overwrite and folder.is_dir() and content(each.name for each in folder.iterdir()):
        check_ours(location.where, _files(folder))
    return folder


def _files(folder: Path) -> list[str]:
    return [each.relative_to(folder).as_posix() for each in folder.rglob("*") if not each.is_dir() or each.is_symlink()]


class ParquetRows:
    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._file = pq.ParquetWriter(folder / f"{NAME}.parquet", schema)

    def write(self, rows: pa.Table) -> None:
        self._file.write_table(rows)

    def close(self) -> None:
        self._file.close()


class CsvRows:
    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        shown = moments_as_text(schema.empty_table()).schema
        self._file = csv.CSVWriter(folder / f"{NAME}.csv", shown)

    def write(self, rows: pa.Table) -> None:
        self._file.write_table(moments_as_text(rows))

    def close(self) -> None:
        self._file.close()


class JsonRows:
    """Without what is NULL."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._file = (folder / f"{NAME}.json").open("w", encoding="utf-8")

    def write(self, rows: pa.Table) -> None:
        for row in python_rows(moments_as_text(rows)):
            said = {name: value for name, value in row.items() if value is not None}
            self._file.write(json.dumps(said, ensure_ascii=False, default=_plain) + "\n")

    def close(self) -> None:
        self._file.close()


_WRITERS: dict[str, type[ParquetRows | CsvRows | JsonRows]] = {
    "files": ParquetRows,
    "parquet": ParquetRows,
    "csv": CsvRows,
    "json": JsonRows,
}
KINDS = tuple(_WRITERS)


def moments_as_text(rows: pa.Table) -> pa.Table:
    """To the microsecond, with a Z where they are instants."""
    for number, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            form = "%Y-%m-%dT%H:%M:%SZ" if field.type.tz else "%Y-%m-%dT%H:%M:%S"
            at = rows.column(number).cast(pa.timestamp("us", "UTC" if field.type.tz else None), safe=False)
            rows = rows.set_column(number, field.name, _written(at, form))
    return rows


def _written(at: pa.ChunkedArray, form: str) -> pa.Array | pa.ChunkedArray:
    """Arrow's years go round at 32767."""
    micros = at.cast(pa.int64())
    ends = pc.min_max(micros).as_py()
    if ends["min"] is None or max(-ends["min"], ends["max"]) < LAST:
        return pc.strftime(at, form)
    end = form[len("%Y-%m-%dT%H:%M:%S") :]
    texts = [None if each is None else moment_text(each, "T") + end for each in micros.to_pylist()]
    return pa.array(texts, pa.string())


def _plain(value: Any) -> Any:
    return float(value) if hasattr(value, "as_integer_ratio") else str(value)
