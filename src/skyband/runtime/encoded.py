"""Encoded rows: what a family keeps of a record. Time, rank and tie under reserved names, then the columns shown.

The same layout holds records back, crosses Spark's stages, and stores candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import Floats, Ints, Keys

AT, SCORE, HASH, KEY, GROUP = "#at", "#score", "#hash", "#key", "#group"
"""Time or position; score with higher first; hash of all columns; the stream's key; text of the PER values."""
TIME = "#time"
"""Of a row that is numbered by its position, where somebody has to know."""
SECOND = "#second"
"""Of families with a second key: what ranks equal scores, higher first. Where there is none it is NaN, or the least
integer, which no value is."""
CATEGORY = "#category"
"""Of families with AT MOST n PER: the values of which a list has no more than n, as a whole number."""
GONE = "#gone"
"""On a stream with deletes: whether the row is one."""
GIVEN = "#given"
"""Where scores decay: the score as it was given; what ranks is another."""
VALUE = "#x{}"
"""Of a multi-score family, instead of one score: the values of its attributes."""
P, RULE, SOURCE, ERROR = "#p", "#rule", "#source", "#error"
"""Of uncertain streams: the membership probability, the rule and the source as whole numbers; the score's error."""

OBJECT, FEED, NAME = "#object", "#feed", "#name{}"
"""Of objects whose attributes arrive apart: the object as a whole number, the stream of the value (its number where
streams are declared, else its hash), and the columns that name the object."""


QUERY, START, END, RANK, CHANGE, WARMING = "#query", "#start", "#end", "#rank", "#change", "#warming"
PROBABILITY, EXPECTED, LOW, HIGH = "#probability", "#expected_rank", "#score_low", "#score_high"
"""Of answers, before the columns of their rows: which report, which place in it."""


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of several. Digits of sums are columns, and only those that are not zero (see `aggregation`)."""
    return pa.concat_tables(tables, promote_options="default")


def ints(table: pa.Table, name: str) -> Ints:
    return _contiguous(table, name, np.int64)


def floats(table: pa.Table, name: str) -> Floats:
    return _contiguous(table, name, np.float64)


def keys(table: pa.Table, name: str = SCORE) -> Keys:
    """What ranks the rows: doubles or 64-bit integers, higher first."""
    whole = pa.types.is_integer(table.schema.field(name).type)
    return ints(table, name) if whole else floats(table, name)


def values(table: pa.Table, columns: int) -> Floats:
    """The attributes of a multi-score family, a row for each record."""
    found = [floats(table, VALUE.format(j)) for j in range(columns)]
    return np.ascontiguousarray(np.stack(found, axis=1)) if found else np.empty((len(table), 0))


def _contiguous(table: pa.Table, name: str, dtype: type) -> np.ndarray:
    """A writable copy: kernels are compiled once, for writable arrays."""
    return np.array(table.column(name).to_numpy(), dtype)


def comes_in_order(table: pa.Table) -> bool:
    """Each row is younger than the one before: there is nothing to decide."""
    at = table.column(AT).to_numpy()
    return bool((at[1:] > at[:-1]).all())


def feed_order(table: pa.Table) -> Ints:
    """Oldest first, and of equal times the worse of a tie first: the order in which engines want records.

    A tie is equal time and score; then the larger key, and of equal keys the larger hash, is the worse. Where every
    query has a score of its own, equal times are all that can be said; deletes of a moment come before its records.
    """
    if comes_in_order(table):
        return np.arange(len(table))
    if OBJECT in table.column_names:
        return _object_order(table)
    at = ints(table, AT)
    score = keys(table) if SCORE in table.column_names else np.zeros(len(at))
    if GONE in table.column_names:
        score = -np.array(table.column(GONE).to_numpy(), np.float64)
    order = np.lexsort((score, at))
    same = (at[order][1:] == at[order][:-1]) & (score[order][1:] == score[order][:-1])
    if not same.any():
        return order
    # Only the places held by ties are sorted by key and hash: those need every column, and are few.
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    rows = order[tied]
    run = np.cumsum(np.append(True, ~same))[tied]
    few = table.take(pa.array(rows))
    resolved = np.lexsort((-ranks(few, HASH), -ranks(few, KEY), run))
    order[tied] = rows[resolved]
    return order


def _object_order(table: pa.Table) -> Ints:
    """The same for values of objects: oldest first, and of equal times the larger object first, so that of equal scores
    the smaller object wins. Of one object's values at one time the larger key, then the larger hash, is first: the
    last is the one with the smallest key."""
    at = ints(table, AT)
    order = np.argsort(at, kind="stable")
    same = at[order][1:] == at[order][:-1]
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    rows = order[tied]
    few = table.take(pa.array(rows))
    names = [-ranks(few, name) for name in reversed(object_names(table))]
    order[tied] = rows[np.lexsort((-ranks(few, HASH), -ranks(few, KEY), *names, at[rows]))]
    return order


def coded_groups(rows: pa.Table) -> tuple[Ints, pa.Array]:
    """The group of each row as a number, and the names by number, as they are kept."""
    coded = pa.chunked_array([rows.column(GROUP).combine_chunks()]).combine_chunks().dictionary_encode()
    return np.asarray(coded.indices).astype(np.int64), coded.dictionary


def group_codes(rows: pa.Table) -> tuple[Ints, list[str]]:
    """The same with a list of names; without PER all are of the group ''."""
    if GROUP not in rows.column_names:
        return np.zeros(len(rows), np.int64), [""]
    code, names = coded_groups(rows)
    return code, names.to_pylist()


def by_group(rows: pa.Table) -> Iterator[tuple[str, Ints | None]]:
    """Each group and the places of its rows, in their order; without PER there is one group, '', with all (None)."""
    if not len(rows):
        return
    if GROUP not in rows.column_names:
        yield "", None
        return
    code, names = group_codes(rows)
    order = np.argsort(code, kind="stable")
    cuts = np.flatnonzero(np.diff(code[order], prepend=-1, append=len(names))).tolist()
    for low, high in pairwise(cuts):
        yield names[code[order[low]]], order[low:high]


def object_names(table: pa.Table) -> list[str]:
    """The columns that name the object."""
    count = sum(name.startswith(NAME.format("")) for name in table.column_names)
    return [NAME.format(number) for number in range(count)]


def key_order(table: pa.Table) -> Ints:
    """By time, then key, then hash: the order in which the records of a rule are let in."""
    if comes_in_order(table):
        return np.arange(len(table))
    at = ints(table, AT)
    return np.lexsort((ranks(table, HASH), ranks(table, KEY), at))


def ranks(table: pa.Table, name: str) -> Ints:
    """Dense ranks of a column, NULL last; all equal where there is no such column."""
    if name not in table.column_names:
        return np.zeros(len(table), np.int64)
    ranks = pc.rank(table.column(name), sort_keys="ascending", tiebreaker="dense")
    return np.asarray(ranks).astype(np.int64)
