"""The ASGI application of MCP: streamable HTTP at `/mcp`, and the shim's websocket at `/mcp-stdio`.

Whoever gets here has passed the guard. Both ways serve both protocol eras; what an HTTP client of the
handshake era began is forgotten when it has been idle for half an hour, and it begins again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

import trio
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from coffer.domain.ports import Ports
from coffer.surfaces.mcp.caller import SESSION_HEADER
from coffer.surfaces.mcp.duplex import Duplex
from coffer.surfaces.mcp.server import build_server

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_LAST_ANSWERS_SECONDS = 2.0
_GOING_AWAY = 1001


def build_app(ports: Ports, version: str) -> McpApp:
    """Return the application; it does nothing until it runs and is served."""
    return McpApp(build_server(ports, version), ports.clock.new_id)


class McpApp:
    """`run` has to be running while requests are let in; `stop` ends what would stay open for ever."""

    def __init__(self, server: Server[Any], new_id: Callable[[], str]) -> None:
        self._server = server
        self._new_id = new_id
        self._manager = StreamableHTTPSessionManager(server)
        self._stopping = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep the sessions of HTTP clients until cancelled."""
        async with self._manager.run():
            task_status.started()
            await trio.sleep_forever()

    def stop(self) -> None:
        """End event streams now, and websockets as soon as their last requests are answered."""
        self._stopping.set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._serve_websocket(scope, receive, send)
        elif scope["method"] == "GET":
            await self._serve_stream(scope, receive, send)
        else:
            await self._manager.handle_request(scope, receive, send)

    async def _serve_stream(self, scope: Message, receive: Receive, send: Send) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._cancel_when_stopping, nursery.cancel_scope)
            await self._manager.handle_request(scope, receive, send)
            nursery.cancel_scope.cancel()
        if self._stopping.is_set():
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _serve_websocket(self, scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        headers[SESSION_HEADER] = self._new_id()
        duplex = Duplex(self._server, partial(_next_text, receive), partial(_send_text, send), headers)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._cancel_when_stopping, nursery.cancel_scope, duplex)
            await duplex.run()
            nursery.cancel_scope.cancel()
        if self._stopping.is_set():
            await send({"type": "websocket.close", "code": _GOING_AWAY})

    async def _cancel_when_stopping(self, scope: trio.CancelScope, duplex: Duplex | None = None) -> None:
        await self._stopping.wait()
        if duplex is not None:
            with trio.move_on_after(_LAST_ANSWERS_SECONDS):
                await duplex.settled()
        scope.cancel()


async def _next_text(receive: Receive) -> str | None:
    message = await receive()
    if message["type"] != "websocket.receive":
        return None
    text: str | None = message.get("text")
    return text if text is not None else message["bytes"].decode("utf-8", "replace")


async def _send_text(send: Send, text: str) -> None:
    await send({"type": "websocket.send", "text": text})
