"""One MCP connection over a pair of callables that carry text messages: a websocket, as the shim opens it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import trio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage

Receive = Callable[[], Awaitable[str | None]]
Send = Callable[[str], Awaitable[None]]


@dataclass(slots=True)
class Duplex:
    """One connection: `headers` (lower-case names) count for each of its messages as for an HTTP request."""

    server: Server[Any]
    receive: Receive
    send: Send
    headers: Mapping[str, str]
    _open: set[str | int] = field(default_factory=set)
    _answered: trio.Event = field(default_factory=trio.Event)

    async def run(self) -> None:
        """Serve the connection until the client ends it.

        The SDK holds a connection to the era of its first request. Claude Code has been seen to probe with
        `server/discover` (2026) and then to say `initialize` (2025), so that one begins anew.
        """
        message: types.JSONRPCMessage | None = None
        while True:
            message = await self._run_one_era(message)
            if message is None:
                return

    async def settled(self) -> None:
        """Wait until no request is left without its answer."""
        while self._open:
            self._answered = trio.Event()
            await self._answered.wait()

    async def _run_one_era(self, first: types.JSONRPCMessage | None) -> types.JSONRPCMessage | None:
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        metadata = ServerMessageMetadata(request_context=self)
        restart: types.JSONRPCMessage | None = None

        async def read() -> None:
            nonlocal restart
            modern: bool | None = None
            message = first
            async with to_server:
                while True:
                    message = message or await self._next()
                    if message is None:
                        return
                    if isinstance(message, types.JSONRPCRequest):
                        if modern is None:
                            modern = message.method != "initialize" and _is_modern(message)
                        elif modern and message.method == "initialize":
                            await self.settled()
                            restart = message
                            return
                        self._open.add(message.id)
                    elif isinstance(message, types.JSONRPCNotification):
                        self._note_cancelled(message)
                    await to_server.send(SessionMessage(message, metadata))
                    message = None

        async def write() -> None:
            async with from_server:
                async for sent in from_server:
                    await self.send(sent.message.model_dump_json(by_alias=True, exclude_unset=True))
                    if isinstance(sent.message, types.JSONRPCResponse | types.JSONRPCError):
                        self._settle(sent.message.id)

        async with trio.open_nursery() as nursery:
            reading = trio.CancelScope()

            async def read_until_ended() -> None:
                with reading:
                    await read()

            nursery.start_soon(read_until_ended)
            nursery.start_soon(write)  # ends by itself, so that an answer under way isn't cut off
            await self.server.run(from_client, to_client, self.server.create_initialization_options())
            reading.cancel()
        return restart

    async def _next(self) -> types.JSONRPCMessage | None:
        """Return the next message; None at the end of the connection."""
        while (text := await self.receive()) is not None:
            key = None
            try:
                decoded = json.loads(text)
                key = decoded.get("id") if isinstance(decoded, dict) else None
                return types.jsonrpc_message_adapter.validate_python(decoded, by_name=False)
            except (ValueError, RecursionError):
                if isinstance(key, str | int):
                    await self._refuse(key)
        return None

    async def _refuse(self, key: str | int) -> None:
        error = {"code": types.INVALID_REQUEST, "message": "That isn't a message of MCP."}
        await self.send(json.dumps({"jsonrpc": "2.0", "id": key, "error": error}))

    def _note_cancelled(self, message: types.JSONRPCNotification) -> None:
        if message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))

    def _settle(self, key: object) -> None:
        if isinstance(key, str | int):
            self._open.discard(key)
            self._answered.set()


def _is_modern(message: types.JSONRPCRequest) -> bool:
    meta = (message.params or {}).get("_meta")
    return isinstance(meta, Mapping) and types.PROTOCOL_VERSION_META_KEY in meta
