"""Ask the daemon what to tell an agent: the command `coffer-hook --agent NAME --event EVENT`.

Agents run it at the start of a session, at each prompt and at the end, and wait for it. So it prints exactly
what the daemon answers or nothing, ends with status 0 whatever happens, and never takes two seconds. A
daemon that is away is started for the next time, without waiting. Standard library only, and the cheapest
part of it: most of its time is Python's own start.
"""

from __future__ import annotations

import os
import select
import sys
import time

from coffer import discovery

try:
    import _signal as signal  # the C module: `signal` builds enums for several milliseconds
except ImportError:
    import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

_LIMIT = 1.8  # seconds for everything; an agent that counts two must see the end of the process by then
_END_LIMIT = 0.5  # at the end of a session, when agents soon kill what they called
_STDIN_PAUSE = 0.05  # after what may be all of it, for agents that leave the pipe open
_LARGEST_INPUT = 1024 * 1024  # the daemon takes no larger body
_LARGEST_OUTPUT = 60_000  # fits into any pipe, so that it is written whole or not at all
_UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/")


def main() -> NoReturn:
    """Do what the command line says, and end the process with status 0."""
    try:
        signal.signal(signal.SIGALRM, _out_of_time)
        signal.setitimer(signal.ITIMER_REAL, _LIMIT)
        if os.environ.get("COFFER_INTERNAL") != "1":
            words = sys.argv[1:]
            told = dict(zip(words[::2], words[1::2]))
            run(told["--agent"], told["--event"])
    finally:
        os._exit(0)  # nothing raised gets past this, and none of Python's own last work takes time


def run(agent: str, event: str) -> None:
    """Hand what the agent gave on stdin to the daemon, and print what comes back."""
    home = discovery.coffer_home(os.environ)
    ending = event == "SessionEnd"
    limit = _END_LIMIT if ending else _LIMIT
    given = _stdin(limit / 2)
    path = f"/api/v1/agents/{_quoted(os.fsencode(agent))}/hooks/{_quoted(os.fsencode(event))}"
    headers = {"Content-Type": "application/json", **_folder()}
    try:
        status, _, answer = discovery.request(home, "POST", path, given, headers, limit)
    except discovery.DaemonUnavailable:
        if ending:
            _spool(home, agent, given)
        _start(home)
    else:
        if status == 200 and len(answer) <= _LARGEST_OUTPUT:
            os.write(1, answer)


def _stdin(seconds: float) -> bytes:
    """Return what the agent gave, as far as it comes in time; whoever types at a terminal gives nothing."""
    data = bytearray()
    if os.isatty(0):
        return b""
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    end = time.monotonic() + seconds
    while len(data) < _LARGEST_INPUT and (left := end - time.monotonic()) > 0:
        if data[-8:].rstrip().endswith(b"}"):
            left = min(left, _STDIN_PAUSE)
        if not waiting.poll(left * 1000):
            break
        try:
            piece = os.read(0, 65536)
        except OSError:
            break  # it is closed
        if not piece:
            break
        data += piece
    return bytes(data[:_LARGEST_INPUT])


def _folder() -> dict[str, str]:
    """Return the header that names our folder, for agents that don't say theirs."""
    try:
        return {"X-Coffer-Cwd": _quoted(os.getcwdb())}
    except OSError:
        return {}  # it was removed under our feet


def _spool(home: str, agent: str, given: bytes) -> None:
    """Leave the end of a session where the next daemon finds it."""
    folder = os.path.join(home, "spool")
    for each in (home, folder):
        os.makedirs(each, 0o700, exist_ok=True)
    name = f"{time.time_ns()}-{os.getpid()}"
    temporary = os.path.join(folder, f".{name}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(handle, os.fsencode(agent) + b"\n" + given)
    os.close(handle)
    os.rename(temporary, os.path.join(folder, name))


def _start(home: str) -> None:
    """Start a daemon for the next time, unless there is one that only doesn't answer."""
    try:
        discovery.connect(home, 0.1).close()
    except TimeoutError:
        return
    except OSError:
        discovery.start_daemon(home, os.environ)


def _quoted(text: bytes) -> str:
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text)


def _out_of_time(number: int, frame: FrameType | None) -> NoReturn:
    os._exit(0)
