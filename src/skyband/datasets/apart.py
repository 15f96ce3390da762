"""Objects whose attributes arrive apart: the paper's synthetic streams, a web farm, and real streams read that way.

As Arrow tables for users, one row per value with the columns ts, id, object, stream and value (or the columns of the
source), and as the arrays that engines see: `sightings` turns the one into the other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.datasets._draw import at_least, generator
from skyband.datasets.files import load
from skyband.model import Floats, Ints
from skyband.model.apart import AttributeValues

MICRO = pa.timestamp("us")
SECOND = 1_000_000
TRIES = 4
REMEMBERED = 50
"""The generator's constant C, which the paper does not print: about this much fits its Tables 1 and 2."""
POLLUTANTS = ("pm25", "pm10", "so2", "no2", "co", "o3")
LARGEST_ANSWER = 10_000_000


def appearances(n: int, streams: int, xi: float = 0.5, remembered: int = REMEMBERED, seed: int = 0) -> AttributeValues:
    """n values, the streams in turns, each uniform in [0, 1) (incomplete-cikm09 §6.1). With probability `xi` the object
    is one of the last `remembered` of another stream, and else a new one; it appears in a stream at most once."""
    at_least("n", n, 0)
    at_least("streams", streams, 2)
    at_least("remembered", remembered, 1)
    place = np.arange(n)
    key = np.array(_objects(n, streams, xi, remembered, seed), np.int64)
    return AttributeValues(place, place, key, place % streams, generator(seed, 1).random(n))


def _objects(n: int, streams: int, xi: float, remembered: int, seed: int) -> list[int]:
    """Whose value each is. Where no remembered object is missing in the stream, a new one comes."""
    again = (generator(seed).random(n) < xi).tolist()
    draws = generator(seed, 2).random((n, TRIES)).tolist()
    sent: list[int] = []  # by object: a bit for every stream it was in
    found: list[int] = []
    for i in range(n):
        who = _remembered(found, sent, i, streams, remembered, draws[i]) if again[i] else -1
        if who < 0:
            who = len(sent)
            sent.append(0)
        sent[who] |= 1 << (i % streams)
        found.append(who)
    return found


