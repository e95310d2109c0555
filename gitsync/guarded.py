"""Run a program that can hang, flood or be sent anything, and that never outlives this process.

It runs in a process group of its own below a shell that watches a pipe. Only this process holds the other end, so
however it ends, the kernel closes the pipe and the watch kills the group.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import Any

from gitsync.errors import RemoteFailed

_TICK = 0.05
_KEPT = 16 * 1024
# Counts what a process may write to, unlike the address space, of which some credential helpers reserve a lot.
_MEMORY_KIB = 2 * 1024 * 1024
# When the program is done, what it left behind is ended: by a signal that the shell itself then ignores.
_SHELL = """
ulimit -d "$1" 2>/dev/null
from=$2
shift 2
exec 3<&0 </dev/null
(read -r _ <&3; kill -s KILL 0) >/dev/null 2>&1 &
"$@" 3<&- <"$from"
status=$?
trap '' TERM
exec >/dev/null 2>&1
kill -s TERM 0
wait
exit $status
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and the last of what it said."""

    status: int
    out: str
    err: str


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    stop: Event,
    check: Callable[[], None] = lambda: None,
    source: str = os.devnull,
) -> Ended:
    """Run a program with the file `source` as its input until it ends, and return what it said.

    `check` is called many times a second. What it raises, `stop` and the deadline kill the program at once with
    all that it has started; the latter two raise RemoteFailed.
    """
    deadline = time.monotonic() + seconds
    process = subprocess.Popen(
        ["/bin/sh", "-c", _SHELL, "sh", str(_MEMORY_KIB), source, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        cwd="/",
        start_new_session=True,
    )
    with process, selectors.DefaultSelector() as selector:
        assert process.stdout and process.stderr
        said = {stream: bytearray() for stream in (process.stdout, process.stderr)}
        for stream in said:
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ)
        try:
            while process.poll() is None:
                if stop.is_set():
                    raise RemoteFailed("Sync was stopped.", "stopped")
                if time.monotonic() > deadline:
                    raise RemoteFailed(f"The remote didn't finish within {seconds:g} seconds.", "timeout")
                check()
                if selector.get_map():
                    for key, _ in selector.select(_TICK):
                        _read(selector, key.fileobj, said)
                else:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_TICK)
            # Only what is there by now: what went its own way may hold the streams open, and go on writing.
            for stream in said:
                _read(selector, stream, said)
        except BaseException:
            if process.returncode is None:  # until it is waited for, its number is nobody else's
                os.killpg(process.pid, signal.SIGKILL)
            raise
    out, err = (text.decode("utf-8", "replace") for text in said.values())
    return Ended(process.returncode, out, err)


def _read(selector: selectors.BaseSelector, stream: Any, said: dict[Any, bytearray]) -> None:
    with suppress(BlockingIOError):
        if data := os.read(stream.fileno(), 1 << 20):
            said[stream] += data
            del said[stream][:-_KEPT]
        elif stream in selector.get_map():
            selector.unregister(stream)
