"""Sync over REST: setting a remote, running, pausing for a yes, and conflicts; the remote does as a test says."""

from __future__ import annotations

from typing import Any, cast

import pytest
import trio

from coffer.application.sync import DEBOUNCE_SECONDS, FAILING_SECONDS
from coffer.domain.changes import etag_of
from coffer.domain.errors import SyncFailed, SyncPaused
from coffer.domain.ports import Ports
from coffer.domain.sync import Exchange, Kept
from tests.coffer.rest.doors import Client
from tests.coffer.rest.memory_ports import MemoryRemote, MemorySync, MemoryTree

URL = "https://host/memory.git"
TOPIC = "global/knowledge/pond.md"
COPY = "global/knowledge/pond.conflict-0123abcd.md"


@pytest.fixture
def remote(ports: Ports) -> MemoryRemote:
    return cast(MemoryRemote, ports.remote)


@pytest.fixture
def known(ports: Ports) -> MemorySync:
    return cast(MemorySync, ports.sync_state)


async def join(client: Client, **fields: Any) -> Any:
    reply = await client.ask("PUT", "/sync/remote", {"url": URL, **fields})
    assert reply.status == 200, reply.body
    return reply.json


async def test_a_new_remote_is_joined_at_once(client: Client, remote: MemoryRemote) -> None:
    """A person would be told that sync is set up, and nothing would have been synced."""
    remote.exchanges = [Exchange(pulled=3, pushed=2)]
    status = await join(client, interval_seconds=60)
    assert status["state"] == "idle" and status["remote"] == URL and status["last_success_at"]
    assert [url for url, _ in remote.asked] == [URL]
    await join(client, automatic=False)
    assert len(remote.asked) == 1, "the same remote isn't met a second time"


async def test_a_remote_that_cannot_be_joined_is_not_set(
    client: Client, remote: MemoryRemote, known: MemorySync
) -> None:
    """A mistyped address would be tried for ever, or would have taken the place of the right one."""
    remote.exchanges = [SyncFailed("The host can't be found.")]
    reply = await client.ask("PUT", "/sync/remote", {"url": URL})
    assert (reply.status, reply.code) == (502, "SYNC_FAILED") and known.remote is None
    reply = await client.ask("PUT", "/sync/remote", {"url": "ext::sh"})
    assert (reply.status, reply.code) == (422, "CONFIG_INVALID")
    reply = await client.ask("POST", "/sync/run", {})
    assert (reply.status, reply.code) == (422, "CONFIG_INVALID") and "sync init" in reply.json["error"][
        "message"
    ]


async def test_a_failure_is_told_and_does_not_stay(client: Client, remote: MemoryRemote) -> None:
    """A person wouldn't learn that their machines have drifted apart, or that all is well again."""
    await join(client)
    remote.exchanges = [SyncFailed("The remote doesn't answer.")]
    run = (await client.ask("POST", "/sync/run", {})).json
    assert (run["result"], run["reason"]) == ("failed", "The remote doesn't answer.")
    status = (await client.ask("GET", "/sync/status")).json
    assert status["state"] == "failing" and "doesn't answer" in status["reason"]
    checks = (await client.ask("GET", "/doctor")).json["checks"]
    assert [check["status"] for check in checks if check["name"] == "sync"] == ["warning"]
    assert (await client.ask("POST", "/sync/run", {})).json["result"] == "nothing"
    assert (await client.ask("GET", "/sync/remote")).json["state"] == "idle"


async def test_a_pause_waits_for_the_yes_to_exactly_that(
    client: Client, remote: MemoryRemote, known: MemorySync
) -> None:
    """A yes to one question would let something else through, or sync would ask again and again."""
    await join(client)
    remote.exchanges = [SyncPaused("mass_removal", "Much would vanish.", ("abc",)), Exchange(pulled=1)]
    run = (await client.ask("POST", "/sync/run", {})).json
    assert (run["result"], run["question"]) == ("paused", "mass_removal")
    reply = await client.ask("POST", "/sync/accept", {"reason": "secret_found"})
    assert (reply.status, reply.code) == (409, "SYNC_PAUSED") and known.yes == set()
    assert (await client.ask("POST", "/sync/accept", {"reason": "mass_removal"})).json["result"] == "synced"
    assert remote.asked[-1] == (URL, frozenset({("mass_removal", "abc")}))
    reply = await client.ask("POST", "/sync/accept", {"reason": "mass_removal"})
    assert (reply.status, reply.code) == (422, "CONFIG_INVALID")


async def test_switching_off_forgets_the_remote(
    client: Client, remote: MemoryRemote, known: MemorySync
) -> None:
    """A memory would go on being sent to a host that its owner has left."""
    await join(client)
    known.yes = {("secret_found", "x")}
    assert (await client.ask("DELETE", "/sync/remote")).json["state"] == "off"
    assert known.remote is None and known.yes == set()


