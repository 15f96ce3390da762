"""Streams of objects whose attributes arrive apart: what the generators promise, and the real ones where they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skyband.datasets import air_quality, apart, appearances, available, flights, honeypot, sightings, web_farm

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not available(DATA), reason="the real streams (../shared/data) are not here")


@pytest.mark.parametrize("xi", [0.0, 0.5, 1.0])
def test_an_object_comes_once_in_a_stream_and_again_as_often_as_asked(xi: float) -> None:
    drawn = appearances(6_000, 3, xi, seed=1)
    pairs = np.stack((drawn.object, drawn.stream), axis=1)
    assert len(np.unique(pairs, axis=0)) == len(drawn)
    again = 1 - len(np.unique(drawn.object)) / len(drawn)
    # An object can come again at most twice here, so at xi = 1 new ones must come in between.
    assert again == pytest.approx(min(xi, 2 / 3), abs=0.03)


def test_objects_come_again_from_the_last_of_another_stream() -> None:
    drawn = appearances(4_000, 4, 0.7, remembered=10, seed=2)
    seen: dict[int, int] = {}
    for place, who in enumerate(drawn.object.tolist()):
        assert place - seen.get(who, place) <= 10 * 4
        seen[who] = place


def test_a_longer_stream_begins_with_the_shorter_one() -> None:
    assert apart(500, 3, seed=5).equals(apart(900, 3, seed=5).slice(0, 500))


def test_a_web_farm_has_heavy_clients_on_many_servers() -> None:
    table = web_farm(20_000, clients=1_000, servers=5, seed=3)
    drawn, clients, servers = sightings(table, "client", "server", "bytes")
    assert len(table) == 20_000
    assert servers == [f"server-{number}" for number in range(5)]
    assert (np.diff(drawn.at) >= 0).all()
    assert drawn.value.min() > 0
    assert drawn.value.max() <= 10_000_000
    total = np.sort(np.bincount(drawn.object, drawn.value, len(clients)))
    assert total[-len(clients) // 100 :].sum() > 0.05 * total.sum()
    assert table.equals(web_farm(20_000, clients=1_000, servers=5, seed=3))


def test_equal_times_feed_the_larger_object_first() -> None:
    table = apart(30, 3, seed=1, every=0)
    drawn, names, _ = sightings(table)
    assert (np.diff(drawn.object) <= 0).all()
    assert [names[key] for key in drawn.object.tolist()] == table["object"].take(drawn.id).to_pylist()


@needs_data
def test_real_streams_are_read_apart() -> None:
    drawn, sources, hosts = sightings(honeypot(DATA))
    assert (len(drawn), len(hosts)) == (451_581, 9)
    assert len(sources) > 10_000
    drawn, _, streams = sightings(air_quality(DATA))
    assert len(streams) == 6
    assert drawn.value.max() == 1.0
    assert len(drawn) > 2_000_000
    drawn, destinations, origins = sightings(flights(DATA))
    assert (len(drawn), len(origins), len(destinations)) == (3_000_000, 229, 228)
