"""The real daemon in a process and a home of its own: start it, ask it, end it, kill it."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coffer.discovery import connect

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-P", "-m", "coffer.daemon")
PATIENCE = 60.0


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return what a daemon of this home is started with: nothing of the user's own, and no TCP unless asked for."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": str(ROOT),
        "COFFER_HOME": str(home),
        "COFFER_PORT": "off",
        **more,
    }


@dataclass
class DaemonProcess:
    """A daemon that was started; `stop` and `kill` may be called any number of times."""

    home: Path
    process: subprocess.Popen[bytes]
    errors: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def discovery(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home / "daemon.json").read_bytes())
        return found

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()

    @property
    def log(self) -> str:
        return self.errors.read_text()

    def wait_until_it_accepts(self) -> None:
        """Return once its socket accepts and it has said where it is; fail when the process has ended instead."""
        for _ in range(int(PATIENCE / 0.01)):
            try:
                connect(str(self.home), PATIENCE).close()
                if self.discovery["pid"] == self.pid:
                    return
            except OSError:
                pass
            if self.ended_within(0.01):
                break
        raise AssertionError(f"the daemon didn't come up: {self.log}")

    def ended_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def connect(self) -> socket.socket:
        """Return a connection to its socket that waits as long as is reasonable anywhere."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(PATIENCE)
        connection.connect(str(self.home / "daemon.sock"))
        return connection

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Send one request to `/api/v1` over the socket; return status and JSON."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = self.connect()
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        return response.status, json.loads(data) if data else None

    def remember(self, text: str, store: str = "global") -> dict[str, Any]:
        """Add a fact as the user; it is on disk when this returns."""
        status, fact = self.ask("POST", f"/memory_stores/{store}/facts", {"text": text})
        assert status in (200, 201), fact
        return fact

    def recall(self, query: str, store: str = "global") -> list[str]:
        """Return the texts that a recall finds."""
        status, found = self.ask("POST", f"/memory_stores/{store}/recall", {"query": query})
        assert status == 200, found
        return [hit["text"] for hit in found["hits"]]

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """End it in order; return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(by)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(PATIENCE)


def spawn(home: Path, **environ: str) -> DaemonProcess:
    """Start a daemon without waiting for it; the caller ends it."""
    errors = home.parent / f"{home.name}.stderr"
    with errors.open("ab") as stderr:
        process = subprocess.Popen(
            COMMAND,
            env=environment(home, **environ),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
    return DaemonProcess(home, process, errors)


@contextmanager
def running_daemon(home: Path, **environ: str) -> Iterator[DaemonProcess]:
    """Have a daemon that accepts connections; it is ended on leaving, and must have ended well."""
    daemon = spawn(home, **environ)
    try:
        daemon.wait_until_it_accepts()
        yield daemon
        killed = daemon.process.poll() == -signal.SIGKILL
        assert killed or daemon.stop() == 0, daemon.log
    finally:
        daemon.kill()
        assert daemon.process.stdout is not None
        daemon.process.stdout.close()


def waits_for_data(connection: socket.socket) -> bool:
    """Tell whether nothing has come over a connection so far."""
    return not select.select([connection], [], [], 0)[0]
