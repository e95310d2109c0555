"""MCP from the daemon's own process: over HTTP with the token, and through the real shim."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from mcp import Client, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client

from tests.coffer.daemon_process import PATIENCE, DaemonProcess, environment, running_daemon

SHIM = ("-P", "-c", "from coffer.surfaces.shim import main; main()")
ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with running_daemon(tmp_path_factory.mktemp("wire") / "home", COFFER_PORT="") as running:
        yield running


def project(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@asynccontextmanager
async def over_http(
    daemon: DaemonProcess, mode: str, folder: Path | None = None, **options: Any
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {daemon.token}", "X-Coffer-Agent": "web-agent"}
    if folder is not None:
        headers["X-Coffer-Cwd"] = str(folder)
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as web:
        transport = streamable_http_client(address(daemon), http_client=web)
        async with Client(transport, mode=mode, **options) as client:
            yield client


@asynccontextmanager
async def through_the_shim(home: Path, mode: str, folder: Path, agent: str) -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=sys.executable, args=[*SHIM, "--agent", agent], env=environment(home), cwd=str(folder)
    )
    async with Client(command, mode=mode) as client:
        yield client


async def writing(home: Path) -> None:
    """Return once something of a write can be seen in the memory tree."""
    with trio.fail_after(PATIENCE):
        while not list(home.glob("memory/**/*")):  # noqa: ASYNC110 (it is another process that does it)
            await trio.sleep(0.01)


def address(daemon: DaemonProcess) -> str:
    return f"http://127.0.0.1:{daemon.discovery['port']}/mcp"


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    with trio.fail_after(PATIENCE):
        result = await client.call_tool(f"coffer__{tool}", arguments)
    assert not result.is_error, result.content
    assert isinstance(result.content[0], types.TextContent)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


@ERAS
async def test_the_official_client_works_over_http(daemon: DaemonProcess, tmp_path: Path, mode: str) -> None:
    """Agents that speak HTTP need no shim: a header tells their folder, another one who they are."""
    folder = project(tmp_path, "app")
    async with over_http(daemon, mode, folder) as client:
        assert len((await client.list_tools()).tools) == 5
        made = await answer(client, "remember", text=f"Ship from main ({mode})")
        assert (made["scope"], made["status"], made["commit"]) == ("project", "created", "committed")
        (hit,) = (await answer(client, "recall", query="ship main", scope="project"))["hits"]
        file = Path(hit["source"].removeprefix("project:"))
        assert hit["text"] == f"Ship from main ({mode})" and "agent: web-agent" in file.read_text()
        assert (await answer(client, "list_memory"))["total"] == 1
    async with over_http(daemon, mode, tmp_path) as client:
        assert (await answer(client, "recall", query="ship main"))["hits"] == []


@ERAS
async def test_the_official_client_works_through_the_shim(
    daemon: DaemonProcess, tmp_path: Path, mode: str
) -> None:
    """This is how nearly every agent is connected."""
    folder = project(tmp_path, "my app ü")
    async with through_the_shim(daemon.home, mode, folder, "codex") as client:
        made = await answer(client, "remember", text=f"Run ruff before pushing ({mode})")
        assert made["status"] == "created"
        hits = (await answer(client, "recall", query="ruff", scope="project"))["hits"]
        assert [hit["id"] for hit in hits] == [made["id"]]
        refused = await client.call_tool("coffer__recall", {"query": "x", "scope": "nowhere"})
        assert refused.is_error and refused.structured_content["error"]["code"] == "CONFIG_INVALID"
    rows = daemon.ask("GET", "/invocations?agent=codex")[1]["invocations"]
    mine = [row for row in rows if row["session"] == rows[0]["session"]]
    assert [(row["tool"], row["outcome"], row["error_code"]) for row in mine] == [
        ("coffer__recall", "error", "CONFIG_INVALID"),
        ("coffer__recall", "ok", None),
        ("coffer__remember", "ok", None),
    ]
    assert rows[0]["session"]


async def test_a_client_without_a_header_is_asked_for_its_roots(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    """The question travels on the stream of the call that it belongs to, and the answer comes back by another."""
    folder = project(tmp_path, "rooted")

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=folder.as_uri())])

    async with over_http(daemon, "legacy", list_roots_callback=roots) as client:
        assert (await answer(client, "remember", text="Rooted fact"))["scope"] == "project"
    async with over_http(daemon, "auto", folder) as client:
        assert len((await answer(client, "recall", query="rooted", scope="project"))["hits"]) == 1


@pytest.mark.report("B70")
async def test_two_shims_in_two_projects_never_cross(daemon: DaemonProcess, tmp_path: Path) -> None:
    """Memory of one customer's project shown in another's is the worst that this product could do."""
    names = ("alpha", "beta")
    counted = dict.fromkeys(names, 0)

    async def work(client: Client, name: str) -> None:
        for number in range(10):
            await answer(client, "remember", text=f"{name} knows {number}")
            hits = (await answer(client, "recall", query="knows", top_k=20))["hits"]
            assert hits and all(hit["text"].startswith(name) for hit in hits)
            counted[name] += 1

    async with (
        through_the_shim(daemon.home, "auto", project(tmp_path, "alpha"), "alpha") as alpha,
        through_the_shim(daemon.home, "legacy", project(tmp_path, "beta"), "beta") as beta,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(work, alpha, "alpha")
        nursery.start_soon(work, beta, "beta")
    assert counted == {"alpha": 10, "beta": 10}


@pytest.mark.report("B25", "B30")
async def test_many_shims_on_a_cold_home_share_one_daemon(tmp_path: Path) -> None:
    """An editor starts all its agents at once; the twelfth must be served like the first."""
    home = tmp_path / "home"
    served = []

    async def connect(number: int) -> None:
        async with through_the_shim(home, "auto", tmp_path, f"agent{number}") as client:
            await answer(client, "remember", text=f"from {number}", scope="global")
            served.append(number)

    try:
        with trio.fail_after(2 * PATIENCE):
            async with trio.open_nursery() as nursery:
                for number in range(12):
                    nursery.start_soon(connect, number)
        assert sorted(served) == list(range(12))
        assert (home / "logs" / "daemon.log").read_text() == ""
    finally:
        pid = json.loads((home / "daemon.json").read_bytes())["pid"]
        await trio.run_process(["kill", str(pid)])


def test_over_tcp_only_the_token_opens(daemon: DaemonProcess) -> None:
    """Other accounts of the machine reach the port; MCP gives and takes memory, so it is no exception."""
    port = daemon.discovery["port"]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    right = {"Authorization": f"Bearer {daemon.token}", "Accept": "application/json, text/event-stream"}
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as web:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"X-Coffer-Token": daemon.token[:-1]}):
            for method, path in (
                ("POST", "/mcp"),
                ("GET", "/mcp"),
                ("DELETE", "/mcp"),
                ("GET", "/mcp-stdio"),
            ):
                body = call if method == "POST" else None
                assert web.request(method, path, json=body, headers=headers).status_code == 401
        for foreign in ({"Host": f"evil.example:{port}"}, {"Origin": "http://localhost:3000"}):
            assert web.post("/mcp", json=call, headers=right | foreign).status_code == 403
        text = right | {"Content-Type": "text/plain"}
        assert web.post("/mcp", content=json.dumps(call), headers=text).status_code == 403
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(
            b"GET /mcp-stdio HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n" % port
        )
        assert b" 401 " in connection.recv(1000).split(b"\r\n")[0]


def test_open_streams_end_with_the_daemon(tmp_path: Path) -> None:
    """An idle agent's stream must neither hold up the end nor be cut without a word."""
    with running_daemon(tmp_path / "home") as daemon:
        with daemon.connect() as web, daemon.connect() as shim, web.makefile("rb") as events:
            session = start_session(daemon)
            web.sendall(
                b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                b"Mcp-Session-Id: %s\r\n\r\n" % session.encode()
            )
            assert b" 200 " in events.readline()
            shim.sendall(
                b"GET /mcp-stdio HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            )
            assert b" 101 " in shim.recv(1000).split(b"\r\n")[0]
            assert daemon.stop() == 0
            assert events.read().endswith(b"0\r\n\r\n")
            assert shim.recv(100) == b"\x88\x02\x03\xe9"  # a close frame: going away
        assert daemon.log == ""


def start_session(daemon: DaemonProcess) -> str:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "0"},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    transport = httpx2.HTTPTransport(uds=str(daemon.home / "daemon.sock"))
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with httpx2.Client(transport=transport, base_url="http://localhost", timeout=PATIENCE) as web:
        return web.post("/mcp", content=body, headers=headers).headers["mcp-session-id"]


