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

from coffer.application.combine import consolidate
from coffer.application.spool import drain
from coffer.application.sync import Synchroniser
from coffer.bootstrap import open_ports
from coffer.domain.errors import CofferError
from coffer.domain.ports import Ports
from coffer.doors import Late, ShieldFinalSend, Switch
from coffer.http_server import HttpServer
from coffer.infrastructure.runtime import Discovery, remove_discovery, rotate_token
from coffer.infrastructure.spool import take
from coffer.surfaces.git_http import GitApp
from coffer.surfaces.rest.guard import Door, Guard

if TYPE_CHECKING:
    from coffer.surfaces.mcp.app import McpApp

GRACE_SECONDS = 3.0
LAST_SECONDS = 12.0
AGAIN_SECONDS = 60.0

log = logging.getLogger(__name__)


class Daemon:
    """One home being served."""

    def __init__(self, home: str, environ: Mapping[str, str], found: Discovery, secret: str) -> None:
        self._home = home
        self._environ = environ
        self._found = found
        self._token = secret
        self._rest, self._mcp, self._git = Late(), Late(), Late()
        self._mcp_app: McpApp | None = None
        self._stopping = trio.Event()
        self._started = time.monotonic()

    async def serve(self, private: socket.socket, loopback: socket.socket | None) -> None:
        """Answer on both sockets until a signal comes; everything is written and closed on return."""
        listeners = {Door.SOCKET: private, Door.LOOPBACK: loopback}
        servers = [self._server(door, each) for door, each in listeners.items() if each is not None]
        async with trio.open_nursery() as nursery:
            await nursery.start(self._heed_signals)
            for server in servers:
                nursery.start_soon(server.run)
            async with open_ports(self._home, self._environ) as ports, trio.open_nursery() as rooms:
                sync = Synchroniser(ports)
                rooms.start_soon(_keep_syncing, sync)
                rooms.start_soon(self._open_rest, ports, sync)
                rooms.start_soon(self._open_mcp, ports, rooms)
                self._git.give(GitApp(ports))
                rooms.start_soon(self._drain, ports)
                rooms.start_soon(_consolidate, ports)
                try:
                    await self._stopping.wait()
                finally:
                    _end_within(LAST_SECONDS)
                remove_discovery(self._home)  # whoever calls from now on is to start the next daemon
                async with trio.open_nursery() as ending:
                    for server in servers:
                        ending.start_soon(server.stop, GRACE_SECONDS)
                    if self._mcp_app is not None:
                        self._mcp_app.stop()
                rooms.cancel_scope.cancel()
            nursery.cancel_scope.cancel()

    def _server(self, door: Door, listener: socket.socket) -> HttpServer:
        app = Guard(
            Switch(self._rest, self._mcp, self._git), door, lambda: self._token, lambda: self._found.port
        )
        return HttpServer(ShieldFinalSend(app), listener)

    async def _heed_signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as received:
            task_status.started()
            async for _ in received:
                self._stopping.set()

    async def _open_rest(self, ports: Ports, sync: Synchroniser) -> None:
        await self._rest.asked.wait()
        await trio.to_thread.run_sync(_import, "coffer.surfaces.rest.app")
        from coffer.surfaces.rest.app import DaemonFacts, build_app

        facts = DaemonFacts(
            version=self._found.version,
            pid=self._found.pid,
            started=self._started,
            ready=lambda: True,
            rotate_token=self._rotate_token,
            sync=sync,
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

    async def _drain(self, ports: Ports) -> None:
        await drain(ports, await trio.to_thread.run_sync(lambda: list(take(self._home))))

    async def _rotate_token(self) -> None:
        self._token = await trio.to_thread.run_sync(rotate_token, self._home)


def run(
    home: str,
    environ: Mapping[str, str],
    found: Discovery,
    secret: str,
    private: socket.socket,
    loopback: socket.socket | None,
) -> int:
    """Serve until a signal ends it; return the exit status of the process."""
    status = 0
    try:
        trio.run(Daemon(home, environ, found, secret).serve, private, loopback)
    except* CofferError as refusals:
        for refusal in refusals.exceptions:
            log.error("%s", refusal)
        status = 1
    return status


async def _keep_syncing(sync: Synchroniser) -> None:
    """Run sync for as long as the daemon lives: a fault of it mustn't end what else is served."""
    while True:
        try:
            await sync.run()
        except Exception:
            log.exception("sync was broken off")
            await trio.sleep(AGAIN_SECONDS)


async def _consolidate(ports: Ports) -> None:
    """Put stores in order that an earlier life or another machine has left; it can wait, and may fail."""
    try:
        await consolidate(ports)
    except Exception:
        log.exception("stores weren't consolidated")


def _import(name: str) -> None:
    import_module(name)
    gc.freeze()  # what is there now stays, and needn't be looked at again


def _end_within(seconds: float) -> None:
    """End the process by then, whatever holds it up; what was acknowledged is on disk in any case."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()
