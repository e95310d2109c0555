"""Who may talk to the daemon: decided for every request of every route, before anything else looks at it.

A web page can make the user's browser send requests to a port of this machine, and can give that port a
name of its own (DNS rebinding). It can't choose `Host`, `Origin` and `Sec-Fetch-Site`, can't send JSON to
another origin without asking first, and doesn't know the token. So, in this order: the host is one of ours,
the browser says that the request comes from our own page or from no page, the content is JSON, the token is
right, and the body isn't too large. Whole strings are compared, never beginnings or patterns. Ports aren't
part of what a browser calls a site, so `same-site` is as foreign as any.

Below `/memory.git/` the user's own git asks: it sends a content type of its own, may compress, and gives the token
as the password of Basic authentication.

The private socket is open to its owner alone (mode 0600, kept by the operating system), hence asks for no
token. No answer carries a CORS header; none may be kept by a cache or be taken for another type than it says.
"""

from __future__ import annotations

import hmac
from base64 import b64decode
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from typing import Any

import trio

from coffer.domain.errors import CofferError, ConfigInvalid, ForbiddenOrigin, PayloadTooLarge, Unauthorized
from coffer.surfaces.rest.errors import API, encoded

MAX_BODY = 1024 * 1024
MAX_PUSH = 32 * 1024 * 1024
BODY_SECONDS = 30
PUBLIC = f"{API}/daemon/status"
GIT = "/memory.git/"

_GIT_CONTENT = ("application/x-git-upload-pack-request", "application/x-git-receive-pack-request")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class Door(Enum):
    """Where a request came in: the owner's private socket, or a port that anybody on this machine reaches."""

    SOCKET = auto()
    LOOPBACK = auto()


def own_hosts(door: Door, port: int | None) -> frozenset[str]:
    """Return the `Host` values that our own clients send."""
    if door is Door.SOCKET:
        return frozenset({"localhost"})
    names = ("127.0.0.1", "localhost", "[::1]")
    return frozenset() if port is None else frozenset(f"{name}:{port}" for name in names)


def host_allowed(hosts: Sequence[str], own: frozenset[str]) -> bool:
    """Tell whether there is exactly one `Host`, and it is ours."""
    return len(hosts) == 1 and hosts[0].lower() in own


def site_allowed(sites: Sequence[str]) -> bool:
    """Tell whether `Sec-Fetch-Site`, which only browsers send, names our own page or no page."""
    return all(site in ("same-origin", "none") for site in sites)


def origin_allowed(origins: Sequence[str], own: frozenset[str]) -> bool:
    """Tell whether `Origin`, when there is one, is ours to the letter."""
    return all(origin.startswith("http://") and origin[7:] in own for origin in origins)


def content_allowed(method: str, types: Sequence[str], has_body: bool) -> bool:
    """Tell whether the content is JSON, which no form and no simple cross-origin request can claim.

    GET and HEAD change nothing, and a DELETE without a body can't be sent by a form: they need no type.
    """
    if method in ("GET", "HEAD") or (method == "DELETE" and not has_body and not types):
        return True
    return len(types) == 1 and types[0].partition(";")[0].strip().lower() == "application/json"


def token_allowed(authorizations: Sequence[str], tokens: Sequence[str], expected: str) -> bool:
    """Tell whether a header that may carry the token carries it; the time tells nothing of a wrong one."""
    bearers = [value.partition(" ") for value in authorizations]
    given = [*tokens, *(value.strip() for scheme, _, value in bearers if scheme.lower() == "bearer")]
    return bool(expected) and any(hmac.compare_digest(value.encode(), expected.encode()) for value in given)


def git_content_allowed(method: str, types: Sequence[str]) -> bool:
    """Tell whether the content is what git sends to a repository, which no form can claim either."""
    return method == "GET" or (method == "POST" and len(types) == 1 and types[0] in _GIT_CONTENT)


def password_allowed(authorizations: Sequence[str], expected: str) -> bool:
    """Tell whether Basic authentication, with any name, carries the token as its password."""
    for value in authorizations:
        scheme, _, encoded_pair = value.partition(" ")
        if scheme.lower() == "basic":
            with suppress(ValueError):
                pair = b64decode(encoded_pair.strip(), validate=True)
                if expected and hmac.compare_digest(pair.partition(b":")[2], expected.encode()):
                    return True
    return False