async def test_a_call_under_way_is_answered_before_the_end(tmp_path: Path) -> None:
    """An agent that is told `lost` would have to look whether its fact was kept."""
    home = tmp_path / "home"
    with running_daemon(home, COFFER_FAILPOINT="temp-written@1:sleep=1") as daemon:
        async with (
            through_the_shim(home, "auto", tmp_path, "codex") as client,
            trio.open_nursery() as nursery,
        ):
            made: list[Any] = []
            await client.list_tools()  # the client wants the schemas of answers, and later there is no daemon

            async def remember() -> None:
                made.append(await answer(client, "remember", text="just in time", scope="global"))

            nursery.start_soon(remember)
            await writing(home)
            assert await trio.to_thread.run_sync(daemon.stop) == 0
        assert made[0]["status"] == "created"
    with running_daemon(home) as daemon:
        assert daemon.recall("time") == ["just in time"]


async def test_a_killed_shim_takes_nothing_back(tmp_path: Path) -> None:
    """Agents are killed while they remember; the write goes on, and its commit is told like any other."""
    home = tmp_path / "home"
    with running_daemon(home, COFFER_FAILPOINT="temp-written@1:sleep=0.5") as daemon:
        shim = await trio.lowlevel.open_process(
            [sys.executable, *SHIM, "--agent", "codex"], stdin=subprocess.PIPE, env=environment(home)
        )
        arguments = {"text": "begun", "scope": "global"}
        envelope = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": "coffer__remember", "arguments": arguments, "_meta": envelope}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        assert shim.stdin is not None
        await shim.stdin.send_all(json.dumps(call).encode() + b"\n")
        await writing(home)
        shim.kill()
        await shim.wait()
        await trio.to_thread.run_sync(daemon.remember, "after it")  # waits for its turn behind the other
        assert daemon.recall("begun") == ["begun"]
        rows = daemon.ask("GET", "/invocations")[1]["invocations"]
        assert [(row["tool"], row["outcome"]) for row in rows] == [("coffer__remember", "ok")]


async def test_the_log_holds_nothing_of_what_is_said(tmp_path: Path) -> None:
    """People send the log along with bug reports."""
    with running_daemon(tmp_path / "home", COFFER_PORT="") as daemon:
        async with over_http(daemon, "legacy", tmp_path) as client:
            await answer(client, "remember", text="CANARY text", scope="global")
            await answer(client, "recall", query="CANARY query")
            await client.call_tool("coffer__recall", {"query": "CANARY", "CANARY": "CANARY"})
        for body in (b"CANARY", b'{"jsonrpc": "2.0", "id": "CANARY", "method": "CANARY"}'):
            headers = {"Authorization": f"Bearer {daemon.token}", "Content-Type": "application/json"}
            async with httpx2.AsyncClient(timeout=PATIENCE) as web:
                await web.post(address(daemon), content=body, headers=headers)
        assert daemon.stop() == 0
        assert "CANARY" not in daemon.log and daemon.token not in daemon.log
