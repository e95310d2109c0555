"""Find the daemon of a Coffer home, start it once, and ask it something.

The command line, the agents' shim and the hooks begin here, so this module is on the way to every answer:
the standard library alone, and the costly parts of it only on the paths that need them.
"""

from __future__ import annotations

import os
import sys
import time

try:
    import _socket as socket  # the C module: `socket` builds enums for several milliseconds
except ImportError:
    import socket  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from subprocess import Popen

_LONGEST_ADDRESS = 103  # bytes; macOS has room for 104 with the closing zero, Linux for 108
_LONGEST_LINE, _PAUSE = 65536, 0.005


class DaemonUnavailable(Exception):
    """The daemon can't be reached; the sentence says what to do and names the log."""


def coffer_home(environ: Mapping[str, str]) -> str:
    """Return the absolute path of Coffer's home: `$COFFER_HOME`, else `~/.coffer`.

    A leading `~` is honoured, because settings files of agents know no shell that would expand it.
    """
    home = os.path.expanduser(environ.get("COFFER_HOME") or "~/.coffer")
    if home.startswith("~"):
        raise DaemonUnavailable(f"There is no home folder for {home}; set COFFER_HOME to an absolute path.")
    return os.path.abspath(home)


def log_path(home: str) -> str:
    """Return the file that holds what the daemon has to say."""
    return os.path.join(home, "logs", "daemon.log")


def socket_path(home: str) -> str:
    """Return the daemon's address: a file in the home, or a short one elsewhere when that would be too long.

    The short one lies in a folder of this user alone, and is named by a hash of the home, so that the daemon
    and its clients come to the same path without asking each other.
    """
    path = os.path.join(home, "daemon.sock")
    if len(os.fsencode(path)) > _LONGEST_ADDRESS:
        import hashlib

        name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16] + ".sock"
        path = os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), "coffer", name)
        if not os.path.isabs(path) or len(os.fsencode(path)) > _LONGEST_ADDRESS:
            path = f"/tmp/coffer-{os.getuid()}/{name}"
    return path


def connect(home: str, timeout: float) -> socket.socket:
    """Connect to the daemon. OSError when none listens, TimeoutError when it leaves its callers waiting."""
    path = socket_path(home)
    if os.path.dirname(path) != home:
        # The daemon's session may have had another runtime folder; its own word is in the home.
        path = _named_socket(home) or path
        folder = os.lstat(os.path.dirname(path))
        if folder.st_uid != os.getuid() or folder.st_mode & 0o170077 != 0o040000:
            raise PermissionError(f"{os.path.dirname(path)} must be a folder that belongs to you alone")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(timeout)
    deadline = time.monotonic() + timeout
    while True:
        try:
            sock.connect(path)
            return sock
        except BlockingIOError:  # on Linux, when as many callers wait as the daemon's backlog holds
            if time.monotonic() > deadline:
                sock.close()
                raise TimeoutError(f"{path} accepts no more callers") from None
            time.sleep(_PAUSE)
        except OSError:
            sock.close()
            raise