def _remembered(found: list[int], sent: list[int], i: int, streams: int, most: int, draws: list[float]) -> int:
    """An object of the last `most` of every other stream that this stream does not have yet; -1 if there is none.

    The streams come in turns, so those are the last most·(streams - 1) values but for this stream's own."""
    others = min(most * (streams - 1), i - i // streams)
    for draw in [*draws, -1.0]:
        steps = range(others) if draw < 0 else [int(draw * others)] if others else []
        for step in steps:
            who = found[i - 1 - step - step // (streams - 1)]
            if not sent[who] >> (i % streams) & 1:
                return who
    return -1


def apart(
    n: int, streams: int, xi: float = 0.5, remembered: int = REMEMBERED, seed: int = 0, every: int = SECOND
) -> pa.Table:
    """`appearances` as a table, one value each `every` microseconds."""
    drawn = appearances(n, streams, xi, remembered, seed)
    return pa.table(
        {
            "ts": pa.array(drawn.at * every).cast(MICRO),
            "id": drawn.id,
            "object": drawn.object,
            "stream": drawn.stream,
            "value": drawn.value,
        }
    )


def web_farm(
    n: int, clients: int = 10_000, servers: int = 4, seed: int = 0, rate: float = 100.0, loyal: float = 0.6
) -> pa.Table:
    """n requests to a farm of servers, by time. Columns ts, id, client, server, bytes.

    Clients come in visits (few of them often), a visit is a handful of requests within a minute or so, each answered
    by the client's own server with probability `loyal` and else by any; answers have a heavy tail, at most 10 MB."""
    at_least("n", n, 0)
    at_least("clients", clients, 1)
    at_least("servers", servers, 1)
    at_least("rate", rate, 1e-6)
    draw = generator(seed)
    requests = draw.geometric(0.2, n)
    visit = np.repeat(np.arange(n), requests)[:n]
    visits = int(visit[-1]) + 1 if n else 0
    begin = np.cumsum(generator(seed, 1).exponential(5.0 / rate, visits))
    who = (clients * generator(seed, 2).random(visits) ** 3).astype(np.int64)
    ts = begin[visit] + generator(seed, 3).exponential(20.0, n)
    home, other = who[visit] * 7919 % servers, generator(seed, 4).integers(0, servers, n)
    server = np.where(generator(seed, 5).random(n) < loyal, home, other)
    size = np.minimum(300.0 * (1.0 + generator(seed, 6).pareto(1.1, n)), LARGEST_ANSWER).astype(np.int64)
    order = np.argsort(ts, kind="stable")
    return pa.table(
        {
            "ts": pa.array((ts[order] * SECOND).astype(np.int64)).cast(MICRO),
            "id": np.arange(n),
            "client": pa.array([f"client-{number}" for number in who[visit][order].tolist()], pa.string()),
            "server": pa.array([f"server-{number}" for number in server[order].tolist()], pa.string()),
            "bytes": size[order],
        }
    )


def honeypot(directory: str | Path) -> pa.Table:
    """Attacks by source over the hosts that saw them: columns ts, id, object, stream, value (1 each), by time."""
    table = load(directory, "honeypot", ["ts", "arrival_seq", "source", "host"], arrival=False)
    return _long(table["ts"], table["source"], table["host"], np.ones(len(table)))


def flights(directory: str | Path) -> pa.Table:
    """Minutes of delay by destination over the origins, what came early counting nothing."""
    table = load(directory, "flights", ["ts", "origin", "destination", "delay_min"])
    late = np.maximum(np.asarray(table["delay_min"].to_numpy(), np.float64), 0.0)
    return _long(table["ts"], table["destination"], table["origin"], late)


def air_quality(directory: str | Path) -> pa.Table:
    """One stream per pollutant, each over its highest value; an object is a station's hour. Gaps are left out."""
    table = load(directory, "air_quality", ["ts", "station", *POLLUTANTS])
    hour = pc.strftime(table["ts"], format="%Y-%m-%d %H")
    name = pc.binary_join_element_wise(table["station"], hour, " ")
    values = np.stack([np.asarray(table[each].to_numpy(), np.float64) for each in POLLUTANTS])
    row, stream = np.nonzero(~np.isnan(values).T)
    scaled = values[stream, row] / np.nanmax(values, axis=1)[stream]
    streams = pa.array(POLLUTANTS).take(pa.array(stream))
    return _long(table["ts"].take(pa.array(row)), name.take(pa.array(row)), streams, scaled)


def _long(ts: pa.ChunkedArray, name: pa.ChunkedArray, stream: pa.ChunkedArray, value: Floats) -> pa.Table:
    return pa.table({"ts": ts, "id": np.arange(len(value)), "object": name, "stream": stream, "value": value})


def sightings(
    table: pa.Table, object: str = "object", stream: str = "stream", value: str = "value", time: str = "ts"
) -> tuple[AttributeValues, list[str], list[str]]:
    """A table's values as engines see them, labelled by row, with the names of the objects and streams by number."""
    names, key = _numbered(table[object])
    streams, source = _numbered(table[stream])
    at = np.asarray(table[time].cast(MICRO).cast(pa.int64()).to_numpy(), np.int64)
    order = np.lexsort((np.arange(len(at)), -key, at))
    column = np.asarray(table[value].to_numpy(), np.float64)
    return AttributeValues(order, at[order], key[order], source[order], column[order]), names, streams


def _numbered(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """Names in rising order, and the number of each row's name."""
    coded = column.combine_chunks().dictionary_encode()
    order = pc.array_sort_indices(coded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return coded.dictionary.take(pa.array(order)).to_pylist(), rank[coded.indices.to_numpy()]
