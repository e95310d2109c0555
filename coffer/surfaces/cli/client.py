"""Ask the daemon: one request, one answer, every refusal one sentence."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress

from coffer.discovery import DaemonUnavailable, ensure_daemon, request

# As in typing, whose import alone takes as long as most commands.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]
else:
    Json = dict

PREFIX = "/api/v1"
SECONDS = 30.0

# RFC 3986, 2.3
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Failed(Exception):
    """What was asked wasn't done; the message is the one sentence that a person reads.

    `code` and `details` are the daemon's where the refusal is its own.
    """

    def __init__(self, message: str, code: str = "", details: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.details = details or {}


class Answer:
    """What the daemon said; header names are lower-case."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def json(self) -> Json:
        """Return the body's JSON object; raise Failed for anything else."""
        try:
            value = json.loads(self.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise Failed(f"The daemon's answer (status {self.status}) can't be read; restart the daemon.")
        return value


class Client:
    """The daemon of one home, started before the first request when it isn't running."""

    def __init__(self, home: str, environ: Mapping[str, str]) -> None:
        self.home = home
        self.environ = environ
        self._started = False

    def start(self) -> None:
        """Return once the daemon answers; raise Failed when it can't be started."""
        try:
            ensure_daemon(self.home, self.environ)
        except DaemonUnavailable as unavailable:
            raise Failed(str(unavailable)) from None
        self._started = True

    def get(self, path: str, /, *, start: bool = True, **query: object) -> Answer:
        """Read `path`; parameters that are None are left out."""
        pairs = [f"{name}={escaped(value)}" for name, value in query.items() if value is not None]
        return self._ask("GET", "?".join([path, *(["&".join(pairs)] if pairs else [])]), None, {}, start)

    def send(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        if_match: str | None = None,
        seconds: float = SECONDS,
    ) -> Answer:
        """Send `body` to `path` in the user's name; with `if_match`, for the version with that ETag only.

        `seconds` is how long the daemon may take.
        """
        headers = {"X-Coffer-Actor": "user"}
        with suppress(Failed):  # It only tells the daemon where a project lies.
            headers["X-Coffer-Cwd"] = escaped(user_folder())
        if if_match is not None:
            headers["If-Match"] = if_match
        return self._ask(method, path, body, headers, True, seconds)

    def _ask(
        self,
        method: str,
        path: str,
        body: Json | None,
        headers: dict[str, str],
        start: bool,
        seconds: float = SECONDS,
    ) -> Answer:
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = _encoded(body)
        if start and not self._started:
            self.start()
        try:
            answer = Answer(*request(self.home, method, PREFIX + path, data, headers, seconds))
        except DaemonUnavailable as unavailable:
            raise Failed(str(unavailable)) from None
        if answer.status >= 400:
            raise _refusal(answer)
        return answer


def escaped(value: object) -> str:
    """Return `value` as one part of a path or query; the bytes of a folder's name stay what they are."""
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in data)


def user_folder() -> bytes:
    """Return the folder in which the command was given."""
    try:
        return os.getcwdb()
    except FileNotFoundError:
        raise Failed("The current folder is gone; go to another one, or name a store.") from None


def _encoded(body: Json) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Failed("The text isn't valid UTF-8; nothing was sent.") from None


def _refusal(answer: Answer) -> Failed:
    error = answer.json().get("error")
    if not isinstance(error, dict):
        return Failed(f"The daemon refused with status {answer.status}.")
    return Failed(str(error.get("message")), str(error.get("code")), error.get("details"))
