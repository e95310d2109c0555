"""A scratch Coffer home with the installed commands, and a client that speaks through the real shim."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import corpus

BIN = Path(sys.executable).parent
SHIM = str(BIN / "coffer-mcp-shim")
COFFER = str(BIN / "coffer")


class Home:
    """One COFFER_HOME. Nothing of the user's is read or written."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.user = root / "user"
        self.user.mkdir(parents=True)
        self.path = self.user / ".coffer"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user),
            "COFFER_HOME": str(self.path),
            "COFFER_PORT": "off",
            "LANG": "C.UTF-8",
        }

    @property
    def memory(self) -> Path:
        return self.path / "memory"

    @property
    def inbox(self) -> Path:
        return self.memory / "global" / "knowledge" / "inbox"

    def fill(self, size: int) -> None:
        """Put `size` notes into the global store by hand and commit them, as a synced memory arrives."""
        self.coffer("memory", "add", "global", "The first note creates the store.")
        self.coffer("daemon", "stop")
        corpus.write(self.inbox, size)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "fill")
        self.git("gc", "-q")  # as a clone arrives

    def git(self, *words: str) -> None:
        identity = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]
        subprocess.run(["git", "-C", str(self.memory), *identity, *words], env=self.environ, check=True)

    def coffer(self, *words: str) -> str:
        done = subprocess.run(
            [COFFER, *words], env=self.environ, capture_output=True, text=True, check=False, cwd=self.user
        )
        if done.returncode:
            raise RuntimeError(f"coffer {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def daemon_pid(self) -> int:
        return int(json.loads((self.path / "daemon.json").read_text())["pid"])

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connected agent; the daemon is started when it isn't running."""
        session = Session(self)
        try:
            yield session
        finally:
            session.close()


class Session:
    """An agent on the other end of the shim's pipes, speaking the 2025 revision of MCP."""

    def __init__(self, home: Home) -> None:
        self._process = subprocess.Popen(
            [SHIM, "--agent", "bench"],
            env=home.environ,
            cwd=home.user,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.pid = self._process.pid
        self._last = 0
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        self._answer(self._send("initialize", hello))
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured answer."""
        return self._result(self._answer(self._send("tools/call", {"name": tool, "arguments": arguments})))

    def call_at_once(self, tool: str, every: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send all calls, then collect all answers."""
        wanted = [self._send("tools/call", {"name": tool, "arguments": one}) for one in every]
        found: dict[int, dict[str, Any]] = {}
        while len(found) < len(wanted):
            message = self._read()
            if message.get("id") in wanted:
                found[message["id"]] = message
        return [self._result(found[number]) for number in wanted]

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)

    def _send(self, method: str, params: dict[str, Any]) -> int:
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return self._last

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the shim ended")
        message: dict[str, Any] = json.loads(line)
        return message

    def _answer(self, number: int) -> dict[str, Any]:
        while (message := self._read()).get("id") != number:
            pass
        return message

    @staticmethod
    def _result(message: dict[str, Any]) -> dict[str, Any]:
        if "error" in message or message["result"].get("isError"):
            raise RuntimeError(str(message.get("error") or message["result"]))
        answer: dict[str, Any] = message["result"]["structuredContent"]
        return answer


def milliseconds(work: Any) -> float:
    """Return how long `work()` takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000
