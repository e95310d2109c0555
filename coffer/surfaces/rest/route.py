"""A route: what it takes, what it answers, who answers. All there is to know about one, in one value.

Requests are checked against it, the OpenAPI document is generated from it, and a handler sees nothing of a
request that the route doesn't declare.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from coffer.application.sync import Synchroniser
from coffer.domain.errors import CofferError, ConfigInvalid
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import StoreRef, store_named
from coffer.surfaces.rest.json_body import parse
from coffer.surfaces.rest.schema import Schema, Shape, string

MAX_PARAMETERS = 20
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)

ACTOR: Mapping[str, Schema] = {
    "X-Coffer-Actor": string("Who acts.", enum=["user", "agent", "system"], default="user"),
    "X-Coffer-Agent": string(
        "the name of the agent that acts, 1 to 100 visible characters without < and >",
        pattern=r"^[!-;=?-~][ -;=?-~]{0,99}(?![\s\S])",
    ),
}
FOLDER: Mapping[str, Schema] = {
    "X-Coffer-Cwd": string("The absolute path of the caller's folder, percent-encoded.")
}


@dataclass(frozen=True, slots=True)
class DaemonFacts:
    """What the routes tell of the daemon, and what they ask it to do.

    `started` is the clock's `elapsed()` at the start. `rotate_token` returns once the new token is in its file
    and the old one is refused; the audit of it is written here. `sync` is the one that runs by itself too.
    """

    version: str
    pid: int
    started: float
    ready: Callable[[], bool]
    rotate_token: Callable[[], Awaitable[None]]
    sync: Synchroniser


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that has the shape its route declares, defaults filled in."""

    ports: Ports
    daemon: DaemonFacts
    path: Mapping[str, str]
    query: Mapping[str, Any]
    headers: Mapping[str, Any]
    body: Mapping[str, Any]
    raw: bytes = b""
    """The body as it came, where the route takes any."""

    @property
    def store(self) -> StoreRef:
        """The store named in the path; raises StoreNotFound for what can't be a name."""
        return store_named(self.path["name"])

    @property
    def caller(self) -> Caller:
        """Who asks, by the headers that the route declares."""
        folder = self.headers.get("X-Coffer-Cwd")
        return Caller(
            actor=self.headers.get("X-Coffer-Actor", "user"),
            agent=self.headers.get("X-Coffer-Agent"),
            folder=None
            if folder is None
            else absolute("X-Coffer-Cwd", unquote(folder, errors="surrogateescape")),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a JSON value, JSON that is already written, or no body at all for None."""

    body: Mapping[str, Any] | bytes | None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Asked], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one address below `/api/v1`; `{name}` and `{id}` stand for parts of the path.

    `answers` holds the shape of the body for each status that isn't an error, `errors` the refusals of its
    own beside those that any route may give. A `raw` route takes any body, and its handler reads it.
    """

    method: str
    path: str
    says: str
    handler: Handler
    answers: Mapping[int, Schema | None]
    errors: tuple[type[CofferError], ...] = ()
    query: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, Schema] = field(default_factory=dict)
    body: Schema | None = None
    raw: bool = False


class Reader:
    """Turns requests to one route into what its handler gets."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._query = Shape(_parameters(route.query))
        self._headers = Shape(_parameters(route.headers))
        self._body = Shape(route.body or _parameters({}))

    def read(
        self,
        ports: Ports,
        daemon: DaemonFacts,
        path: Mapping[str, str],
        query: bytes,
        headers: Callable[[str], list[str]],
        body: bytes,
    ) -> Asked:
        """Return the request; raise ConfigInvalid naming what is wrong with it."""
        given = {name: ", ".join(values) for name in self._route.headers if (values := headers(name))}
        return Asked(
            ports,
            daemon,
            path,
            self._query.checked(_pairs(query, self._route.query), "query"),
            self._headers.checked(given, "headers"),
            {} if self._route.raw else self._body.checked(parse(body), "body"),
            body if self._route.raw else b"",
        )


def absolute(name: str, folder: str) -> str:
    """Return a folder that a caller named, provided that it means the same to us as to them."""
    if not os.path.isabs(folder) or "\0" in folder:
        raise ConfigInvalid(name, "must be an absolute path")
    return folder


def _parameters(schemas: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(schemas), "additionalProperties": False}


def _pairs(query: bytes, schemas: Mapping[str, Schema]) -> dict[str, Any]:
    try:
        pairs = parse_qsl(
            query.decode("latin-1"),
            keep_blank_values=True,
            errors="surrogateescape",
            max_num_fields=MAX_PARAMETERS,
        )
    except ValueError:
        raise ConfigInvalid("query", f"has more than {MAX_PARAMETERS} parameters") from None
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise ConfigInvalid(name, "is given twice")
        whole = schemas.get(name, {}).get("type") == "integer" and WHOLE_NUMBER.fullmatch(value)
        values[name] = int(value) if whole else value
    return values
