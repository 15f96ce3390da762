"""What packages came to at an earlier start: Spark is given the jars, and asks no Maven for them again.

Its Ivy asks anew at every start, for everything that a package needs, and where a mirror has gaps it starts more than
once. A note beside Ivy's own jars says which ones it were; delete the folder, and Maven is asked again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyspark
from pyspark.version import __version__ as spark_version

NOTES = "skyband"
"""The folder in Ivy's that has the notes."""
JARS, PACKAGES, IVY = "spark.jars", "spark.jars.packages", "spark.jars.ivy"
_FIXED = re.compile(r"[^:]+:[^:]+:(?!latest\.)[\w.-]+(?<!-SNAPSHOT)")
"""A package in a release that stays what it is."""


def known(wanted: Mapping[str, str]) -> dict[str, str]:
    """The settings, with jars in place of packages where all of them are still there as they were."""
    try:
        sizes: dict[str, int] = json.loads(_note(wanted).read_text())
        there = all(_file(jar).stat().st_size == size for jar, size in sizes.items())
    except (OSError, ValueError):
        there = False
    # An empty setting: what is left out here may stand in a file of Spark's.
    return dict(wanted) | ({JARS: ",".join(sizes), PACKAGES: ""} if there else {})


def note(wanted: Mapping[str, str], jars: str | None) -> None:
    """These settings came to these jars."""
    path, packages = _note(wanted), wanted.get(PACKAGES, "").split(",")
    if not jars or not path.parents[1].is_dir() or not all(map(_FIXED.fullmatch, packages)):
        return
    try:
        sizes = {jar: _file(jar).stat().st_size for jar in jars.split(",")}
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(sizes, indent=1))
        unfinished.replace(path)
    except OSError:
        return  # A jar is elsewhere, or nothing can be written: Maven is asked the next time too.


def _note(wanted: Mapping[str, str]) -> Path:
    """Another note for all that Spark's Ivy goes by."""
    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"), "spark-defaults.conf")
    asked = sorted(each for each in wanted.items() if each[0].startswith(JARS))
    around = os.environ.get("PYSPARK_SUBMIT_ARGS"), defaults.read_text() if defaults.is_file() else None
    digest = blake2b(repr((spark_version, asked, around)).encode(), digest_size=12).hexdigest()
    ivy = wanted.get(IVY) or os.path.expanduser("~/.ivy2.5.2")  # Path.home() fails where nobody has a home.
    return Path(ivy, NOTES, f"{digest}.json")


def _file(jar: str) -> Path:
    """Of an address that is no file's there is none."""
    parts = urlsplit(jar)
    return Path(unquote(parts.path) if parts.scheme == "file" else jar)
