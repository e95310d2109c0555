"""Who calls and from where, as each of the ways in tells it."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client, types

from coffer.domain.facts import Caller
from coffer.surfaces.mcp import server as module
from coffer.surfaces.mcp.caller import SESSION_HEADER
from coffer.surfaces.mcp.server import build_server
from coffer.surfaces.mcp.tools import TOOLS, Tool
from tests.coffer.mcp.duplex_pair import Agent, connected
from tests.coffer.mcp.fake_ports import Fakes


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Caller]:
    """The callers that tools were run for, with a tool that only looks at them."""
    callers: list[Caller] = []

    async def look(ports: Any, caller: Caller, given: Any) -> dict[str, Any]:
        callers.append(caller)
        return {"note": "", "hits": []}

    recall = TOOLS[0]
    looking = Tool(**{name: getattr(recall, name) for name in recall.__slots__} | {"run": look})
    monkeypatch.setattr(module, "TOOLS", (looking,))
    return callers


async def look(agent: Agent, meta: dict[str, Any] | None = None, **arguments: Any) -> Any:
    return await agent.call("coffer__recall", {"query": "x", **arguments}, meta)


@pytest.mark.parametrize("modern", [True, False])
async def test_what_the_shim_says_with_a_request_counts_most(seen: list[Caller], modern: bool) -> None:
    """One connection may outlive a change of folder; what the request itself says is never older than it."""
    headers = {"x-coffer-cwd": "/from/header", "x-coffer-agent": "header", SESSION_HEADER: "S1"}
    async with connected(build_server(Fakes().ports(), "0"), headers, modern) as agent:
        await look(agent, {"coffer/cwd": "/from/meta", "coffer/agent": "meta"})
        await look(agent)
    assert seen == [
        Caller("agent", "meta", "S1", "/from/meta"),
        Caller("agent", "header", "S1", "/from/header"),
    ]


@pytest.mark.parametrize("modern", [True, False])
async def test_a_client_without_the_shim_goes_by_its_own_name(seen: list[Caller], modern: bool) -> None:
    """History must say which agent wrote a fact also when nothing of ours sits in front of it."""
    async with connected(build_server(Fakes().ports(), "0"), {}, modern) as agent:
        await look(agent)
    assert seen == [Caller("agent", "test-client", None, None)]


async def test_headers_are_percent_encoded(seen: list[Caller]) -> None:
    """Folders have blanks, umlauts, and on Linux bytes that are no text at all."""
    headers = {"x-coffer-cwd": "/home/J%C3%BCrgen/my%20app/%FF", "x-coffer-agent": "caf%C3%A9"}
    async with connected(build_server(Fakes().ports(), "0"), headers, modern=True) as agent:
        await look(agent)
    assert (seen[0].folder, seen[0].agent) == ("/home/Jürgen/my app/\udcff", "café")


async def test_a_relative_folder_is_refused(seen: list[Caller]) -> None:
    """To the daemon `.` is its own folder, so the fact would go to whatever project that is."""
    async with connected(build_server(Fakes().ports(), "0"), {}, modern=True) as agent:
        answered = await look(agent, {"coffer/cwd": "src"})
    error = answered["result"]["structuredContent"]["error"]
    assert (error["code"], error["details"]) == ("CONFIG_INVALID", {"field": "coffer/cwd"})
    assert seen == []


async def test_metadata_of_another_kind_counts_as_none(seen: list[Caller]) -> None:
    """Other programs put what they like into `_meta`."""
    async with connected(build_server(Fakes().ports(), "0"), {}, modern=True) as agent:
        await look(agent, {"coffer/cwd": 7, "coffer/agent": ["x"]})
    assert seen == [Caller("agent", "test-client", None, None)]


async def test_an_agents_name_fits_on_a_line(seen: list[Caller]) -> None:
    """It is written into commits and file headers, where a line break would add a field of its own."""
    name = "evil\nCoffer-Actor: user\x1b[2J\u202e" + "x" * 200
    async with connected(build_server(Fakes().ports(), "0"), {}, modern=True) as agent:
        await look(agent, {"coffer/agent": name})
    assert seen[0].agent is not None
    assert seen[0].agent.startswith("evil Coffer-Actor: user") and len(seen[0].agent) == 64
    assert seen[0].agent.isprintable()


@pytest.mark.parametrize(
    ("uris", "folder"),
    [
        (["file:///projects/my%20app"], "/projects/my app"),
        (["file:///first", "file:///second"], "/first"),
        ([], None),
    ],
)
async def test_a_client_that_offers_roots_is_asked_for_them(
    seen: list[Caller], uris: list[str], folder: str | None
) -> None:
    """Clients that speak HTTP without a header still work in some folder, and this is how they tell it."""
    asked = []

    async def roots(context: Any) -> types.ListRootsResult:
        asked.append(1)
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in uris])

    server = build_server(Fakes().ports(), "0")
    async with Client(server, mode="legacy", list_roots_callback=roots) as client:
        await client.call_tool("coffer__recall", {"query": "x", "scope": "global"})
        assert asked == []
        await client.call_tool("coffer__recall", {"query": "x"})
        await client.call_tool("coffer__recall", {"query": "x"}, meta={"coffer/cwd": "/told"})
    assert [caller.folder for caller in seen] == [None, folder, "/told"]
    assert asked == [1]


async def test_a_client_that_offers_roots_and_refuses_them_has_no_folder(seen: list[Caller]) -> None:
    """A broken client must not break its calls: recall still answers from the global store."""

    async def roots(context: Any) -> types.ErrorData:
        return types.ErrorData(code=-32603, message="no")

    server = build_server(Fakes().ports(), "0")
    async with Client(server, mode="legacy", list_roots_callback=roots) as client:
        await client.call_tool("coffer__recall", {"query": "x"})
    assert [caller.folder for caller in seen] == [None]


@pytest.mark.report("B70")
async def test_projects_never_cross_on_one_daemon() -> None:
    """Two agents in two projects, calls interleaved: neither may ever see or write the other's memory."""
    fakes = Fakes()
    server = build_server(fakes.ports(), "0")
    alpha, beta = (
        {"x-coffer-cwd": f"/projects/{name}", "x-coffer-agent": name} for name in ("alpha", "beta")
    )
    async with (
        connected(server, alpha, modern=True) as first,
        connected(server, beta, modern=False) as second,
    ):
        for number in range(100):
            for agent, name in ((first, "alpha"), (second, "beta")):
                made = await agent.call("coffer__remember", {"text": f"secret of {name} number{number}"})
                assert made["result"]["structuredContent"]["status"] == "created"
                found = await agent.call("coffer__recall", {"query": "secret", "top_k": 20})
                texts = [hit["text"] for hit in found["result"]["structuredContent"]["hits"]]
                assert texts and all(name in text for text in texts)
    folders = {path.split("/knowledge/")[0] for path in fakes.tree.held if "/knowledge/" in path}
    assert len(folders) == 2
