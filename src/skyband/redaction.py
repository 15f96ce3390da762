"""Secrets: told by the environment or by a file, and shown nowhere.

Whatever is known to be one is taken out of every message (`SkybandError` does it, and so does the command line with
what others say).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote, unquote_plus

HIDDEN = "***"
SHORTEST = 4
"""A shorter one would be found in words that say something else."""
_WORDS = "password|passwd|pwd|secret|token|jaas|credential|passphrase|access[._-]?key|api[._-]?key|private[._-]?key"
_NAME = re.compile(_WORDS, re.IGNORECASE)
_SAID = re.compile(rf"([\w.-]*(?:{_WORDS})[\w.-]*=)[^\s&]+", re.IGNORECASE)
_REGISTRY = re.compile(r"(registry=)[^\s&]*(?:@|%40)", re.IGNORECASE)
_LOGIN = re.compile(r"((?://|%2F%2F)[^\s/@:?&]*)(?::|%3A)[^\s@?&]*?(?=@|%40)", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]+)"')
_known: set[str] = set()


class Unknown(LookupError):  # noqa: N818  (a place, and not an accident)
    """There is no such secret; the message says where it was looked for."""


def is_secret(name: str) -> bool:
    """Whether an option of this name has something to hide."""
    return _NAME.search(name) is not None


def told(name: str, value: str) -> str:
    """What an option says: `env:NAME` is what the environment has there, and of an option with something to hide
    `file:PATH` what is in the file. All that is hidden is remembered."""
    if value.startswith("env:"):
        return hide(_of_environment(name, value.removeprefix("env:")))
    if not is_secret(name):
        return value
    return hide(_of_file(name, value.removeprefix("file:")) if value.startswith("file:") else value)


def hide(secret: str) -> str:
    """The secret itself, which is taken out of every message from here on, in whatever spelling."""
    # A login of Kafka is a sentence with a password in it.
    for part in (secret, *_QUOTED.findall(secret)):
        _known.update(each for each in _spellings(part) if len(each) >= SHORTEST)
    return secret


def redacted(text: str) -> str:
    """The text without secrets: known ones, and what is written where they are."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = _REGISTRY.sub(rf"\1{HIDDEN}@", _SAID.sub(rf"\1{HIDDEN}", text))
    return _LOGIN.sub(rf"\1:{HIDDEN}", text)


def _spellings(secret: str) -> tuple[str, ...]:
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"')
    return secret, quote(secret, safe=""), quote_plus(secret), unquote(secret), unquote_plus(secret), escaped


def _of_environment(option: str, name: str) -> str:
    if name not in os.environ:
        raise Unknown(f"option {option} is to be told by {name}, which the environment does not have")
    return os.environ[name]


def _of_file(option: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise Unknown(f"option {option} is to be told by the file {path}: {why}") from None
