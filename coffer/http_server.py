"""Hypercorn's connections on one listening socket, each kept from harming the others.

`hypercorn.trio.serve` runs all connections in one nursery, so what a single one raises ends the server: a
websocket client that sends before it has been accepted is enough. And it can't end a connection whose client
doesn't read, since it shields what is being sent. So the accepting and the ending are done here, and Hypercorn's
own object serves each connection.
"""

from __future__ import annotations

import logging
import socket
from typing import Any

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from coffer.surfaces.rest.guard import Asgi, Message, Receive, Send

IDLE_SECONDS = 75.0
GONE_SECONDS = 2.0
MAX_MESSAGE = 4 * 1024 * 1024 + 4096

log = logging.getLogger(__name__)


class HttpServer:
    """Serves `app` to whoever connects to `listener`, until it is stopped."""

    def __init__(self, app: Asgi, listener: socket.socket) -> None:
        self._listener = listener
        self._app = app
        self._config = Config()
        self._config.keep_alive_timeout = IDLE_SECONDS
        self._config.websocket_max_message_size = MAX_MESSAGE
        self._config.include_server_header = False
        self._config.errorlog = logging.getLogger("hypercorn.error")
        self._context = WorkerContext(None)
        self._accepting = trio.CancelScope()
        self._streams: set[trio.SocketStream] = set()
        self._left = trio.Event()

    async def run(self) -> None:
        """Serve until nobody is accepted any more and the last connection has ended."""
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(self._listener))
        async with trio.open_nursery() as connections:
            with self._accepting:
                await trio.serve_listeners(self._serve_one, [listener], handler_nursery=connections)

    async def stop(self, grace: float) -> None:
        """Accept nobody any more, let requests finish for `grace` seconds, then end every connection."""
        self._accepting.cancel()
        await self._context.terminated.set()
        with trio.move_on_after(grace):
            while self._streams:
                self._left = trio.Event()
                await self._left.wait()
        for stream in self._streams:
            stream.socket.close()

    async def _serve_one(self, stream: trio.SocketStream) -> None:
        connection = trio.CancelScope()

        async def app(scope: Message, receive: Receive, send: Send) -> None:
            try:
                await self._app(scope, receive, send)
            finally:
                if scope["type"] == "websocket":
                    connection.cancel()  # it carried nothing else

        wrapped: Any = ASGIWrapper(app)  # type: ignore[arg-type]
        watched: Any = _Watched(stream, connection)
        self._streams.add(stream)
        try:
            with connection:
                await TCPServer(wrapped, self._config, self._context, ConnectionState({}), watched).run()
        except* Exception:
            log.warning("a connection was broken off", exc_info=True)
        finally:
            self._streams.discard(stream)
            self._left.set()
            stream.socket.close()


class _Watched:
    """A stream that, when its client has gone, sees to it that the rest of the connection goes too.

    Hypercorn tells the application so, but not in every state that a client can bring it into.
    """

    def __init__(self, stream: trio.SocketStream, connection: trio.CancelScope) -> None:
        self._stream = stream
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def receive_some(self, limit: int) -> bytes:
        data = b""
        try:
            data = bytes(await self._stream.receive_some(limit))
        finally:
            if not data:
                self._connection.deadline = trio.current_time() + GONE_SECONDS
        return data
