"""The daemon's process: one for each home, listening within milliseconds of its start.

The order matters. The lock comes first, because whoever holds it owns the socket. The sockets come next, so
that callers queue in the kernel while the libraries behind the answers are still being imported (most of a
second). Everything else is `coffer.serving`. At the end the address is withdrawn before the lock is.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType

from coffer.discovery import DaemonUnavailable, coffer_home, socket_path
from coffer.infrastructure.runtime import (
    AlreadyRunning,
    CannotStart,
    DaemonLock,
    Discovery,
    free_port,
    prepare_home,
    remove_discovery,
    token,
    write_discovery,
)

BACKLOG = 512


def main() -> int:
    """Run the daemon until it is told to end; return the process's exit status."""
    gc.set_threshold(10_000, 50, 100)  # importing makes much and drops little of it
    os.umask(0o077)
    try:
        home = coffer_home(os.environ)
        prepare_home(home)
        lock = DaemonLock(home)
    except AlreadyRunning as other:
        sys.stdout.write(f"{other}\n")
        return 0
    except (CannotStart, DaemonUnavailable, OSError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _leave)  # until the Trio program heeds them
        return _run(home, os.environ)
    finally:
        remove_discovery(home)
        lock.release()


def _run(home: str, environ: Mapping[str, str]) -> int:
    _keep_descriptors_from_children()
    try:
        private = _private_listener(socket_path(home))
        loopback = _loopback_listener(environ.get("COFFER_PORT"))
        secret = token(home)
        found = _publish(home, loopback)
    except (CannotStart, OSError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    from coffer.log import start_log

    start_log()
    from coffer import serving  # imported while callers may connect already

    return serving.run(home, environ, found, secret, private, loopback)


def _private_listener(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def _loopback_listener(setting: str | None) -> socket.socket | None:
    while (port := free_port(setting)) is not None:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(BACKLOG)
            return listener
        except OSError:  # taken since it was looked at
            listener.close()
    return None


def _publish(home: str, loopback: socket.socket | None) -> Discovery:
    from coffer.infrastructure.clock import SystemClock

    port = loopback.getsockname()[1] if loopback else None
    found = Discovery(_version(), os.getpid(), port, socket_path(home), SystemClock().now())
    write_discovery(home, found)
    return found


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("coffer")
    except metadata.PackageNotFoundError:
        return "unreleased"


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _keep_descriptors_from_children() -> None:
    """Whoever started this process left it the lock on `start.lock`, which must end with it."""
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            with suppress(OSError):  # the one that listed them is gone
                os.set_inheritable(int(name), False)


if __name__ == "__main__":
    sys.exit(main())
