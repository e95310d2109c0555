"""The daemon, its records and its health through the door."""

from __future__ import annotations

import pytest

from coffer.domain.activity import Invocation
from coffer.domain.ports import Ports
from coffer.surfaces.rest.guard import Door
from tests.coffer.rest.doors import PROJECT, TOKEN, Client, Daemon
from tests.coffer.rest.memory_ports import MemoryState


@pytest.mark.parametrize("ready", [True, False])
async def test_status(ports: Ports, ready: bool) -> None:
    """Nobody could find out whether the daemon lives without knowing where its token is."""
    client = Client(ports, daemon=Daemon(ready))
    reply = await client.ask("GET", "/daemon/status", headers={"x-coffer-token": None})
    assert reply.json == {"version": "1.2.3", "pid": 4711, "uptime_s": 10.25, "ready": ready}


@pytest.mark.parametrize("body", [None, {}])
async def test_rotate_token(ports: Ports, body: object) -> None:
    """A token that was seen by others couldn't be changed, or the new one would be sent around."""
    client = Client(ports, Door.SOCKET)
    reply = await client.ask("POST", "/daemon/rotate-token", body)
    assert reply.json == {"rotated": True}
    assert client.daemon.rotations == 1
    assert isinstance(ports.state, MemoryState)
    assert [event.event for event in ports.state.events] == ["token_rotated"]


async def test_old_token(ports: Ports) -> None:
    """The old token would still open the door after a new one was made."""
    client = Client(ports)
    tokens = [TOKEN]
    client.guarded._token = lambda: tokens[-1]
    assert (await client.ask("GET", "/audit")).status == 200
    tokens.append("new")
    assert (await client.ask("GET", "/audit")).code == "UNAUTHORIZED"
    assert (await client.ask("GET", "/audit", headers={"x-coffer-token": "new"})).status == 200


async def test_doctor(client: Client) -> None:
    """A person couldn't find out what is wrong and what to do."""
    assert (await client.ask("GET", "/doctor")).json == {
        "ok": True,
        "checks": [
            {"name": "repository", "status": "ok", "message": "It is well.", "action": None},
            {
                "name": "index",
                "status": "warning",
                "message": "One file can't be read.",
                "action": "Mend it.",
            },
        ],
    }


async def test_audit(client: Client) -> None:
    """Nobody could tell later who changed what."""
    for store in ("global", PROJECT):
        await client.ask(
            "POST",
            f"/memory_stores/{store}/facts",
            {"text": "hello"},
            headers={"x-coffer-actor": "agent", "x-coffer-agent": "codex"},
        )
    events = (await client.ask("GET", "/audit")).json["events"]
    assert events[0] == {
        "time": "2026-06-03T10:00:03Z",
        "event": "memory_added",
        "actor": "agent",
        "agent": "codex",
        "store": PROJECT,
        "details": {"chars": 5},
    }
    assert (await client.ask("GET", "/audit?limit=1")).json["events"] == events[:1]
    assert (await client.ask("GET", f"/audit?before={events[1]['time']}")).json["events"] == events[2:]
    assert (await client.ask("GET", "/audit?event=store_created")).json["events"] == events[1::2]
    assert (await client.ask("GET", "/audit?store=global")).json["events"] == events[2:]


async def test_invocations(client: Client, ports: Ports) -> None:
    """Nobody could tell which agent asks what, and how long it waits."""
    calls = [
        Invocation("2026-06-03T10:00:00Z", "coffer__recall", "codex", "s1", 3.5, "ok"),
        Invocation("2026-06-03T10:00:01Z", "coffer__remember", None, None, 9.0, "error", "MEMORY_REJECTED"),
    ]
    for call in calls:
        ports.state.invoked(call)
    told = (await client.ask("GET", "/invocations")).json["invocations"]
    assert told[0] == {
        "time": "2026-06-03T10:00:01Z",
        "tool": "coffer__remember",
        "agent": None,
        "session": None,
        "duration_ms": 9.0,
        "outcome": "error",
        "error_code": "MEMORY_REJECTED",
    }
    assert (await client.ask("GET", "/invocations?agent=codex")).json["invocations"] == told[1:]
    assert (await client.ask("GET", "/invocations?tool=coffer__remember")).json["invocations"] == told[:1]
    assert (await client.ask("GET", f"/invocations?before={told[0]['time']}")).json["invocations"] == told[1:]


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "before=%ff", "actor=user"])
@pytest.mark.parametrize("path", ["/audit", "/invocations"])
async def test_wrong_pages(client: Client, path: str, query: str) -> None:
    """A slip in a parameter would be taken for the default, or bring an error of ours."""
    assert (await client.ask("GET", f"{path}?{query}")).code == "CONFIG_INVALID"


async def test_audit_of_no_store(client: Client) -> None:
    """A slip in a store's name would look like a store without events."""
    assert (await client.ask("GET", "/audit?store=../x")).code == "MEMORY_STORE_NOT_FOUND"
