"""The predicates that decide who may talk to the daemon, and the wrapper that asks them in order."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
import trio

from coffer.surfaces.rest.guard import (
    MAX_BODY,
    Door,
    Guard,
    content_allowed,
    git_content_allowed,
    host_allowed,
    origin_allowed,
    own_hosts,
    password_allowed,
    site_allowed,
    token_allowed,
)
from tests.coffer.rest.doors import PORT, TOKEN, Reply, converse

OWN = own_hosts(Door.LOOPBACK, PORT)


@pytest.mark.parametrize("host", ["127.0.0.1:7420", "localhost:7420", "LocalHost:7420", "[::1]:7420"])
def test_own_hosts(host: str) -> None:
    """A client that uses one of the daemon's own addresses would be turned away."""
    assert host_allowed([host], OWN)


@pytest.mark.report("B73")
@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.example"],
        ["evil.example:7420"],
        ["127.0.0.1.evil.example:7420"],
        ["localhost.evil.example:7420"],
        ["127.0.0.1:7420.evil.example"],
        ["localhost:1"],
        ["localhost:74200"],
        ["localhost"],
        ["127.0.0.1"],
        ["localhost.:7420"],
        ["LOCALHOST.:7420"],
        ["127.0.0.1:7420 "],
        ["user@127.0.0.1:7420"],
        ["127.1:7420"],
        ["0.0.0.0:7420"],
        ["[::ffff:127.0.0.1]:7420"],
        [""],
        [],
        ["127.0.0.1:7420", "evil.example"],
        ["127.0.0.1:7420", "127.0.0.1:7420"],
    ],
)
def test_foreign_hosts(hosts: list[str]) -> None:
    """A page whose name was bound anew to 127.0.0.1 could read the memory."""
    assert not host_allowed(hosts, OWN)


def test_no_port_no_host() -> None:
    """While no port is open, a stray listener would answer for any host."""
    assert not host_allowed(["localhost:None"], own_hosts(Door.LOOPBACK, None))


def test_socket_host() -> None:
    """Our own clients on the private socket would be turned away, or foreign names let in."""
    own = own_hosts(Door.SOCKET, PORT)
    assert host_allowed(["localhost"], own)
    assert not host_allowed(["evil.example"], own)
    assert not host_allowed(["localhost:7420"], own)


@pytest.mark.parametrize(
    ("sites", "allowed"),
    [
        ([], True),
        (["none"], True),
        (["same-origin"], True),
        (["same-site"], False),
        (["cross-site"], False),
        (["Same-Origin"], False),
        ([""], False),
        (["none", "cross-site"], False),
    ],
)
def test_sites(sites: list[str], allowed: bool) -> None:
    """A page of another local server (same site, other port) could act in the user's name."""
    assert site_allowed(sites) is allowed


@pytest.mark.report("B76")
@pytest.mark.parametrize(
    ("origins", "allowed"),
    [
        ([], True),
        (["http://127.0.0.1:7420"], True),
        (["http://localhost:7420"], True),
        (["http://[::1]:7420"], True),
        (["https://localhost:7420"], False),
        (["http://localhost:3000"], False),
        (["http://localhost"], False),
        (["http://localhost:7420/"], False),
        (["http://localhost:74200"], False),
        (["http://evil.example"], False),
        (["http://localhost:7420.evil.example"], False),
        (["HTTP://LOCALHOST:7420"], False),
        (["null"], False),
        ([""], False),
        (["http://localhost:7420", "http://evil.example"], False),
    ],
)
def test_origins(origins: list[str], allowed: bool) -> None:
    """A page from elsewhere could send requests that the browser adds its own rights to."""
    assert origin_allowed(origins, OWN) is allowed


@pytest.mark.parametrize(
    ("method", "types", "has_body", "allowed"),
    [
        ("GET", [], False, True),
        ("HEAD", [], False, True),
        ("DELETE", [], False, True),
        ("DELETE", [], True, False),
        ("DELETE", ["text/plain"], False, False),
        ("POST", ["application/json"], True, True),
        ("POST", ["Application/JSON; charset=utf-8"], True, True),
        ("POST", ["application/json"], False, True),
        ("POST", [], False, False),  # what sendBeacon and a no-cors fetch without a body send
        ("POST", ["application/x-www-form-urlencoded"], True, False),
        ("POST", ["multipart/form-data; boundary=x"], True, False),
        ("POST", ["text/plain"], True, False),
        ("POST", ["text/plain; x=application/json"], True, False),
        ("POST", ["application/jsonp"], True, False),
        ("POST", ["text/plain", "application/json"], True, False),
        ("PATCH", [], True, False),
        ("OPTIONS", [], False, False),
    ],
)
def test_contents(method: str, types: list[str], has_body: bool, allowed: bool) -> None:
    """A form on any web page could write into the memory without the browser asking first."""
    assert content_allowed(method, types, has_body) is allowed


