"""What a running daemon owns on disk: its home, the lock on it, its address, its token and its port.

Locks and sockets of the operating system are met here, and on the clients' side in `coffer.discovery`, only.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import stat
from contextlib import suppress
from dataclasses import asdict, dataclass, fields

from coffer.discovery import socket_path

_PORTS = range(7420, 7430)
_TOKEN_BYTES = 32
_TOKEN_CHARACTERS = 43  # of base 64, without padding


class CannotStart(Exception):
    """A daemon can't run here; the sentence says what to mend."""


class AlreadyRunning(Exception):
    """Another daemon holds the home, which is no failure: the sentence says how to reach it."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """How to reach the running daemon: what `daemon.json` holds. `port` is None without TCP."""

    version: str
    pid: int
    port: int | None
    socket: str
    started_at: str


def prepare_home(home: str) -> None:
    """Make the home and the folders that the daemon needs, each for its owner alone.

    CannotStart when someone else owns one of them or may write in it: whoever can plant a file there speaks
    to every agent.
    """
    for folder in (home, os.path.join(home, "logs"), os.path.dirname(socket_path(home))):
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
            found = os.stat(folder) if folder == home else os.lstat(folder)
        except OSError as problem:
            raise CannotStart(
                f"{folder} can't be made ({problem.strerror}); set COFFER_HOME to another path."
            ) from None
        if not stat.S_ISDIR(found.st_mode):
            raise CannotStart(f"{folder} must be a folder; move what is there.")
        if found.st_uid != os.geteuid():
            raise CannotStart(
                f"{folder} belongs to another user; set COFFER_HOME to a short path of your own."
            )
        if found.st_mode & 0o022:
            raise CannotStart(
                f"{folder} can be written by other users; look what is in it, then chmod 700 it."
            )
        if found.st_mode & 0o077:
            os.chmod(folder, 0o700)


class DaemonLock:
    """Keep the home for this process alone until `release`, or until the process ends in whatever way.

    AlreadyRunning when another daemon has it. Nothing else tells whether a daemon runs, no pid above all.
    """

    def __init__(self, home: str) -> None:
        self._descriptor = os.open(os.path.join(home, "daemon.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            other = read_discovery(home)
            where = f"process {other.pid}, socket {other.socket}" if other else "it is just starting"
            raise AlreadyRunning(f"already running: {where}") from None
        # What a daemon that was killed has left.
        remove_discovery(home)
        for name in os.listdir(home):
            if name.startswith(("daemon.json.", "token.")) and name.endswith(".tmp"):
                os.unlink(os.path.join(home, name))

    def release(self) -> None:
        os.close(self._descriptor)


def write_discovery(home: str, discovery: Discovery) -> None:
    """Publish how to reach this daemon; readers see the old words or the new ones, never half of them."""
    _write_private(os.path.join(home, "daemon.json"), json.dumps(asdict(discovery)) + "\n")


def read_discovery(home: str) -> Discovery | None:
    """Return what the running daemon has published, None when there is nothing that makes sense."""
    try:
        with open(os.path.join(home, "daemon.json"), "rb") as file:
            said = json.load(file)
        return Discovery(**{field.name: said[field.name] for field in fields(Discovery)})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def remove_discovery(home: str) -> None:
    """Withdraw this daemon's address, file and socket. Only the holder of the lock may do so."""
    for path in (os.path.join(home, "daemon.json"), socket_path(home)):
        with suppress(FileNotFoundError):
            os.unlink(path)


def token(home: str) -> str:
    """Return the secret that callers over TCP must know, made at the first start and kept from then on."""
    path = os.path.join(home, "token")
    try:
        with open(path, encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            known = file.read().strip()
    except (FileNotFoundError, UnicodeDecodeError):
        known = ""
    return known if len(known) >= _TOKEN_CHARACTERS else rotate_token(home)


def rotate_token(home: str) -> str:
    """Make a new token in place of the old one, which is worth nothing from now on."""
    new = secrets.token_urlsafe(_TOKEN_BYTES)
    _write_private(os.path.join(home, "token"), new + "\n")
    return new


def free_port(setting: str | None) -> int | None:
    """Return the TCP port to listen on: the first free one of 7420 to 7429, or what COFFER_PORT asks for.

    None for `off`, and when all ten are taken, since the socket serves everything but the browser.
    CannotStart when the port that was asked for is taken, or isn't one.
    """
    if setting == "off":
        return None
    if not setting:
        return next((port for port in _PORTS if _bindable(port)), None)
    if not (setting.isascii() and setting.isdigit() and 0 < int(setting) < 65536):
        raise CannotStart(f"COFFER_PORT is {setting!r}; it must be a port number, or `off`.")
    if not (port := _bindable(int(setting))):
        raise CannotStart(f"Port {setting} is taken; set COFFER_PORT to another number, or to `off`.")
    return port


def _bindable(port: int) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the server will: connections of an earlier daemon that are still dying don't count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
        return port


def _write_private(path: str, text: str) -> None:
    beside = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    os.replace(beside, path)
