"""The words for places: `data/`, `delta:lake/trades`, `kafka://host:9092/topic` ..., read before Spark starts."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qsl

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.spark.maven import AVRO, DELTA, KAFKA, connector, delta

FILES = ("parquet", "csv", "json", "orc", "delta")
SCHEMES = ("kafka", "rate", "market")
_OPTIONS = re.compile(r"\?([A-Za-z][\w.]*=[^?]*)$")
_SOURCE = re.compile(r"([A-Za-z_]\w*)=(.+)")
_PREFIX = re.compile(rf"({'|'.join(FILES)}):(?!//)(.+)")
_ADDRESS = re.compile(r"([a-z]+)://(.*)")


@dataclass(frozen=True)
class Place:
    """A kind (`parquet`, `kafka` ... or `files`, when their names have to tell), where it is, options for Spark."""

    kind: str
    where: str
    options: dict[str, str] = field(default_factory=dict)


def place(text: str, schemes: Iterable[str]) -> Place:
    """`kind:path`, `scheme://...` or a path, with `?option=value&...` behind."""
    found = _OPTIONS.search(text)
    options = dict(parse_qsl(found[1], keep_blank_values=True)) if found else {}
    bare = text[: found.start()] if found else text
    prefixed = _PREFIX.fullmatch(bare)
    if prefixed:
        return Place(prefixed[1], prefixed[2], options)
    address = _ADDRESS.fullmatch(bare)
    if address and address[1] in schemes:
        return Place(address[1], address[2], options)
    if address and (near := get_close_matches(address[1], schemes, 1)):
        raise SkybandError(
            f"{text}: there is no scheme {address[1]}://",
            expected="a path, or one of " + ", ".join(f"{scheme}://" for scheme in schemes),
            hint=f"did you mean {near[0]}://?",
        )
    return Place("files", bare, options)


def source_places(texts: Iterable[str], streams: Iterable[Stream], format: str | None) -> dict[str, Place]:
    """`NAME=WHERE` for every stream of the workload; what is wrong is said before Spark starts."""
    names = [stream.name for stream in streams]
    found: dict[str, Place] = {}
    for text in texts:
        name, where = _named(text, names)
        if name in found:
            raise SkybandError(f"two sources for stream {name}", expected="one")
        spot = place(where, SCHEMES)
        if spot.kind == "files":
            spot = replace(spot, kind=format or ("delta" if _is_delta(spot) else "files"))
        found[name] = spot
        _check(found[name])
    missing = [name for name in names if name not in found]
    if missing:
        raise SkybandError(f"no source for stream {missing[0]}", expected=f"--source {missing[0]}=WHERE")
    return found


def _named(text: str, names: list[str]) -> tuple[str, str]:
    found = _SOURCE.fullmatch(text)
    if not found:
        raise SkybandError(f"--source {text} does not say for which stream", expected=f"{names[0]}={text}")
    if found[1] not in names:
        near = get_close_matches(found[1], names, 1)
        raise SkybandError(
            f"--source {text}: the workload has no stream {found[1]!r}",
            expected="one of " + ", ".join(names),
            hint=f"did you mean {near[0]!r}?" if near else None,
        )
    return found[1], found[2]


def _check(spot: Place) -> None:
    if spot.kind in ("files", *FILES):
        if "://" not in spot.where and not re.search(r"[*?\[{]", spot.where) and not Path(spot.where).exists():
            raise SkybandError(f"there is no {spot.where}", expected="a file, a folder or a pattern of files")
    elif spot.kind == "kafka":
        check_broker(spot)
    elif spot.kind not in SCHEMES:
        raise SkybandError(f"no format {spot.kind!r}", expected="one of " + ", ".join(FILES))


def _is_delta(spot: Place) -> bool:
    """Told by the folder itself, where it is on this machine; a table elsewhere needs `delta:`."""
    return "://" not in spot.where and Path(spot.where, "_delta_log").is_dir()


def broker(spot: Place) -> tuple[str, str]:
    """`host:port[,host:port]/topic` as servers and topic."""
    servers, _, topic = spot.where.partition("/")
    if not topic or not all(re.fullmatch(r".+:\d+", server) for server in servers.split(",")):
        raise SkybandError(f"kafka://{spot.where} is no topic of a broker", expected="kafka://host:port/topic")
    return servers, topic


def check_broker(spot: Place) -> None:
    """Some server must answer: Kafka's own client would go on trying for minutes."""
    reasons = []
    for server in broker(spot)[0].split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            return
        except OSError as error:
            reasons.append(f"{server}: {error.strerror or error}")
    raise SkybandError(f"no Kafka broker answers at {'; '.join(reasons)}", expected="a broker that runs")


def packages(places: Iterable[Place], given: Iterable[str], version: str | None = None) -> list[str]:
    """What Spark has to fetch: what was given, and what the places need unless another version of it was given."""
    places, said = list(places), list(given)
    wanted = {KAFKA: any(spot.kind == "kafka" for spot in places)}
    wanted[AVRO] = any(spot.options.get("format") == "avro" for spot in places)
    missing = [each for each in wanted if wanted[each] and not any(each in other for other in said)]
    found = said + [connector(each, version) for each in missing]
    if any(spot.kind == "delta" for spot in places) and not any(DELTA in each for each in said):
        found.append(delta())
    return found
