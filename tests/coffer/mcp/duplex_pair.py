"""A client that speaks raw JSON-RPC to a server over memory channels, as the shim does over its websocket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio
from mcp.server.lowlevel import Server

from coffer.surfaces.mcp.duplex import Duplex

ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "0"},
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test-client", "version": "0"},
}


class Agent:
    """The client's end. `modern` decides which era its calls belong to."""

    def __init__(self, server: Server[Any], headers: Mapping[str, str], modern: bool) -> None:
        self.modern = modern
        self._up, up = trio.open_memory_channel[str](100)
        down, self._down = trio.open_memory_channel[str](100)
        self._next_id = 0

        async def receive() -> str | None:
            try:
                return await up.receive()
            except trio.EndOfChannel:
                return None

        self.duplex = Duplex(server, receive, down.send, headers)

    async def send(self, message: object) -> None:
        await self._up.send(message if isinstance(message, str) else json.dumps(message))

    async def receive(self) -> Any:
        with trio.fail_after(10):
            return json.loads(await self._down.receive())

    def nothing_came(self) -> bool:
        return self._down.statistics().current_buffer_used == 0

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        await self.send(self.message(method, params))
        return await self.receive()

    def message(
        self, method: str, params: dict[str, Any], meta: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        self._next_id += 1
        own = (ENVELOPE if self.modern and method != "initialize" else {}) | (meta or {})
        with_meta = {**params, "_meta": own} if own else params
        return {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": with_meta}

    async def call(self, tool: str, arguments: dict[str, Any], meta: dict[str, Any] | None = None) -> Any:
        await self.send(self.message("tools/call", {"name": tool, "arguments": arguments}, meta))
        return await self.receive()

    async def initialize(self) -> Any:
        answer = await self.request("initialize", INITIALIZE)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def hang_up(self) -> None:
        self._up.close()


@asynccontextmanager
async def connected(server: Server[Any], headers: Mapping[str, str], modern: bool) -> AsyncIterator[Agent]:
    """Serve one agent; the connection must end by itself once the agent has hung up."""
    agent = Agent(server, headers, modern)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(agent.duplex.run)
        if not modern:
            await agent.initialize()
        yield agent
        agent.hang_up()
        nursery.cancel_scope.deadline = trio.current_time() + 10
    assert not nursery.cancel_scope.cancelled_caught
