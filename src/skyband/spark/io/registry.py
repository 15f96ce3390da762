"""A schema registry, asked over HTTP, by the few calls that Confluent's, Karapace and others have in common.

It is asked once for each schema. One that is away is waited for; one that refuses us, or is none, ends the job at once.
"""

from __future__ import annotations

import json
import os
import time
from base64 import b64encode
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import Request, urlopen

from skyband.errors import SkybandError, UnavailableError

USER, PASSWORD = "SKYBAND_REGISTRY_USER", "SKYBAND_REGISTRY_PASSWORD"
PATIENCE = 60.0
"""Seconds that a task waits for a registry that is away; one try of the job costs so much, not one record."""
TIMEOUT, FIRST_WAIT, LONGEST_WAIT = 5.0, 0.25, 8.0
LARGEST = 64_000_000
"""Bytes of an answer."""
_ACCEPTED = "application/vnd.schemaregistry.v1+json, application/json"
_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_STRANGERS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class _AwayError(Exception):
    """No answer, this time."""


@dataclass(frozen=True)
class Reference:
    """What a schema imports: under which name, and where it is."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class Registered:
    """A schema, as the registry gives it."""

    number: int
    kind: str
    """AVRO, PROTOBUF or JSON."""
    text: str
    references: tuple[Reference, ...]


@dataclass(frozen=True)
class Registry:
    """Where it is, and who we are. What is shown of it never has the password."""

    address: str
    login: tuple[str, str] | None = field(default=None, repr=False)
    patience: float = PATIENCE

    @classmethod
    def at(cls, text: str, patience: float = PATIENCE) -> Registry:
        """`http://host:8081`, `https://user:password@host/path`; user and password may stand in the environment."""
        try:
            parts = urlsplit(text)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
            # What was said is not repeated: there may be a password in it.
            raise SkybandError(
                "registry= says no address of a schema registry",
                expected="registry=http://host:8081 or https://..., odd letters of a password as %40 and so on",
            )
        said = parts.netloc.rpartition("@")[2]
        return cls(f"{parts.scheme}://{said}{parts.path.rstrip('/')}", _login(parts.username, parts.password), patience)

    def schema(self, number: int, form: str = "") -> Registered | None:
        """The schema with this number, None if there is none. `form`: in which it is wanted."""
        answer = self._get(f"/schemas/ids/{number}" + (f"?format={quote(form)}" if form else ""))
        return None if answer is None else _registered(number, answer)

    def newest(self, subject: str) -> int | None:
        """The number of the newest schema of a subject, None if there is no such subject."""
        path = f"/subjects/{quote(subject, safe='')}/versions/latest"
        answer = self._get(path, strict=True)
        return None if answer is None else int(answer["id"])

    def referred(self, reference: Reference, form: str = "") -> Registered | None:
        """The schema that another one refers to."""
        answer = self._get(f"/subjects/{quote(reference.subject, safe='')}/versions/{reference.version}")
        return None if answer is None else self.schema(int(answer["id"]), form)

    def _get(self, path: str, strict: bool = False) -> dict[str, Any] | None:
        """What stands there, None if nothing does. With `strict` somebody has to say so who is a registry."""
        late, wait = time.monotonic() + self.patience, FIRST_WAIT
        while True:
            try:
                return self._asked(path, strict)
            except _AwayError as away:
                if time.monotonic() + wait > late:
                    raise UnavailableError(
                        f"the schema registry at {self.address} does not answer: {away} (tried for "
                        f"{self.patience:g} s); the same command goes on once it does"
                    ) from None
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _asked(self, path: str, strict: bool) -> dict[str, Any] | None:
        try:
            with urlopen(self._request(path), timeout=TIMEOUT) as answer:
                return self._read(answer.read(LARGEST))
        except HTTPError as error:
            self._not_found(error, path, strict)
            return None
        except URLError as error:
            raise _AwayError(getattr(error.reason, "strerror", None) or str(error.reason)) from None
        except (OSError, HTTPException) as error:
            raise _AwayError(str(error) or type(error).__name__) from None

    def _not_found(self, error: HTTPError, path: str, strict: bool) -> None:
        """Anything else that an answer can say is no answer."""
        with error:
            code, body = error.code, error.read(LARGEST)
        if code in _PASSING or code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _AwayError(f"{code} {error.reason}")
        if code in _STRANGERS:
            raise UnavailableError(
                f"the schema registry at {self.address} does not let us in ({code}): set {USER} and {PASSWORD}"
            )
        if code != HTTPStatus.NOT_FOUND or (strict and "error_code" not in self._read(body)):
            raise UnavailableError(f"the schema registry at {self.address} answers {code} to {path}")

    def _request(self, path: str) -> Request:
        request = Request(self.address + path, headers={"Accept": _ACCEPTED})
        if self.login is not None:
            said = b64encode(":".join(self.login).encode()).decode()
            # Whoever the registry sends us on to is not told.
            request.add_unredirected_header("Authorization", f"Basic {said}")
        return request

    def _read(self, body: bytes) -> dict[str, Any]:
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UnavailableError(f"what answers at {self.address} is no schema registry: it does not speak JSON")
        return found


def _login(user: str | None, password: str | None) -> tuple[str, str] | None:
    if user is not None:
        return unquote(user), unquote(password or "")
    if USER in os.environ:
        return os.environ[USER], os.environ.get(PASSWORD, "")
    return None


def _registered(number: int, answer: dict[str, Any]) -> Registered:
    references = [Reference(each["name"], each["subject"], each["version"]) for each in answer.get("references") or ()]
    return Registered(number, answer.get("schemaType") or "AVRO", answer["schema"], tuple(references))
