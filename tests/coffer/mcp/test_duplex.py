"""One connection of the shim: its eras, its bad messages, its cancelled calls and its sudden end."""

from __future__ import annotations

import pytest
import trio

from coffer.surfaces.mcp.server import build_server
from tests.coffer.mcp.duplex_pair import INITIALIZE, Agent, connected
from tests.coffer.mcp.fake_ports import Fakes

GLOBAL = {"text": "kept", "scope": "global"}


@pytest.fixture
def fakes() -> Fakes:
    return Fakes()


def server(fakes: Fakes):
    return build_server(fakes.ports(), "0")


async def test_a_probe_may_be_followed_by_the_handshake(fakes: Fakes) -> None:
    """Claude Code has been seen to ask `server/discover` and then to `initialize`; it must be served."""
    async with connected(server(fakes), {}, modern=True) as agent:
        discovered = await agent.request("server/discover", {})
        assert "2026-07-28" in discovered["result"]["supportedVersions"]
        agent.modern = False
        begun = await agent.initialize()
        assert begun["result"]["protocolVersion"] == "2025-11-25"
        made = await agent.call("coffer__remember", GLOBAL)
        assert made["result"]["structuredContent"]["status"] == "created"


async def test_the_answer_to_a_probe_is_not_lost_in_the_change(fakes: Fakes) -> None:
    """A client that says both at once still waits for both answers."""
    async with connected(server(fakes), {}, modern=True) as agent:
        await agent.send(agent.message("server/discover", {}))
        await agent.send(agent.message("initialize", INITIALIZE))
        answers = [await agent.receive(), await agent.receive()]
    assert {answer["id"] for answer in answers} == {1, 2}
    assert "protocolVersion" in answers[1]["result"]


@pytest.mark.parametrize("modern", [True, False])
async def test_bad_messages_cost_only_themselves(fakes: Fakes, modern: bool) -> None:
    """One broken line must neither end the agent's session nor leave a request without an answer."""
    async with connected(server(fakes), {}, modern) as agent:
        for line in ("not json", "[]", "7", '"text"', "[" * 100_000, '{"jsonrpc": "2.0", "method": 5}'):
            await agent.send(line)
        await agent.send({"jsonrpc": "1.0", "id": "a", "method": "tools/list"})
        refused = await agent.receive()
        assert (refused["id"], refused["error"]["code"]) == ("a", -32600)
        await agent.send('{"jsonrpc": "2.0", "id": "b", "method": ["tools/list"]}')
        assert (await agent.receive())["id"] == "b"
        unknown = await agent.request("no/such", {})
        assert unknown["error"]["code"] == -32601
        made = await agent.call("coffer__remember", GLOBAL)
        assert made["result"]["structuredContent"]["status"] == "created"


@pytest.mark.parametrize("modern", [True, False])
async def test_half_a_surrogate_pair_gets_an_answer(fakes: Fakes, modern: bool) -> None:
    """JSON can carry it and UTF-8 can't; a query gets an answer, a text is refused in words."""
    async with connected(server(fakes), {}, modern) as agent:
        found = await agent.call("coffer__recall", {"query": "\ud800 x", "scope": "global"})
        assert found["result"]["structuredContent"]["hits"] == []
        refused = await agent.call("coffer__remember", {"text": "\ud800", "scope": "global"})
        assert refused["result"]["structuredContent"]["error"]["details"]["field"] == "text"
        wrong = await agent.call("coffer__recall", {"query": "x", "scope": "\ud800"})
        assert wrong["result"]["structuredContent"]["error"]["code"] == "CONFIG_INVALID"


@pytest.mark.parametrize("modern", [True, False])
async def test_a_cancelled_call_is_stopped_and_recorded(fakes: Fakes, modern: bool) -> None:
    """An agent that has given up gets no late answer, and the daemon doesn't go on searching."""
    fakes.index.gate = trio.Event()
    async with connected(server(fakes), {}, modern) as agent:
        message = agent.message("tools/call", {"name": "coffer__recall", "arguments": {"query": "x"}})
        await agent.send(message)
        await fakes.index.searching.wait()
        await agent.send(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": message["id"]},
            }
        )
        with trio.fail_after(10):
            await agent.duplex.settled()
        assert "tools" in (await agent.request("tools/list", {}))["result"]
        assert agent.nothing_came()
    assert [(row.outcome, row.error_code) for row in fakes.state.calls] == [("error", "CANCELLED")]


@pytest.mark.parametrize("modern", [True, False])
async def test_a_write_outlives_its_connection(fakes: Fakes, modern: bool) -> None:
    """The agent may be killed the moment it said `remember`; what was begun is finished and recorded."""
    fakes.tree.gate = trio.Event()
    async with trio.open_nursery() as nursery:
        agent = Agent(server(fakes), {}, modern)
        nursery.start_soon(agent.duplex.run)
        if not modern:
            await agent.initialize()
        await agent.send(agent.message("tools/call", {"name": "coffer__remember", "arguments": GLOBAL}))
        await fakes.tree.writing.wait()
        agent.hang_up()
        await trio.testing.wait_all_tasks_blocked()
        assert fakes.tree.held == {}
        fakes.tree.gate.set()
    assert len([path for path in fakes.tree.held if path.startswith("global/knowledge/")]) == 1
    assert "memory_added" in [event.event for event in fakes.state.audits]
    assert [row.outcome for row in fakes.state.calls] == ["ok"]


async def test_settled_waits_for_the_last_answer(fakes: Fakes) -> None:
    """The daemon's end goes by it: closing earlier would cost an agent the answer to a call that was done."""
    fakes.index.gate = trio.Event()
    async with connected(server(fakes), {}, modern=True) as agent, trio.open_nursery() as nursery:
        await agent.duplex.settled()
        await agent.send(agent.message("tools/call", {"name": "coffer__recall", "arguments": {"query": "x"}}))
        await fakes.index.searching.wait()
        done = trio.Event()

        async def settle() -> None:
            await agent.duplex.settled()
            assert not agent.nothing_came()
            done.set()

        nursery.start_soon(settle)
        await trio.testing.wait_all_tasks_blocked()
        assert not done.is_set()
        fakes.index.gate.set()
        with trio.fail_after(10):
            await done.wait()
        assert (await agent.receive())["result"]["structuredContent"]["hits"] == []
