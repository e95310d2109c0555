"""The daemon's HTTP door without a network: asks the guarded application, and holds each answer to its route."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import trio

from coffer.application.sync import Synchroniser
from coffer.domain.ports import Ports
from coffer.surfaces.rest.app import ROUTES, DaemonFacts, build_app
from coffer.surfaces.rest.errors import API, STATUS
from coffer.surfaces.rest.guard import Door, Guard
from coffer.surfaces.rest.openapi import ERROR, errors_of
from coffer.surfaces.rest.route import Route
from coffer.surfaces.rest.schema import Shape

PORT = 7420
TOKEN = "the-token-" * 4
PROJECT = "project-0123456789ABCDEFGHJKMNPQRS"

Headers = Mapping[str, str | None] | Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Reply:
    """One answer; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        """The error's code, None when it isn't an error."""
        return self.json["error"]["code"] if self.status >= 400 else None


@dataclass
class Daemon:
    """What a daemon tells the routes of itself."""

    ready: bool = True
    rotations: int = 0

    def facts(self, ports: Ports) -> DaemonFacts:
        return DaemonFacts("1.2.3", 4711, 90.0, lambda: self.ready, self.rotate, Synchroniser(ports))

    async def rotate(self) -> None:
        self.rotations += 1


@dataclass
class Client:
    """A client on a loopback port, with the token, or on the private socket."""

    ports: Ports
    door: Door = Door.LOOPBACK
    daemon: Daemon = field(default_factory=Daemon)

    def __post_init__(self) -> None:
        self.facts = self.daemon.facts(self.ports)
        self.app = build_app(self.ports, self.facts)
        self.guarded = Guard(self.app, self.door, lambda: TOKEN, lambda: PORT)

    async def ask(
        self,
        method: str,
        path: str,
        json_body: Any = None,
        *,
        headers: Mapping[str, str | None] | None = None,
        more_headers: Sequence[tuple[str, str]] = (),
        body: bytes | Sequence[bytes] | None = None,
    ) -> Reply:
        """Send one request below /api/v1 (any path that begins with `//` or has a scheme goes as it is).

        `headers` replace what a good client sends, None leaves one out.
        """
        data = json.dumps(json_body).encode() if json_body is not None else body
        chunks = [data] if isinstance(data, bytes) else list(data or [b""])
        given: dict[str, str | None] = {
            "host": f"127.0.0.1:{PORT}" if self.door is Door.LOOPBACK else "localhost",
            "x-coffer-token": TOKEN if self.door is Door.LOOPBACK else None,
            "content-type": "application/json"
            if data is not None or method in ("POST", "PUT", "PATCH")
            else None,
            "content-length": str(sum(map(len, chunks))) if len(chunks) == 1 else None,
            "transfer-encoding": "chunked" if len(chunks) > 1 else None,
        }
        given |= {name.lower(): value for name, value in (headers or {}).items()}
        pairs = [(name, value) for name, value in given.items() if value is not None] + list(more_headers)
        target = path[1:] if path.startswith("//") else path if "://" in path else API + path
        raw, _, query = target.partition("?")
        reply = await converse(
            self.guarded,
            {
                "type": "http",
                "http_version": "1.1",
                "asgi": {"spec_version": "2.1", "version": "3.0"},
                "method": method,
                "scheme": "http",
                "path": unquote(raw),
                "raw_path": raw.encode(),
                "query_string": query.encode(),
                "root_path": "",
                "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs],
                "client": ("127.0.0.1", 50000),
                "server": ("127.0.0.1", PORT),
                "extensions": {},
            },
            chunks,
        )
        _check_headers(reply)
        _check_shape(method, unquote(raw), reply)
        return reply


async def converse(app: Any, scope: dict[str, Any], chunks: Sequence[bytes]) -> Reply:
    """Hand one request to an ASGI application and return its whole answer."""
    waiting = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        for number, chunk in enumerate(chunks, 1)
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        if not waiting:
            await trio.sleep_forever()
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return Reply(start["status"], headers, b"".join(message.get("body", b"") for message in rest))


PATTERNS = {
    (route.method, re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(API + route.path)), re.DOTALL)): route
    for route in ROUTES
}
SHAPES = {
    (route.method, route.path, status): Shape(schema)
    for route in ROUTES
    for status, schema in route.answers.items()
    if schema is not None and "properties" in schema
}
ERROR_SHAPE = Shape(ERROR)


def route_of(method: str, path: str) -> Route | None:
    """Return the route that a request means."""
    wanted = "GET" if method == "HEAD" else method
    return next(
        (
            route
            for (asked, pattern), route in PATTERNS.items()
            if asked == wanted and pattern.fullmatch(path)
        ),
        None,
    )


def _check_headers(reply: Reply) -> None:
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert not [name for name in reply.headers if name.startswith("access-control-")]
    assert reply.status == 204 or reply.headers["content-type"] == "application/json"


def _check_shape(method: str, path: str, reply: Reply) -> None:
    route = route_of(method, path)
    if reply.status >= 400:
        ERROR_SHAPE.checked(reply.json, "error")
        assert STATUS[reply.json["error"]["code"]] == reply.status
        assert route is None or reply.code in {error.code for error in errors_of(route)}
        return
    assert route is not None
    if route.answers[reply.status] is None:
        assert reply.body == b""
    elif shape := SHAPES.get((route.method, route.path, reply.status)):
        shape.checked(reply.json, "answer")