@pytest.mark.parametrize(
    ("authorizations", "tokens", "allowed"),
    [
        ([], [TOKEN], True),
        ([f"Bearer {TOKEN}"], [], True),
        ([f"bearer  {TOKEN}"], [], True),
        ([], [], False),
        ([], [""], False),
        ([], [TOKEN[:-1]], False),
        ([], [TOKEN + "x"], False),
        ([], ["é"], False),
        ([TOKEN], [], False),
        ([f"Basic {TOKEN}"], [], False),
        (["Bearer"], [], False),
    ],
)
def test_tokens(authorizations: list[str], tokens: list[str], allowed: bool) -> None:
    """Somebody else on this machine could read the memory, or the user's own client couldn't."""
    assert token_allowed(authorizations, tokens, TOKEN) is allowed


def test_empty_token_opens_nothing() -> None:
    """A daemon whose token file is empty would be open to everybody."""
    assert not token_allowed(["Bearer "], [""], "")


class Inner:
    """An application that notes what reached it, and answers with the body."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached.append(scope["type"])
        if scope["type"] == "http":
            message = await receive()
            headers = [(b"cache-control", b"no-cache, no-transform"), (b"content-type", b"text/event-stream")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": message.get("body", b"gone")})


async def ask(
    door: Door, *headers: tuple[str, str], chunks: list[bytes] | None = None, **changes: Any
) -> tuple[Reply, Inner]:
    """Send one request to a guarded application."""
    inner = Inner()
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/mcp",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
        "extensions": {"websocket.http.response": {}},
    } | changes
    reply = await converse(Guard(inner, door, lambda: TOKEN, lambda: PORT), scope, chunks or [b""])
    return reply, inner


LOCAL = ("host", f"localhost:{PORT}")


async def test_socket_needs_no_token() -> None:
    """The command line, the shim and the hooks couldn't reach their own daemon."""
    reply, _ = await ask(Door.SOCKET, ("host", "localhost"))
    assert reply.status == 200


async def test_port_needs_the_token() -> None:
    """Any program of any user of this machine could read the memory through the port."""
    reply, inner = await ask(Door.LOOPBACK, LOCAL)
    assert (reply.status, reply.code, inner.reached) == (401, "UNAUTHORIZED", [])
    assert reply.headers["www-authenticate"] == "Bearer"
    reply, _ = await ask(Door.LOOPBACK, LOCAL, ("authorization", f"Bearer {TOKEN}"))
    assert reply.status == 200


async def test_every_answer_is_private() -> None:
    """A cache could keep an agent's answers, whatever the application behind the guard says of them."""
    reply, _ = await ask(Door.SOCKET, ("host", "localhost"))
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["http://localhost:7420/api/v1/daemon/status", "*", "api"])
async def test_absolute_targets(path: str) -> None:
    """A request could name one host to the guard and another one to whoever reads the target."""
    reply, inner = await ask(Door.LOOPBACK, LOCAL, ("x-coffer-token", TOKEN), path=path)
    assert (reply.code, inner.reached) == ("FORBIDDEN_ORIGIN", [])


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ([("host", "evil.example"), ("x-coffer-token", TOKEN)], "FORBIDDEN_ORIGIN"),
        ([LOCAL, LOCAL, ("x-coffer-token", TOKEN)], "FORBIDDEN_ORIGIN"),
        ([LOCAL, ("x-coffer-token", TOKEN), ("origin", "http://localhost:3000")], "FORBIDDEN_ORIGIN"),
        ([LOCAL, ("x-coffer-token", TOKEN), ("sec-fetch-site", "same-site")], "FORBIDDEN_ORIGIN"),
        ([LOCAL], "UNAUTHORIZED"),
        ([LOCAL, ("x-coffer-token", "wrong")], "UNAUTHORIZED"),
    ],
)
async def test_websockets(headers: list[tuple[str, str]], code: str) -> None:
    """A page could open a websocket to the daemon, which no same-origin rule of the browser prevents."""
    reply, inner = await ask(Door.LOOPBACK, *headers, type="websocket", path="/mcp-stdio")
    assert (reply.code, inner.reached) == (code, [])


async def test_status_as_a_websocket() -> None:
    """The one address that needs no token would be a way past it for another protocol."""
    reply, _ = await ask(Door.LOOPBACK, LOCAL, type="websocket", path="/api/v1/daemon/status")
    assert reply.code == "UNAUTHORIZED"