class Guard:
    """The outermost ASGI application of one door; what it lets through goes to `inner`."""

    def __init__(
        self, inner: Asgi, door: Door, token: Callable[[], str], port: Callable[[], int | None]
    ) -> None:
        self._inner = inner
        self._door = door
        self._token = token
        self._port = port

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._inner(scope, receive, send)
            return
        send = _hardened(send)
        try:
            self._admit(scope)
            if scope["type"] == "http":
                receive = await _whole(receive, MAX_PUSH if _is_git(scope) else MAX_BODY)
        except CofferError as refusal:
            await _refuse(scope, send, refusal)
            return
        await self._inner(scope, receive, send)

    def _admit(self, scope: Message) -> None:
        """Raise what the request is refused for; only headers are looked at."""

        def header(name: bytes) -> list[str]:
            return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]

        own = own_hosts(self._door, self._port())
        method = scope.get("method", "GET")
        # A target in absolute form ("GET http://host/…") would go by another host than the header.
        if not scope["path"].startswith("/") or not host_allowed(header(b"host"), own):
            raise ForbiddenOrigin("The Host header isn't this daemon's own address.")
        if not site_allowed(header(b"sec-fetch-site")) or not origin_allowed(header(b"origin"), own):
            raise ForbiddenOrigin("Requests from other web pages are refused.")
        has_body = bool(header(b"transfer-encoding")) or header(b"content-length") not in ([], ["0"])
        if _is_git(scope):
            if not git_content_allowed(method, header(b"content-type")):
                raise ForbiddenOrigin("This address is for git alone.")
        elif not content_allowed(method, header(b"content-type"), has_body):
            raise ForbiddenOrigin("Send `Content-Type: application/json`.")
        elif any(coding.lower() != "identity" for coding in header(b"content-encoding")):
            raise ConfigInvalid("Content-Encoding", "send the body uncompressed")
        public = scope["type"] == "http" and method in ("GET", "HEAD") and scope["path"] == PUBLIC
        if self._door is Door.LOOPBACK and not public:
            credentials = header(b"authorization"), header(b"x-coffer-token")
            if not (
                token_allowed(*credentials, self._token())
                or (_is_git(scope) and password_allowed(credentials[0], self._token()))
            ):
                raise Unauthorized()


def _is_git(scope: Message) -> bool:
    return scope["type"] == "http" and bool(scope["path"].startswith(GIT))


async def _whole(receive: Receive, most: int) -> Receive:
    """Read the body, and return what gives it in one piece; raise PayloadTooLarge.

    One that is too large is read to its end and dropped: an answer to a client that is still sending
    would be lost with the connection.
    """
    body, size = bytearray(), 0
    with trio.move_on_after(BODY_SECONDS):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return _first(message, receive)
            chunk = message.get("body", b"")
            size += len(chunk)
            if size <= most:
                body += chunk
            if not message.get("more_body", False):
                break
        if size > most:
            raise PayloadTooLarge(most)
        return _first({"type": "http.request", "body": bytes(body), "more_body": False}, receive)
    raise ConfigInvalid("body", f"didn't arrive within {BODY_SECONDS} seconds")


def _first(message: Message, receive: Receive) -> Receive:
    waiting = [message]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


def _hardened(send: Send) -> Send:
    async def hardened(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            kept = [(name, value) for name, value in message.get("headers", ()) if name != b"cache-control"]
            message["headers"] = [
                *kept,
                (b"cache-control", b"no-store"),
                (b"x-content-type-options", b"nosniff"),
            ]
        await send(message)

    return hardened


async def _refuse(scope: Message, send: Send, refusal: CofferError) -> None:
    status, body = encoded(refusal)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if isinstance(refusal, Unauthorized):
        headers.append((b"www-authenticate", b'Basic realm="coffer"' if _is_git(scope) else b"Bearer"))
    kind = "http.response" if scope["type"] == "http" else "websocket.http.response"
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body, "more_body": False})
