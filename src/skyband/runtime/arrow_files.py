"""Files read by Arrow, in chunks, in the order of a stream: by time, then by key, as Spark's batch takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from glob import glob
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.dataset as ds
import pyarrow.json as json

from skyband.errors import DataError, SkybandError
from skyband.language import WrittenColumn, declared_schema, written_columns
from skyband.model import Stream
from skyband.model.names import did_you_mean
from skyband.runtime.json_lines import blocks, read_json
from skyband.runtime.locations import SUFFIXES, Location, is_data, local
from skyband.runtime.loose_values import going_on, is_instant, of_lines, of_texts

CHUNK = 500_000
"""Records pushed at once, and a few more: those of one moment stay together."""
BLOCK = 16 << 20
"""Bytes of text read at once; the first tell the types of columns that are not declared."""
MOMENT = "#moment"
"""The time of each record, where it is written in some way whose order is another."""
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class ArrowFiles:
    """The files of one stream. Declared columns come in their order and type, others as they are."""

    location: Location
    stream: Stream

    @cached_property
    def paths(self) -> list[str]:
        """In the order of their names."""
        where = local(self.location.where)
        if where is None:
            raise SkybandError(
                f"{self.location.where} is not on this machine", expected="a file, a folder or a pattern of files here"
            )
        if where.is_dir():
            found = [path for path in where.rglob("*") if is_data(path)]
        else:
            found = [Path(path) for path in glob(str(where))] if not where.exists() else [where]
        if not found:
            raise SkybandError(f"there is no {self.location.where}", expected="a file, a folder or a pattern of files")
        return sorted(map(str, found))

    @cached_property
    def kind(self) -> str:
        """What was said, or what the first name says; Parquet where that says nothing."""
        if self.location.kind != "files":
            return self.location.kind
        suffix = Path(self.paths[0]).name.removesuffix(".gz").rpartition(".")[2].lower()
        return SUFFIXES.get(suffix, "parquet")

    @cached_property
    def declared(self) -> pa.Schema | None:
        return declared_schema(self.stream.columns)

    @cached_property
    def written(self) -> dict[str, WrittenColumn]:
        """Columns that come as they are, for their times are to be read."""
        return written_columns(self.stream.columns)

    @cached_property
    def _order(self) -> str:
        """The column that records are ordered by."""
        return MOMENT if self.stream.time in self.written else self.stream.time

    def tables(self) -> Iterator[pa.Table]:
        """All records by time and key, in tables that no moment is split over; the first has none, only columns."""
        batches = self._batches()
        first = next(batches, None)
        if first is None:
            yield self._no_records()
            return
        yield _without_moments(first.schema.empty_table())
        self._check_time(first.schema)
        if self._in_order():
            chunks = _chunks(_chain(first, batches), self._order)
        else:
            whole = self._sorted(pa.Table.from_batches([first, *batches]))
            chunks = _chunks(iter(whole.to_batches(CHUNK)), self._order)
        for chunk in chunks:
            yield _without_moments(self._sorted(chunk))

    def _no_records(self) -> pa.Table:
        if self.declared is None:
            raise SkybandError(
                f"{self.location.where} has no records, and stream {self.stream.name} does not declare its columns",
                expected=f"records in it, or CREATE STREAM {self.stream.name} (column TYPE, ...) WITH (...)",
            )
        return self.declared.empty_table()

    def _check_time(self, schema: pa.Schema) -> None:
        if self.stream.time not in schema.names:
            raise _no_column(self.stream, self.stream.time, schema.names)

    def _in_order(self) -> bool:
        """Whether times never fall: one pass over that column."""
        last = None
        for batch in self._batches([self.stream.time]):
            times = batch.column(self._order).drop_null()
            if not len(times):
                continue
            if len(times) > 1 and not pc.all(pc.less_equal(times[:-1], times[1:])).as_py():
                return False
            if last is not None and pc.less(times[0], last).as_py():
                return False
            last = times[-1]
        return True

    def _sorted(self, table: pa.Table) -> pa.Table:
        keys = [self._order, *([self.stream.key] if self.stream.key in table.column_names else [])]
        return table.take(pc.sort_indices(table, [(key, "ascending") for key in keys]))

    def _batches(self, columns: list[str] | None = None) -> Batches:
        """Of every file, one after the other; only these columns."""
        try:
            for batch in _READERS[self.kind](self, columns):
                yield self._with_moments(self._conform(batch, columns))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
            said = str(error).splitlines()[0]
            raise DataError(f"stream {self.stream.name}: {self.location.where} cannot be read: {said}") from error

    def _conform(self, batch: pa.RecordBatch, columns: list[str] | None) -> pa.RecordBatch:
        if self.declared is None:
            return batch
        wanted = [field for field in self.declared if columns is None or field.name in columns]
        missing = next((field.name for field in wanted if field.name not in batch.schema.names), None)
        if missing is not None:
            raise _no_column(self.stream, missing, batch.schema.names)
        arrays = [self._cast(batch.column(field.name), field) for field in wanted]
        return pa.record_batch(arrays, [field.name for field in wanted])

    def _with_moments(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._order != MOMENT:
            return batch
        written, found = self.written[self.stream.time], batch.column(self.stream.time)
        written.check(found.type, self.stream.name)
        times = found if written.is_read(found.type) else written.read(found)[0].combine_chunks()
        return batch.append_column(MOMENT, times)

    def _cast(self, column: pa.Array, field: pa.Field) -> pa.Array:
        if field.name in self.written:
            return column
        found = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not _is_text(found) or _is_text(field.type):
            try:
                return column.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                pass
        raise SkybandError(
            f"stream {self.stream.name}: column {field.name!r} is declared {field.type}, and the data has {found}",
            expected="a type that the data's fits into",
        )

    # --------------------------------------------------------------------------------------------------------- formats

    def dataset(
        self, columns: list[str] | None, format: ds.FileFormat, looked: Callable[[], None] = lambda: None
    ) -> Batches:
        """`looked`: told when the first file was looked at, before any is read."""
        folder = local(self.location.where)
        base = str(folder) if folder is not None and folder.is_dir() else None
        found = ds.dataset(self.paths, format=format, partitioning="hive", partition_base_dir=base)
        # A declared column that is not there is told of by name.
        names = found.schema.names if self.declared is None else [*self.declared.names]
        asked = [name for name in columns or names if name in found.schema.names]
        looked()
        batches: Batches = found.to_batches(columns=asked)
        return batches

    def csv(self, columns: list[str] | None) -> Batches:
        if self.declared is None:
            return self.dataset(columns, _csv({}))
        types = {field.name: field.type for field in self.declared} | dict.fromkeys(self.written, pa.string())
        # Arrow wants a zone behind all instants of a column, or behind none.
        plain = {name: pa.timestamp(kind.unit) if is_instant(kind) else kind for name, kind in types.items()}
        strictly, plainly = (partial(self.dataset, columns, _csv(each)) for each in (types, plain))
        return going_on(strictly, partial(going_on, plainly, partial(self._loose_csv, columns)))

    def _loose_csv(self, columns: list[str] | None) -> Batches:
        assert self.declared is not None
        odd: list[csv.InvalidRow] = []

        def skip(row: csv.InvalidRow) -> str:
            odd.append(row)
            return "skip"

        written = [each.with_type(pa.string()) if each.name in self.written else each for each in self.declared]
        texts, found = dict.fromkeys(self.declared.names, pa.string()), pa.schema([])
        for batch in self.dataset(columns, _csv(texts, csv.ParseOptions(invalid_row_handler=skip)), odd.clear):
            read = of_texts(batch, pa.schema(written), self.stream.key)
            found = read.schema
            yield read
        # Rows with too many or too few values.
        yield pa.record_batch([pa.nulls(len(odd), each.type) for each in found], schema=found)

    def json(self, columns: list[str] | None) -> Batches:
        options = json.ParseOptions()
        if self.declared is not None:
            options = json.ParseOptions(explicit_schema=self.declared, unexpected_field_behavior="ignore")
        for path in self.paths:
            if self.declared is not None and self.written:
                batches = read_json(path, self.declared, self.written, BLOCK)
            else:
                strictly = partial(_open_json, path, json.ReadOptions(block_size=BLOCK), options)
                loosely = partial(self._loose_json, path)
                batches = strictly() if self.declared is None else going_on(strictly, loosely)
            for batch in batches:
                yield batch if columns is None else batch.select(columns)

    def _loose_json(self, path: str) -> Batches:
        assert self.declared is not None
        for lines in blocks(path, BLOCK):
            yield of_lines(lines.splitlines(), self.declared, self.stream.key)


def _csv(types: dict[str, pa.DataType], parsing: csv.ParseOptions | None = None) -> ds.CsvFileFormat:
    options = csv.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False)
    reading = csv.ReadOptions(block_size=BLOCK)
    return ds.CsvFileFormat(parsing or csv.ParseOptions(), convert_options=options, read_options=reading)


_READERS: dict[str, Callable[[ArrowFiles, list[str] | None], Batches]] = {
    "parquet": partial(ArrowFiles.dataset, format=ds.ParquetFileFormat()),
    "orc": partial(ArrowFiles.dataset, format=ds.OrcFileFormat()),
    "csv": ArrowFiles.csv,
    "json": ArrowFiles.json,
}
KINDS = tuple(_READERS)


def _open_json(path: str, reading: json.ReadOptions, parsing: json.ParseOptions) -> Batches:
    """Block by block; the whole file where PyArrow cannot do that yet."""
    if hasattr(json, "open_json"):
        yield from json.open_json(path, reading, parsing)
    else:
        yield from json.read_json(path, reading, parsing).to_batches()


def _without_moments(table: pa.Table) -> pa.Table:
    return table.drop_columns([MOMENT]) if MOMENT in table.column_names else table


def _chain(first: pa.RecordBatch, rest: Batches) -> Batches:
    yield first
    yield from rest


def _chunks(batches: Iterable[pa.RecordBatch], time: str) -> Iterator[pa.Table]:
    """Tables of about so many records, cut between two moments. Times do not fall."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += len(batch)
        if count < CHUNK:
            continue
        table = pa.Table.from_batches(waiting)
        older = pc.fill_null(pc.less(table.column(time), pc.max(table.column(time))), False)
        yield table.filter(older)
        waiting = table.filter(pc.invert(older)).to_batches()
        count = sum(map(len, waiting))
    if count:
        yield pa.Table.from_batches(waiting)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _no_column(stream: Stream, name: str, known: list[str]) -> SkybandError:
    return SkybandError(
        f"stream {stream.name}: the data has no column {name!r}",
        expected="one of " + ", ".join(known),
        hint=did_you_mean(name, known),
    )
