"""The same dangers for every route there is, found by walking the application's own table of addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from coffer.domain.ports import Ports
from coffer.surfaces.rest.app import ROUTES, build_app
from coffer.surfaces.rest.errors import API
from coffer.surfaces.rest.guard import MAX_BODY, Door
from tests.coffer.rest.doors import PORT, PROJECT, TOKEN, Client, Daemon
from tests.coffer.rest.memory_ports import MemoryTree, memory_ports

NAMED = {
    "name": "global",
    "id": "01JABCDEFGHJKMNPQRSTVWXYZ0",
    "event": "SessionStart",
    "session_id": "one",
    "ref": "2026-06-03",
}
PORTS = memory_ports()
ADDRESSES = sorted(
    (method, re.sub(r"<(\w+)>", lambda part: NAMED[part[1]], rule.rule))
    for rule in build_app(PORTS, Daemon().facts(PORTS)).url_map.iter_rules()
    for method in rule.methods or ()
)
PUBLIC = f"{API}/daemon/status"

Case = dict[str, Any]
CASES: dict[str, tuple[Case, str]] = {
    "no token": ({"request": {"headers": {"x-coffer-token": None}}}, "UNAUTHORIZED"),
    "wrong token": ({"request": {"headers": {"x-coffer-token": TOKEN[::-1]}}}, "UNAUTHORIZED"),
    "token in the query": (
        {"request": {"headers": {"x-coffer-token": None}}, "query": f"?token={TOKEN}"},
        "UNAUTHORIZED",
    ),
    "foreign host": ({"request": {"headers": {"host": "evil.example"}}}, "FORBIDDEN_ORIGIN"),
    "another port": ({"request": {"headers": {"host": "localhost:3000"}}}, "FORBIDDEN_ORIGIN"),
    "two hosts": ({"request": {"more_headers": [("host", f"localhost:{PORT}")]}}, "FORBIDDEN_ORIGIN"),
    "foreign origin": ({"request": {"headers": {"origin": "http://localhost:3000"}}}, "FORBIDDEN_ORIGIN"),
    "no origin to name": ({"request": {"headers": {"origin": "null"}}}, "FORBIDDEN_ORIGIN"),
    "same site": ({"request": {"headers": {"sec-fetch-site": "same-site"}}}, "FORBIDDEN_ORIGIN"),
    "form": (
        {"request": {"headers": {"content-type": "text/plain"}, "body": b'{"x": 1}'}},
        "FORBIDDEN_ORIGIN",
    ),
    "oversize": ({"request": {"body": b" " * (MAX_BODY + 1)}}, "PAYLOAD_TOO_LARGE"),
    "oversize in pieces": ({"request": {"body": [b" " * MAX_BODY, b" "]}}, "PAYLOAD_TOO_LARGE"),
    "compressed": (
        {"request": {"headers": {"content-encoding": "gzip"}, "body": b"\x1f\x8b"}},
        "CONFIG_INVALID",
    ),
    "deep": ({"request": {"body": b"[" * 33 + b"]" * 33}}, "CONFIG_INVALID"),
    "bottomless": ({"request": {"body": b'{"text":' * 100_000}}, "CONFIG_INVALID"),
    "not JSON": ({"request": {"body": b"{'text': 1}"}}, "CONFIG_INVALID"),
    "not UTF-8": ({"request": {"body": b'{"text": "\xff"}'}}, "CONFIG_INVALID"),
    "a list": ({"request": {"body": b"[]"}}, "CONFIG_INVALID"),
    "null": ({"request": {"body": b"null"}}, "CONFIG_INVALID"),
    "unknown field": ({"request": {"body": b'{"txet": "x"}'}}, "CONFIG_INVALID"),
    "unknown parameter": ({"query": "?limt=1"}, "CONFIG_INVALID"),
}
BODIES = ("deep", "bottomless", "not JSON", "not UTF-8", "a list", "null", "unknown field")


def test_the_table_is_all_there_is() -> None:
    """A route could be served that is neither described nor tried here."""
    served = {(method, path) for method, path in ADDRESSES if method != "HEAD"}
    declared = {(route.method, API + route.path.format(**NAMED)) for route in ROUTES}
    assert served == declared
    assert len(served) == 63


@pytest.mark.report("B71", "B72", "B73", "B79")
@pytest.mark.parametrize("danger", CASES)
async def test_dangers(ports: Ports, danger: str) -> None:
    """A route that was forgotten could be used by a web page or another user, or be brought down."""
    daemon = Daemon()
    client = Client(ports, daemon=daemon)
    for method, path in ADDRESSES:
        case, code = CASES[danger]
        reply = await client.ask(method, "/" + path + case.get("query", ""), **case.get("request", {}))
        assert reply.code == exception(danger, method, path, code), (method, path)
    assert isinstance(ports.tree, MemoryTree)
    assert (ports.tree.held, daemon.rotations) == ({}, 0)


def exception(danger: str, method: str, path: str, code: str) -> str | None:
    """Return what a danger gets where it isn't the same as everywhere."""
    if path == PUBLIC and code == "UNAUTHORIZED":
        return "CONFIG_INVALID" if "query" in danger else None
    if path.endswith("/hooks/SessionStart") and danger in BODIES:
        return "AGENT_NOT_FOUND"  # whatever an agent's hook was given is taken, by an agent that is there
    if danger == "form" and method in ("GET", "HEAD"):
        return (
            "CONFIG_INVALID"  # no content can make a reading request act, so any type will do; it takes none
        )
    return code


