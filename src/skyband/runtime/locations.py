"""Locations in words (`data/`, `csv:data/`, `kafka://host:9092/topic` ...): what the command line means by them, and
which folders can be written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qsl, unquote

from skyband.errors import SkybandError
from skyband.model.names import did_you_mean, nearest
from skyband.redaction import Unknown, hide, redacted, told
from skyband.runtime.owned_folders import content

FILES = ("parquet", "csv", "json", "orc", "delta")
SUFFIXES = {"parquet": "parquet", "csv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "orc": "orc"}
SCHEMES = ("kafka", "rate", "market")
STORES = ("file", "hdfs", "viewfs", "webhdfs", "s3a", "s3", "gs", "abfs", "abfss", "wasbs", "dbfs", "oss", "obs")
"""Schemes of paths: they go to Spark, which knows such a store or says that it does not."""
_OPTIONS = re.compile(r"\?([A-Za-z][\w.]*=[^?]*)$")
_SOURCE = re.compile(r"([A-Za-z_]\w*)=(.+)")
_PREFIX = re.compile(r"([A-Za-z][\w+.-]*):(?!//)(.+)")
_PATTERN = re.compile(r"/[^/]*[*?\[{]")
_PASSWORD = re.compile(r"://[^/@:]*:([^@\s]*)@")
_ADDRESS = re.compile(r"([A-Za-z][\w+.-]*)://(.*)")


@dataclass(frozen=True, repr=False)
class Location:
    """A kind (`parquet`, `kafka` ... or `files`, when their names have to tell), where it is, options for Spark: what
    they are, also where they were said to be in the environment or in a file."""

    kind: str
    where: str
    options: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return redacted(f"Location({self.kind!r}, {self.where!r}, {self.options!r})")


def read_location(text: str, schemes: Iterable[str]) -> Location:
    """`kind:path`, `scheme://...` or a path, with `?option=value&...` behind."""
    found = _OPTIONS.search(text)
    options = _told(dict(parse_qsl(found[1], keep_blank_values=True)) if found else {})
    bare = text[: found.start()] if found else text
    for password in _PASSWORD.findall(bare):
        hide(unquote(password))
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


def _told(options: dict[str, str]) -> dict[str, str]:
    """With what the environment and files say."""
    try:
        return {name: told(name, value) for name, value in options.items()}
    except Unknown as error:
        raise SkybandError(
            str(error), expected="env:NAME of a variable that is set, or file:PATH of a file that can be read"
        ) from None


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


def named(text: str, names: list[str]) -> tuple[str, str]:
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


def is_data(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(("_", "."))


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
    if empty and there == path and content(each.name for each in path.iterdir()):
        raise not_empty(where)
    try:
        TemporaryDirectory(prefix=".skyband-", dir=there).cleanup()
    except OSError as error:
        raise SkybandError(
            f"{where} cannot be written: {error.strerror}", expected="a folder of yours, with room on its disk"
        ) from None


def check_apart(sink: Location, sources: Iterable[Location]) -> None:
    """Rows do not go where records are read from: what is there before them may be removed."""
    if sink.kind not in ("files", *FILES) or sink.where in ("console", "noop"):
        return
    to = _place(sink)
    for source in sources:
        if source.kind not in SCHEMES and f"{_place(source)}/".startswith(f"{to}/"):
            raise SkybandError(
                f"rows are to go to {sink.where}, and {source.where} is read from there",
                expected="a folder without records for the rows",
            )


def _place(location: Location) -> str:
    """The folder, or the one that a pattern of files begins with, under one name."""
    path = local(location.where)
    whole = location.where if path is None else str(path.resolve())
    return _PATTERN.split(whole, maxsplit=1)[0].rstrip("/")


def remembered(location: Location) -> str:
    """A place as a checkpoint's note names it: without options, user and password, and from wherever it is started."""
    if location.kind in SCHEMES or location.kind.startswith("postgres"):
        table = location.options.get("table")
        kind = "postgresql" if location.kind.startswith("postgres") else location.kind
        return f"{kind}://{location.where.rpartition('@')[2]}" + (f" table {table}" if table else "")
    return _place(location)


def remembered_sink(location: Location) -> str:
    """The same of a sink: a folder has a mark that says whose it is, and may be moved."""
    if location.kind == "files" and location.where in ("console", "noop"):
        return location.where
    if location.kind in ("files", *FILES):
        return "a Delta table" if location.kind == "delta" else "a folder"
    return remembered(location)


def not_empty(where: str) -> SkybandError:
    return SkybandError(
        f"{where} is not empty",
        expected="a new or empty folder, or the checkpoint it was written with",
        hint="--overwrite removes what is there",
    )