def _named_socket(home: str) -> str:
    import json

    try:
        with open(os.path.join(home, "daemon.json"), "rb") as file:
            return str(json.load(file)["socket"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def start_daemon(
    home: str, environ: Mapping[str, str], command: Sequence[str] | None = None
) -> Popen[bytes] | None:
    """Start a daemon that outlives this process, unless a started one is alive; wait for nothing.

    The daemon inherits the lock on `start.lock`, so that it is held exactly while a started daemon lives: any
    number of starters make one, and a dead one is in nobody's way. Return the new process, None when the
    lock is held. OSError when the home can't be written.
    """
    import fcntl
    from subprocess import DEVNULL, Popen

    def private(path: str, flags: int) -> int:
        return os.open(path, flags, 0o600)

    for folder in (home, os.path.join(home, "logs")):
        os.makedirs(folder, 0o700, exist_ok=True)
    with (
        open(os.path.join(home, "start.lock"), "ab", opener=private) as lock,
        open(log_path(home), "ab", opener=private) as log,
    ):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        return Popen(
            command or (sys.executable, "-P", "-m", "coffer.daemon"),
            cwd="/",
            env=_daemon_environment(home, environ),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=log,
            pass_fds=(lock.fileno(),),
            start_new_session=True,
        )


def _daemon_environment(home: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment without the import path of the project that it happens to work in."""
    env = {**environ, "COFFER_HOME": home}
    env.pop("PYTHONPATH", None)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.basename(root) not in ("site-packages", "dist-packages"):
        env["PYTHONPATH"] = root  # run from a checkout
    return env


def ensure_daemon(
    home: str, environ: Mapping[str, str], timeout: float = 20.0, command: Sequence[str] | None = None
) -> None:
    """Return once the daemon accepts connections, after starting it when there is none.

    Any number of processes may call this at once; one daemon comes of it. DaemonUnavailable, with the last
    lines of the log, when it fails at its start or hasn't come up in time.
    """
    begun = next_start = time.monotonic()
    process: Popen[bytes] | None = None
    while True:
        try:
            return connect(home, 2.0).close()
        except TimeoutError:
            raise silence(home) from None
        except OSError:
            now = time.monotonic()
        if process is not None and process.poll() is not None:
            if process.returncode:
                raise DaemonUnavailable(f"Coffer's daemon failed at its start; {_log_tail(home)}")
            process, next_start = None, now + 0.5  # another one is in charge, and about to listen or to end
        if now - begun > timeout:
            raise DaemonUnavailable(f"Coffer's daemon didn't come up in {timeout:g} s; {_log_tail(home)}")
        if process is None and now >= next_start:
            try:
                process = start_daemon(home, environ, command)
            except OSError as problem:
                raise DaemonUnavailable(
                    f"Coffer's daemon can't be started ({problem}); its log is {log_path(home)}."
                ) from None
        time.sleep(_PAUSE if now - begun < 2 else 10 * _PAUSE)


def _log_tail(home: str) -> str:
    try:
        with open(log_path(home), "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - 2048))
            lines = log.read().decode("utf-8", "replace").split("\n")
    except OSError:
        lines = []
    last = " / ".join([line.strip() for line in lines if line.strip()][-3:])
    return f"see {log_path(home)}" + (f", which ends: {last}" if last else ".")


def silence(home: str, stopped: bool = False) -> DaemonUnavailable:
    """Return the error for a daemon that is there and says nothing."""
    how = "is stopped, as by SIGSTOP" if stopped else "runs but doesn't answer"
    return DaemonUnavailable(
        f"Coffer's daemon {how}; continue or end its process ({home}/daemon.json has the pid), "
        f"its log is {log_path(home)}."
    )


def is_stopped(sock: socket.socket) -> bool:
    """Tell whether the process at the other end has been stopped by a signal; False where nobody can tell."""
    try:
        pid = int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4), sys.byteorder)
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b") ")[2][:1] in (b"T", b"t")
    except (OSError, AttributeError):
        return False


def receive(sock: socket.socket, home: str, deadline: float) -> bytes:
    """Return what the daemon sends next; ConnectionError when it hung up.

    DaemonUnavailable when the deadline (of the monotonic clock) passes, or after a second of silence when
    the daemon's process turns out to be stopped.
    """
    while (left := deadline - time.monotonic()) > 0:
        sock.settimeout(min(left, 1.0))
        try:
            if data := sock.recv(65536):
                return data
            raise ConnectionError("it hung up")
        except TimeoutError:
            if is_stopped(sock):
                raise silence(home, stopped=True) from None
    raise silence(home)


def request(
    home: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = 30.0,
) -> tuple[int, dict[str, str], bytes]:
    """Ask the daemon over HTTP/1.1; return status, headers (names in lower case) and body.

    The end of an answer is known by its length or its chunks, never by the end of the connection.
    DaemonUnavailable when there is no daemon, no answer in `timeout` seconds, or no sense in the answer.
    """
    fields = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(body or b""))}
    lines = [f"{name}: {value}\r\n" for name, value in (fields | (headers or {})).items()]
    head = f"{method} {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode("latin-1")
    deadline = time.monotonic() + timeout
    try:
        sock = connect(home, timeout)
    except TimeoutError:
        raise silence(home) from None
    except OSError as problem:
        raise DaemonUnavailable(
            f"Coffer's daemon isn't running ({problem}); start it with `coffer daemon start`."
        ) from None
    try:
        try:
            sock.sendall(head + (body or b""))
        except TimeoutError:
            raise silence(home, is_stopped(sock)) from None
        except OSError:
            pass  # a daemon may answer and hang up before it has read a body that is too large for it
        return _answer(sock, home, deadline)
    except (OSError, ValueError) as problem:
        raise DaemonUnavailable(
            f"Coffer's daemon gave no proper answer ({problem}); its log is {log_path(home)}."
        ) from None
    finally:
        sock.close()


def _answer(sock: socket.socket, home: str, deadline: float) -> tuple[int, dict[str, str], bytes]:
    buffer = bytearray()

    def take(size: int) -> bytes:
        while len(buffer) < size:
            buffer.extend(receive(sock, home, deadline))
        data = bytes(buffer[:size])
        del buffer[:size]
        return data

    def line() -> str:
        while (end := buffer.find(b"\r\n")) < 0:
            if len(buffer) > _LONGEST_LINE:
                raise ValueError("a line without end")
            buffer.extend(receive(sock, home, deadline))
        return take(end + 2)[:end].decode("latin-1")

    version, _, status = line().partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("it isn't HTTP")
    headers: dict[str, str] = {}
    while field := line():
        name, _, value = field.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return int(status[:3]), headers, take(int(headers.get("content-length", "0")))
    body = bytearray()
    while size := int(line().partition(";")[0], 16):
        body += take(size + 2)[:size]
    while line():
        pass
    return int(status[:3]), headers, bytes(body)