async def test_other_methods(client: Client) -> None:
    """A method that a route doesn't have would be answered without the guard, or by a page of HTML."""
    headers = {"content-type": "application/json"}
    for path in sorted({path for _, path in ADDRESSES}):
        # What isn't done to the list of candidates could be done to an agent of that name, and so with stores.
        same = {path, re.sub(r"/agents/candidates$", "/agents/global", path)}
        same.add(re.sub(r"/memory_stores/(undo|merge|merge_scan)$", "/memory_stores/global", path))
        allowed = {method for method, address in ADDRESSES if address in same}
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - allowed:
            reply = await client.ask(method, "/" + path, headers=headers)
            assert (reply.status, reply.code) == (405, "METHOD_NOT_ALLOWED")
            assert set(reply.headers["allow"].split(", ")) == allowed
            reply = await client.ask(method, "/" + path, headers={**headers, "x-coffer-token": None})
            assert reply.code == "UNAUTHORIZED"


@pytest.mark.report("B71")
async def test_preflight(client: Client) -> None:
    """A page from elsewhere would be told by us that it may ask."""
    reply = await client.ask(
        "OPTIONS",
        "/memory_stores/global/facts",
        headers={
            "origin": "http://evil.example",
            "access-control-request-method": "POST",
            "x-coffer-token": None,
        },
    )
    assert reply.code == "FORBIDDEN_ORIGIN"


@pytest.mark.parametrize(
    "path", ["///", "//mcp", "//mcp-stdio", "//static/x", "//api/v1", "/nothing", "//.env"]
)
async def test_unknown_addresses(client: Client, path: str) -> None:
    """An address that doesn't exist would tell a stranger so, or be answered by a page of HTML."""
    reply = await client.ask("GET", path, headers={"x-coffer-token": None})
    assert reply.code == "UNAUTHORIZED"
    reply = await client.ask("GET", path)
    assert reply.code == "NOT_FOUND"


@pytest.mark.parametrize(
    "path",
    [
        "///api/v1/daemon/status",
        "//api/v1/daemon/status/",
        "//api/v1//daemon/status",
        "//API/v1/daemon/status",
    ],
)
async def test_nearly_public_addresses(client: Client, path: str) -> None:
    """The one address without a token would be open under other spellings, of which one may mean another."""
    assert (await client.ask("GET", path, headers={"x-coffer-token": None})).code == "UNAUTHORIZED"


NAMES = [
    "Global",
    "global%20",
    "global%00",
    "global%0a",
    "..",
    "%2e%2e",
    "..%2f..%2fetc",
    "..%5c..%5cetc",
    "%2fetc%2fpasswd",
    "a%2f..%2f..%2fb",
    "%00",
    "%ff",
    "project-",
    "project-0123456789abcdefghjkmnpqrs",
    "project-0123456789ABCDEFGHJKMNPQRSX",
    "project-0123456789ABCDEFGHJKMNPQRI",
    "project-ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
    "project-00000000000000000000000000",
    "project-0123456789ABCDEFGHJKMNPQRS%0a",
    "x" * 5000,
]
IDS = [
    "..",
    "%2e%2e",
    "..%2f..%2fstore.yaml",
    "..%5cstore.yaml",
    "%2fetc%2fpasswd",
    "a%2f..%2f..%2fb",
    "%00",
    "01JABCDEFGHJKMNPQRSTVWXYZ0%00",
    "01JABCDEFGHJKMNPQRSTVWXYZ0%0a",
    "01jabcdefghjkmnpqrstvwxyz0%2f",
    "%ff%fe",
    "p-..",
    "x" * 5000,
]


