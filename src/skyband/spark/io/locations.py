"""Where streams come from, and all that can be found wrong with a place before Spark starts."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import replace
from glob import glob
from pathlib import Path

from skyband.errors import SkybandError, UnavailableError
from skyband.model import Stream
from skyband.runtime.locations import FILES, SCHEMES, Location, is_data, local, named, no_format, read_location
from skyband.spark.io.kafka_values import check_values, needs_spark_avro
from skyband.spark.io.maven import AVRO, DELTA, KAFKA, connector, delta

_PATTERN = re.compile(r"[*?\[{]")


def source_locations(
    texts: Iterable[str], streams: Iterable[Stream], format: str | None, streaming: bool
) -> dict[str, Location]:
    """`NAME=WHERE` for every stream of the workload; what is wrong is said before Spark starts."""
    known = {stream.name: stream for stream in streams}
    found: dict[str, Location] = {}
    for text in texts:
        name, where = named(text, list(known))
        if name in found:
            raise SkybandError(f"two sources for stream {name}", expected="one")
        location = read_location(where, SCHEMES)
        if location.kind == "files":
            location = replace(location, kind=format or ("delta" if _is_delta(location) else "files"))
        _check_source(location, known[name], streaming)
        found[name] = location
    missing = [name for name in known if name not in found]
    if missing:
        raise SkybandError(f"no source for stream {missing[0]}", expected=f"--source {missing[0]}=WHERE")
    return found


def _check_source(location: Location, stream: Stream, streaming: bool) -> None:
    if location.kind == "kafka":
        check_values(location, stream)
        check_broker(location)
    elif location.kind == "rate" and not streaming:
        raise SkybandError("rate:// never ends", expected="--stream with it")
    elif location.kind in SCHEMES:
        if not streaming and "seconds" not in location.options:
            raise SkybandError(
                f"{location.kind}:// never ends", expected=f"{location.kind}://?seconds=3600, or --stream"
            )
    elif location.kind not in ("files", *FILES):
        raise no_format(location.kind)
    else:
        _check_files(location, stream)


def _check_files(location: Location, stream: Stream) -> None:
    path = local(location.where)
    if path is None:
        return
    if _PATTERN.search(location.where):
        # Python does not know {a,b}.
        if "{" not in location.where and not glob(str(path)):
            raise SkybandError(f"nothing matches {location.where}", expected="a file, a folder or a pattern of files")
    elif not path.exists():
        raise SkybandError(f"there is no {location.where}", expected="a file, a folder or a pattern of files")
    elif location.kind == "delta":
        if not _is_delta(location):
            raise SkybandError(f"{location.where} is no Delta table", expected="a folder with a _delta_log")
    elif not stream.columns and path.is_dir() and not any(map(is_data, path.rglob("*"))):
        raise SkybandError(
            f"{location.where} is empty, and stream {stream.name} does not declare its columns",
            expected=f"files in it, or CREATE STREAM {stream.name} (column TYPE, ...) WITH (...)",
        )


def _is_delta(location: Location) -> bool:
    path = local(location.where)
    return path is not None and Path(path, "_delta_log").is_dir()


def is_begun(checkpoint: str) -> bool:
    """Whether the checkpoint is not, or may not be, a new one."""
    path = local(checkpoint)
    return path is None or any(Path(path, "offsets").glob("*"))


def broker(location: Location) -> tuple[str, str]:
    """`host:port[,host:port]/topic` as servers and topic."""
    servers, _, topic = location.where.partition("/")
    if not topic or not all(re.fullmatch(r".+:\d+", server) for server in servers.split(",")):
        raise SkybandError(f"kafka://{location.where} is no topic of a broker", expected="kafka://host:port/topic")
    return servers, topic


def check_broker(location: Location) -> None:
    """Some server must answer: Kafka's own client would go on trying for minutes."""
    reasons = []
    for server in broker(location)[0].split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            return
        except OSError as error:
            reasons.append(f"{server}: {error.strerror or error}")
    raise UnavailableError(f"no Kafka broker answers at {'; '.join(reasons)}", expected="a broker that runs")


def packages(locations: Iterable[Location], given: Iterable[str], version: str | None = None) -> list[str]:
    """What Spark has to fetch: what was given, and what the locations need unless another version of it was given."""
    locations, said = list(locations), list(given)
    wanted = {KAFKA: any(location.kind == "kafka" for location in locations)}
    wanted[AVRO] = any(map(needs_spark_avro, locations))
    missing = [each for each in wanted if wanted[each] and not any(each in other for other in said)]
    found = said + [connector(each, version) for each in missing]
    if any(location.kind == "delta" for location in locations) and not any(DELTA in each for each in said):
        found.append(delta())
    return found
