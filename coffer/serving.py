"""The Trio program: the two doors, what is behind them, and an end in which nothing is lost."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import trio
from hypercorn.config import Config
from hypercorn.trio import serve

from coffer.bootstrap import open_ports
from coffer.domain.errors import CofferError
from coffer.domain.ports import Ports
from coffer.doors import Late, ShieldFinalSend, Switch
from coffer.infrastructure.runtime import Discovery, remove_discovery, rotate_token, token
from coffer.surfaces.rest.guard import Door, Guard

if TYPE_CHECKING:
    from coffer.surfaces.mcp.app import McpApp

GRACE_SECONDS = 3.0
LAST_SECONDS = 10.0
IDLE_SECONDS = 75.0
MAX_MESSAGE = 4 * 1024 * 1024 + 4096

log = logging.getLogger(__name__)


class Daemon:
    """One home being served."""

    def __init__(self, home: str, environ: Mapping[str, str], found: Discovery) -> None:
        self._home = home
        self._environ = environ
        self._found = found
        self._token = token(home)
        self._rest, self._mcp = Late(), Late()
        self._mcp_app: McpApp | None = None
        self._stopping = trio.Event()
        self._started = time.monotonic()

    async def serve(self, private: socket.socket, loopback: socket.socket | None) -> None:
        """Answer on both sockets until a signal comes; everything is written and closed on return.

        A client that doesn't read keeps its connection, and Hypercorn shields it from being cancelled. So
        the ports are closed by what no connection holds up, and then the process ends around the connection.
        """
        closed: list[trio.Event] = []
        async with trio.open_nursery() as nursery:
            await nursery.start(self._heed_signals)
            for door, listener in ((Door.SOCKET, private), (Door.LOOPBACK, loopback)):
                if listener is not None:
                    closed.append(trio.Event())
                    descriptor = listener.detach()
                    await nursery.start(self._listen, door, descriptor, closed[-1])
                    os.set_inheritable(descriptor, False)  # Hypercorn has made it so, for worker processes
            async with open_ports(self._home, self._environ) as ports, trio.open_nursery() as rooms:
                rooms.start_soon(self._open_rest, ports)
                rooms.start_soon(self._open_mcp, ports, rooms)
                try:
                    await self._stopping.wait()
                finally:
                    _end_within(LAST_SECONDS)
                remove_discovery(self._home)  # whoever calls from now on is to start the next daemon
                if self._mcp_app is not None:
                    self._mcp_app.stop()
                with trio.move_on_after(GRACE_SECONDS + 1):
                    for event in closed:
                        await event.wait()
                rooms.cancel_scope.cancel()
            if not all(event.is_set() for event in closed):
                os._exit(0)
            nursery.cancel_scope.cancel()

    async def _heed_signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as received:
            task_status.started()
            async for _ in received:
                self._stopping.set()

    async def _listen(
        self,
        door: Door,
        descriptor: int,
        closed: trio.Event,
        *,
        task_status: trio.TaskStatus[list[str]],
    ) -> None:
        app = Guard(Switch(self._rest, self._mcp), door, lambda: self._token, lambda: self._found.port)
        config = Config()
        config.bind = [f"fd://{descriptor}"]
        config.graceful_timeout = GRACE_SECONDS
        config.keep_alive_timeout = IDLE_SECONDS
        config.websocket_max_message_size = MAX_MESSAGE
        config.include_server_header = False
        config.errorlog = logging.getLogger("hypercorn.error")
        served: Any = ShieldFinalSend(app)
        await serve(
            served, config, shutdown_trigger=self._stopping.wait, task_status=task_status, mode="asgi"
        )
        closed.set()

    async def _open_rest(self, ports: Ports) -> None:
        await self._rest.asked.wait()
        await trio.to_thread.run_sync(_import, "coffer.surfaces.rest.app")
        from coffer.surfaces.rest.app import DaemonFacts, build_app

        facts = DaemonFacts(
            version=self._found.version,
            pid=self._found.pid,
            started=self._started,
            ready=lambda: True,
            rotate_token=self._rotate_token,
        )
        app: Any = build_app(ports, facts)
        self._rest.give(app)

    async def _open_mcp(self, ports: Ports, nursery: trio.Nursery) -> None:
        await self._mcp.asked.wait()
        await trio.to_thread.run_sync(_import, "coffer.surfaces.mcp.app")
        from coffer.surfaces.mcp.app import build_app

        self._mcp_app = build_app(ports, self._found.version)
        await nursery.start(self._mcp_app.run)
        self._mcp.give(self._mcp_app)

    async def _rotate_token(self) -> None:
        self._token = await trio.to_thread.run_sync(rotate_token, self._home)


def run(
    home: str,
    environ: Mapping[str, str],
    found: Discovery,
    private: socket.socket,
    loopback: socket.socket | None,
) -> int:
    """Serve until a signal ends it; return the exit status of the process."""
    status = 0
    try:
        trio.run(Daemon(home, environ, found).serve, private, loopback)
    except* CofferError as refusals:
        for refusal in refusals.exceptions:
            log.error("%s", refusal)
        status = 1
    return status


def _import(name: str) -> None:
    """Import a module while the loop goes on. Collecting garbage meanwhile finds nothing and takes a tenth."""
    gc.disable()
    import_module(name)
    gc.freeze()  # it stays, and needn't be looked at again
    gc.enable()


def _end_within(seconds: float) -> None:
    """End the process by then, whatever holds it up; what was acknowledged is on disk in any case."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()