async def test_order() -> None:
    """A page that may not even ask would learn whether a token is right, or keep us reading its body."""
    large = [b"x" * MAX_BODY, b"x"]
    wrong = [
        ("host", "evil.example"),
        ("origin", "http://evil.example"),
        ("content-type", "text/plain"),
        ("x-coffer-token", "wrong"),
    ]
    right = [
        LOCAL,
        ("origin", f"http://localhost:{PORT}"),
        ("content-type", "application/json"),
        ("x-coffer-token", TOKEN),
    ]
    codes = []
    for passed in range(5):
        reply, _ = await ask(
            Door.LOOPBACK, *right[:passed], *wrong[passed:], chunks=list(large), method="POST"
        )
        codes.append((reply.code, reply.json["error"]["message"][:20]))
    assert [code for code, _ in codes] == [*["FORBIDDEN_ORIGIN"] * 3, "UNAUTHORIZED", "PAYLOAD_TOO_LARGE"]
    assert len(set(codes)) == 5


@pytest.mark.parametrize(
    "chunks", [[b"x" * (MAX_BODY + 1)], [b"x" * MAX_BODY, b"x"], [b"x" * 1000] * (MAX_BODY // 1000 + 1)]
)
async def test_large_bodies(chunks: list[bytes]) -> None:
    """A body in pieces, whose length nobody declared, could fill the daemon's memory."""
    reply, inner = await ask(
        Door.SOCKET,
        ("host", "localhost"),
        ("content-type", "application/json"),
        chunks=chunks,
        method="POST",
    )
    assert (reply.code, inner.reached) == ("PAYLOAD_TOO_LARGE", [])


async def test_largest_body_arrives_whole() -> None:
    """A text just within the limit would be refused, or come in pieces that are read as one."""
    chunks = [b"x" * (MAX_BODY - 3), b"", b"yyy"]
    reply, _ = await ask(
        Door.SOCKET,
        ("host", "localhost"),
        ("content-type", "application/json"),
        chunks=chunks,
        method="POST",
    )
    assert reply.body == b"x" * (MAX_BODY - 3) + b"yyy"


async def test_slow_bodies(autojump_clock: trio.testing.MockClock) -> None:
    """A client that never finishes its request would hold its place for ever."""

    async def receive() -> Any:
        await trio.sleep_forever()

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
    await Guard(Inner(), Door.SOCKET, lambda: TOKEN, lambda: PORT)(scope, receive, send)
    assert sent[0]["status"] == 422


async def test_client_that_leaves() -> None:
    """A client that hangs up half-way would have its half request carried out."""

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    inner = Inner()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
    await Guard(inner, Door.SOCKET, lambda: TOKEN, lambda: PORT)(scope, receive, send)
    assert sent[1]["body"] == b"gone"


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "gzip, identity"])
async def test_compressed_bodies(coding: str) -> None:
    """A small body that swells to gigabytes could be sent."""
    reply, _ = await ask(
        Door.SOCKET,
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("content-encoding", coding),
        method="POST",
    )
    assert reply.code == "CONFIG_INVALID"


async def test_lifespan_passes() -> None:
    """The application behind the guard would never be told that it starts."""
    inner = Inner()

    async def nothing(*_: Any) -> Any:
        return {}

    await Guard(inner, Door.SOCKET, lambda: TOKEN, lambda: PORT)({"type": "lifespan"}, nothing, nothing)
    assert inner.reached == ["lifespan"]


GIT_POST = "application/x-git-upload-pack-request"


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ("Basic " + b64encode(f"coffer:{TOKEN}".encode()).decode(), True),
        ("basic " + b64encode(f":{TOKEN}".encode()).decode(), True),
        ("Basic " + b64encode(f"{TOKEN}:".encode()).decode(), False),
        ("Basic " + b64encode(b"coffer:").decode(), False),
        ("Basic !!!", False),
        ("Basic", False),
    ],
)
def test_the_password_of_git_is_the_token(given: str, allowed: bool) -> None:
    """Any program of another account on this machine could clone the memory."""
    assert password_allowed([given], TOKEN) is allowed
    assert not password_allowed([given], "")


@pytest.mark.parametrize(
    ("method", "types", "allowed"),
    [
        ("GET", [], True),
        ("POST", [GIT_POST], True),
        ("POST", ["application/x-git-receive-pack-request"], True),
        ("POST", ["text/plain"], False),
        ("POST", ["application/json"], False),
        ("POST", [], False),
        ("POST", [GIT_POST, GIT_POST], False),
        ("DELETE", [], False),
    ],
)
def test_only_git_speaks_to_gits_address(method: str, types: list[str], allowed: bool) -> None:
    """A web page's form could post to the repository in the user's name."""
    assert git_content_allowed(method, types) is allowed
