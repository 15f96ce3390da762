"""Arrow's file systems for the addresses that Spark gives, reached with the keys that Spark was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import SparkSession

S3, GCS, AZURE = ("s3", "s3a", "s3n"), ("gs",), ("abfs", "abfss")
ANONYMOUS = "AnonymousAWSCredentialsProvider"
PATIENCE = timedelta(seconds=30)
"""With a server of Google's that does not answer; Arrow's own is a quarter of an hour."""
Setting = Callable[[str], str | None]
Told = tuple[tuple[str, Any], ...]
"""Arguments of a file system of Arrow's."""


@dataclass(frozen=True)
class Stores:
    """Opens files by the addresses that Spark gives them."""

    told: Mapping[tuple[str, str], Told] = field(default_factory=dict, repr=False)
    """By scheme and authority, what Spark's settings say; nothing where Arrow has to find its keys itself."""

    @classmethod
    def of(cls, spark: SparkSession, addresses: Iterable[str], options: Mapping[str, str]) -> Stores:
        """Of files that are reached with a session's settings, and options of its reader."""
        places = {(each.scheme, each.netloc) for each in map(urlsplit, addresses)}
        told = {place: arguments(*place, _settings(spark, options)) for place in places if place[0] in (*S3, *AZURE)}
        return cls({place: each for place, each in told.items() if each})

    def open(self, uri: str) -> pa.NativeFile:
        system, path = self.reached(uri)
        return system.open_input_file(path)

    def reached(self, uri: str) -> tuple[fs.FileSystem, str]:
        """Who has the file, and its path there."""
        scheme, authority, path = urlsplit(uri)[:3]
        if is_local(uri):
            return fs.LocalFileSystem(), unquote(path)
        told = self.told.get((scheme, authority), ())
        inside = authority.partition("@")[0] if scheme in (*S3, *GCS, *AZURE) else ""
        return _system(scheme, authority, told), inside + unquote(path)


def is_local(uri: str) -> bool:
    return urlsplit(uri).scheme in ("", "file")


@lru_cache
def _system(scheme: str, authority: str, told: Told) -> fs.FileSystem:
    """One for all files of a place: it keeps its connections."""
    if scheme in S3:
        known = dict(told)
        if not known.keys() & {"region", "endpoint_override"}:
            known["region"] = fs.resolve_s3_region(authority)
        return fs.S3FileSystem(**known)
    if scheme in GCS:
        return fs.GcsFileSystem(retry_time_limit=PATIENCE)
    if told:
        return fs.AzureFileSystem(**dict(told))
    return fs.FileSystem.from_uri(f"{scheme}://{authority}/")[0]


def _settings(spark: SparkSession, options: Mapping[str, str]) -> Setting:
    """Hadoop's, as Spark's readers see them."""
    session: Any = getattr(spark, "_jsparkSession", None)
    hadoop = session and session.sessionState().newHadoopConf()

    def setting(name: str) -> str | None:
        # With Spark Connect only what the session was given is known.
        known = hadoop.get(name) if hadoop else spark.conf.get(f"spark.hadoop.{name}", None)
        found = options.get(name, known)
        return str(found) if found else None

    return setting


def arguments(scheme: str, authority: str, setting: Setting) -> Told:
    found = _s3(authority, setting) if scheme in S3 else _azure(authority, setting)
    return tuple((name, value) for name, value in found.items() if value is not None)


def _s3(bucket: str, setting: Setting) -> dict[str, Any]:
    """What is said of a bucket goes before what is said of all."""

    def said(name: str) -> str | None:
        return setting(f"fs.s3a.bucket.{bucket}.{name}") or setting(f"fs.s3a.{name}")

    found: dict[str, Any] = {"region": said("endpoint.region")}
    if (key := said("access.key")) is not None:
        found |= {"access_key": key, "secret_key": said("secret.key"), "session_token": said("session.token")}
    elif (said("aws.credentials.provider") or "").endswith(ANONYMOUS):
        found["anonymous"] = True
    if (endpoint := said("endpoint")) is not None:
        scheme, is_said, host = endpoint.rpartition("://")
        secure = said("connection.ssl.enabled") != "false"
        found |= {"endpoint_override": host, "scheme": scheme if is_said else "https" if secure else "http"}
        found["force_virtual_addressing"] = said("path.style.access") != "true"
    return found


def _azure(authority: str, setting: Setting) -> dict[str, Any]:
    """`container@account.dfs.core.windows.net`; with other keys than the account's Arrow has to find its own."""
    host = authority.rpartition("@")[2]
    key = setting(f"fs.azure.account.key.{host}") or setting("fs.azure.account.key")
    return {} if key is None else {"account_name": host.partition(".")[0], "account_key": key}