Request = tuple[str, str, Any]


def addresses(
    of: Sequence[str], name: str = "", fact: str = "", below: str = "/memory_stores"
) -> list[Request]:
    """Return a good request to every route `below` an address whose own has the parts `of`."""
    bodies = {
        "label": {"label": "x"},
        "facts": {"text": "x"},
        "recall": {"query": "x"},
        "restore": {"commit": "abcd"},
        **{lane: {"text": "x"} for lane in ("rules", "accept", "journal")},
        "prompt-context": {"session_id": "one", "cwd": "/", "prompt": "x"},
        "end": {"cwd": "/"},
    }
    return [
        (
            route.method,
            route.path.format(**{**NAMED, "name": name, "id": fact}),
            bodies.get(route.path.rpartition("/")[2], {}) if route.body else None,
        )
        for route in ROUTES
        if route.path.startswith(below) and all(f"{{{part}}}" in route.path for part in of)
    ]


@pytest.mark.report("B57")
@pytest.mark.parametrize("name", NAMES)
async def test_names_that_are_none(ports: Ports, name: str) -> None:
    """A name that climbs out of the memory tree would be followed, or bring an error of ours."""
    client = Client(ports)
    for method, path, body in addresses(["name"], name, "01JABCDEFGHJKMNPQRSTVWXYZ0"):
        reply = await client.ask(method, path, body)
        assert (reply.status, reply.code) == (404, "MEMORY_STORE_NOT_FOUND"), (method, path)
    assert isinstance(ports.tree, MemoryTree)
    assert ports.tree.held == {}


@pytest.mark.report("B57")
@pytest.mark.parametrize("fact", IDS)
@pytest.mark.parametrize("door", Door)
async def test_ids_that_are_none(ports: Ports, fact: str, door: Door) -> None:
    """An id that climbs out of its store would be followed, or bring an error of ours."""
    client = Client(ports, door)
    for method, path, body in addresses(["name", "id"], "global", fact):
        reply = await client.ask(method, path, body)
        assert (reply.status, reply.code) == (404, "MEMORY_NOT_FOUND"), (method, path)


@pytest.mark.report("B57")
@pytest.mark.parametrize("name", NAMES)
async def test_agents_that_are_none(ports: Ports, name: str) -> None:
    """A name that no agent has would be taken for one, or bring an error of ours."""
    client = Client(ports)
    for method, path, body in addresses(["name"], name, below="/agents"):
        reply = await client.ask(method, path, body)
        expected = "NOT_FOUND" if "%2f" in name else "AGENT_NOT_FOUND"  # a slash makes it another address
        assert (reply.status, reply.code) == (404, expected), (method, path)


async def test_reading_creates_nothing(ports: Ports) -> None:
    """Looking at a project that nobody wrote to yet would leave a store behind."""
    client = Client(ports)
    for method, path, body in addresses(["name"], PROJECT, "01JABCDEFGHJKMNPQRSTVWXYZ0"):
        if method == "GET" or path.endswith("/recall"):
            reply = await client.ask(method, path, body)
            assert reply.status == 200 or "/facts/" in path
    assert isinstance(ports.tree, MemoryTree)
    assert (ports.tree.held, await ports.tree.stores()) == ({}, [])


async def test_changing_needs_a_store(ports: Ports) -> None:
    """A slip in a store's name would make a new store, or be answered as if something had been done."""
    client = Client(ports)
    for method, path, body in addresses(["name"], PROJECT, "01JABCDEFGHJKMNPQRSTVWXYZ0"):
        if method in ("PATCH", "DELETE"):
            reply = await client.ask(method, path, body)
            expected = "MEMORY_NOT_FOUND" if "/facts/" in path else "MEMORY_STORE_NOT_FOUND"
            assert reply.code == expected, (method, path)
    assert isinstance(ports.tree, MemoryTree)
    assert ports.tree.held == {}