async def test_sync_runs_after_writes_and_at_the_interval(
    client: Client, ports: Ports, remote: MemoryRemote, autojump_clock: trio.testing.MockClock
) -> None:
    """A fact would reach the other machine only when somebody types a command, or every write would fetch."""
    tree, written = cast(MemoryTree, ports.tree), trio.Event()

    async def next_write() -> None:
        nonlocal written
        await written.wait()
        written = trio.Event()

    tree.written = next_write  # type: ignore[method-assign]
    sync = client.facts.sync
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sync.run)
        await trio.sleep(10_000)
        assert remote.asked == []
        await join(client, interval_seconds=300)
        await trio.sleep(299)
        assert len(remote.asked) == 1
        await trio.sleep(2)
        assert len(remote.asked) == 2
        for _ in range(3):
            written.set()
            await trio.sleep(DEBOUNCE_SECONDS / 2)
        assert len(remote.asked) == 2
        await trio.sleep(DEBOUNCE_SECONDS)
        assert len(remote.asked) == 3
        remote.exchanges = [SyncFailed("Offline.")]
        written.set()
        await trio.sleep(2 * DEBOUNCE_SECONDS)
        assert len(remote.asked) == 4
        written.set()
        await trio.sleep(FAILING_SECONDS - DEBOUNCE_SECONDS * 3)
        assert len(remote.asked) == 4, "an unreachable remote isn't asked at every write"
        await join(client, automatic=False)
        await trio.sleep(10_000)
        assert len(remote.asked) == 4
        nursery.cancel_scope.cancel()


async def test_two_versions_are_listed_and_settled(client: Client, ports: Ports) -> None:
    """A text that two machines changed would be lost, or stand there twice for ever."""
    tree = cast(MemoryTree, ports.tree)

    def lay_out() -> None:
        tree.held = {TOPIC: b"# Pond\n\nDeep.\n", COPY: b"# Pond\n\nShallow.\n"}

    lay_out()
    found = (await client.ask("GET", "/sync/conflicts")).json["conflicts"]
    assert [(each["path"], each["other_path"]) for each in found] == [
        (f"{tree.root}/{TOPIC}", f"{tree.root}/{COPY}")
    ]
    for keep, left in (
        ("this", {TOPIC: b"# Pond\n\nDeep.\n"}),
        ("other", {TOPIC: b"# Pond\n\nShallow.\n"}),
    ):
        lay_out()
        reply = await client.ask("POST", "/sync/conflicts/resolve", {"path": TOPIC, "keep": keep})
        assert reply.json == {"conflicts": []} and tree.held == left
    lay_out()
    await client.ask("POST", "/sync/conflicts/resolve", {"path": f"{tree.root}/{COPY}", "keep": "both"})
    assert tree.held[TOPIC] == b"# Pond\n\nDeep.\n" and len(tree.held) == 2
    [other] = [data for path, data in tree.held.items() if path != TOPIC]
    assert b"Shallow." in other and b"id: " in other
    reply = await client.ask("POST", "/sync/conflicts/resolve", {"path": TOPIC, "keep": "this"})
    assert (reply.status, reply.code) == (404, "MEMORY_NOT_FOUND")


async def test_an_edit_that_outlived_a_removal_is_listed_until_somebody_decides(
    client: Client, ports: Ports, known: MemorySync
) -> None:
    """A text that somebody had deleted on purpose would come back without a word."""
    tree = cast(MemoryTree, ports.tree)
    tree.held = {TOPIC: b"# Pond\n\nEdited.\n"}

    async def listed() -> list[str]:
        found = (await client.ask("GET", "/sync/conflicts")).json["conflicts"]
        assert all(each["other_path"] is None for each in found)
        return [each["path"] for each in found]

    await known.keep(Kept(TOPIC, etag_of(tree.held[TOPIC]), "2026-06-03T09:00:00Z"))
    assert await listed() == [f"{tree.root}/{TOPIC}"]
    await client.ask("POST", "/sync/conflicts/resolve", {"path": TOPIC, "keep": "this"})
    assert await listed() == [] and TOPIC in tree.held
    await known.keep(Kept(TOPIC, etag_of(tree.held[TOPIC]), "2026-06-03T09:00:00Z"))
    await client.ask("POST", "/sync/conflicts/resolve", {"path": TOPIC, "keep": "other"})
    assert tree.held == {}
    await known.keep(Kept(TOPIC, "0" * 40, "2026-06-03T09:00:00Z"))
    assert await listed() == [] and known.held == {}


async def test_pushing_to_the_served_tree_is_off_until_it_is_allowed(client: Client) -> None:
    """Whoever has the token for reading could write, though nobody wanted that."""
    assert (await client.ask("GET", "/sync/serving")).json == {"push": False}
    assert (await client.ask("PUT", "/sync/serving", {"push": True})).json == {"push": True}
    assert (await client.ask("GET", "/sync/serving")).json == {"push": True}
