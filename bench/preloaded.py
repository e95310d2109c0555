"""Daemons within a tenth of a second: a process that has imported everything forks one whenever it is asked.

Each is a process of its own that runs `coffer.daemon.main` from its first line to its end. Only the second that
importing takes is saved, which is most of what a thousand restarts would cost.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = ("coffer.serving", "coffer.log", "coffer.surfaces.rest.app", "coffer.surfaces.mcp.app")


class Process:
    """A process that somebody else may be the parent of."""

    def __init__(self, pid: int, child: subprocess.Popen[bytes] | None = None) -> None:
        self.pid = pid
        self._child = child
        self._handle: int | None = None
        with suppress(ProcessLookupError):  # it is gone already
            self._handle = os.pidfd_open(pid)

    def send(self, number: int) -> None:
        """Send a signal; fine when the process is gone."""
        if self._handle is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def wait(self, seconds: float) -> bool:
        """Tell whether the process ended within that time."""
        if self._handle is not None:
            ended = select.poll()
            ended.register(self._handle, select.POLLIN)
            if not ended.poll(seconds * 1000):
                return False
            os.close(self._handle)
            self._handle = None
        if self._child is not None:
            self._child.wait()
        return True

    def kill(self) -> None:
        """End it at once, and return when it has."""
        self.send(signal.SIGKILL)
        if not self.wait(30):
            raise TimeoutError(f"process {self.pid} survives SIGKILL")


class Preloaded:
    """The process that forks; to be closed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "bench.preloaded"],
            env={**os.environ, "PYTHONPATH": ROOT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def start(self, environ: Mapping[str, str], log: str) -> Process:
        """Fork a daemon in this environment; what it prints goes to the end of `log`."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([dict(environ), log]).encode() + b"\n")
        self._process.stdin.flush()
        return Process(int(self._process.stdout.readline()))

    def close(self) -> None:
        """End it; the daemons live on."""
        self._process.communicate()


def main() -> None:
    """Fork a daemon for each line of stdin and answer with its pid."""
    from importlib import import_module

    for name in _LIBRARIES:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    for line in iter(sys.stdin.buffer.readline, b""):
        environ, log = json.loads(line)
        child = os.fork()
        if not child:
            os._exit(_become_daemon(environ, log))
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


def _become_daemon(environ: Mapping[str, str], log: str) -> int:
    from coffer import daemon

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for target, source in ((0, nothing), (1, written), (2, written)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(environ)
    status = 70
    try:
        status = daemon.main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    main()
