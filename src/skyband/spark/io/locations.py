"""Locations in words (`data/`, `delta:lake/trades`, `kafka://host:9092/topic` ...), and all that can be found wrong
with one before Spark starts."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qsl, unquote

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.model.names import did_you_mean, nearest
from skyband.spark.io.maven import AVRO, DELTA, KAFKA, connector, delta

FILES = ("parquet", "csv", "json", "orc", "delta")
SCHEMES = ("kafka", "rate", "market")
STORES = ("file", "hdfs", "viewfs", "webhdfs", "s3a", "s3", "gs", "abfs", "abfss", "wasbs", "dbfs", "oss", "obs")
"""Schemes of paths: they go to Spark, which knows such a store or says that it does not."""
_OPTIONS = re.compile(r"\?([A-Za-z][\w.]*=[^?]*)$")
_SOURCE = re.compile(r"([A-Za-z_]\w*)=(.+)")
_PREFIX = re.compile(r"([A-Za-z][\w+.-]*):(?!//)(.+)")
_ADDRESS = re.compile(r"([A-Za-z][\w+.-]*)://(.*)")
_PATTERN = re.compile(r"[*?\[{]")


@dataclass(frozen=True)
class Location:
    """A kind (`parquet`, `kafka` ... or `files`, when their names have to tell), where it is, options for Spark."""

    kind: str
    where: str
    options: dict[str, str] = field(default_factory=dict)


def read_location(text: str, schemes: Iterable[str]) -> Location:
    """`kind:path`, `scheme://...` or a path, with `?option=value&...` behind."""
    found = _OPTIONS.search(text)
    options = dict(parse_qsl(found[1], keep_blank_values=True)) if found else {}
    bare = text[: found.start()] if found else text
    prefixed, address = _PREFIX.fullmatch(bare), _ADDRESS.fullmatch(bare)
    if prefixed and prefixed[1] not in STORES:
        if prefixed[1] not in FILES:
            raise no_format(prefixed[1])
        return Location(prefixed[1], prefixed[2], options)
    if address and address[1] in schemes:
        return Location(address[1], address[2], options)
    if address and address[1] not in STORES:
        raise _no_scheme(text, address[1], [*schemes])
    return Location("files", bare, options)


def no_format(name: str) -> SkybandError:
    return SkybandError(f"no format {name!r}", expected="one of " + ", ".join(FILES), hint=did_you_mean(name, FILES))


def _no_scheme(text: str, scheme: str, schemes: list[str]) -> SkybandError:
    near = nearest(scheme, schemes)
    known = ", ".join(f"{each}://" for each in schemes)
    another = f"parquet:{scheme}://... goes to Spark as it is, if that is the scheme of a file system"
    return SkybandError(
        f"{text}: there is no scheme {scheme}://",
        expected=f"a path (which may begin with {', '.join(f'{each}://' for each in STORES)}), or one of {known}",
        hint=f"did you mean {near}://?" if near else another,
    )


def source_locations(
    texts: Iterable[str], streams: Iterable[Stream], format: str | None, streaming: bool
) -> dict[str, Location]:
    """`NAME=WHERE` for every stream of the workload; what is wrong is said before Spark starts."""
    known = {stream.name: stream for stream in streams}
    found: dict[str, Location] = {}
    for text in texts:
        name, where = _named(text, list(known))
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


def _named(text: str, names: list[str]) -> tuple[str, str]:
    found = _SOURCE.fullmatch(text)
    if not found:
        raise SkybandError(f"--source {text} does not say for which stream", expected=f"{names[0]}={text}")
    if found[1] not in names:
        raise SkybandError(
            f"--source {text}: the workload has no stream {found[1]!r}",
            expected="one of " + ", ".join(names),
            hint=did_you_mean(found[1], names),
        )
    return found[1], found[2]


def _check_source(location: Location, stream: Stream, streaming: bool) -> None:
    if location.kind == "kafka":
        _check_values(location, stream)
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


def _check_values(location: Location, stream: Stream) -> None:
    """What Kafka holds is bytes: something has to say what they mean."""
    format, schema = location.options.get("format", "json"), location.options.get("schema")
    if format not in ("json", "avro"):
        raise SkybandError(f"Kafka values in {format!r}", expected="format=json or format=avro")
    if format == "avro" and not schema:
        raise SkybandError("Avro without a schema", expected=f"kafka://{location.where}?format=avro&schema=FILE.avsc")
    if schema and (path := local(schema)) is not None and not path.is_file():
        raise SkybandError(f"there is no {schema}", expected="a file with an Avro schema")
    if format == "json" and not stream.columns:
        raise SkybandError(
            f"stream {stream.name} comes from Kafka and does not declare its columns",
            expected=f"CREATE STREAM {stream.name} (column TYPE, ...) WITH (...)",
        )


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
    elif not stream.columns and path.is_dir() and not any(map(_is_data, path.rglob("*"))):
        raise SkybandError(
            f"{location.where} is empty, and stream {stream.name} does not declare its columns",
            expected=f"files in it, or CREATE STREAM {stream.name} (column TYPE, ...) WITH (...)",
        )


def _is_data(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(("_", "."))


def _is_delta(location: Location) -> bool:
    path = local(location.where)
    return path is not None and Path(path, "_delta_log").is_dir()


def local(where: str) -> Path | None:
    """The path on this machine; None if it is somewhere else, or if only Hadoop's configuration knows."""
    found = re.fullmatch(r"file:(?://)?(/.*)", where)
    if found:
        return Path(unquote(found[1]))
    elsewhere = "://" in where or _PREFIX.match(where) or {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & os.environ.keys()
    return None if elsewhere else Path(where)


def check_folder(where: str, empty: bool) -> None:
    """A folder that will be written: there or to be made, and with nothing in it if it has to be `empty`."""
    path = local(where)
    if path is None:
        return
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise SkybandError(f"{where} cannot be a folder: {there} is a file", expected="a new or empty folder")
    if empty and there == path and any(path.iterdir()):
        raise not_empty(where)
    try:
        TemporaryDirectory(prefix=".skyband-", dir=there).cleanup()
    except OSError as error:
        raise SkybandError(
            f"{where} cannot be written: {error.strerror}", expected="a folder of yours, with room on its disk"
        ) from None


def not_empty(where: str) -> SkybandError:
    return SkybandError(
        f"{where} is not empty",
        expected="a new or empty folder, or the checkpoint it was written with",
        hint="--overwrite removes what is there",
    )


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
    raise SkybandError(f"no Kafka broker answers at {'; '.join(reasons)}", expected="a broker that runs")


def packages(locations: Iterable[Location], given: Iterable[str], version: str | None = None) -> list[str]:
    """What Spark has to fetch: what was given, and what the locations need unless another version of it was given."""
    locations, said = list(locations), list(given)
    wanted = {KAFKA: any(location.kind == "kafka" for location in locations)}
    wanted[AVRO] = any(location.options.get("format") == "avro" for location in locations)
    missing = [each for each in wanted if wanted[each] and not any(each in other for other in said)]
    found = said + [connector(each, version) for each in missing]
    if any(location.kind == "delta" for location in locations) and not any(DELTA in each for each in said):
        found.append(delta())
    return found
