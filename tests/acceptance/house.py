"""A home with the real daemon, and the doors that people and agents have to it: shim, REST over TCP, CLI, git."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import mcp
import trio
from mcp import types
from mcp.client.streamable_http import streamable_http_client

ROOT = str(Path(__file__).parents[2])
COFFER = (sys.executable, "-P", "-c", "import sys; from coffer.surfaces.cli import main; sys.exit(main())")
SHIM = (sys.executable, "-P", "-c", "from coffer.surfaces.shim import main; main()")
ERAS = {"2025": "legacy", "2026": "auto"}

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One answer of REST; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def done(self, status: int = 200) -> Any:
        """Return the JSON of an answer that must have this status."""
        assert self.status == status, self.body
        return self.json if self.body else None

    def refusal(self, status: int, code: str) -> Json:
        """Return the error of an answer that must be this one."""
        assert self.status == status, self.body
        error: Json = self.json["error"]
        assert error["code"] == code and error["message"], error
        return error


class Agent:
    """An official MCP client over stdio, through the shim."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        with trio.fail_after(60):
            return await self.client.call_tool(f"coffer__{tool}", arguments)

    async def answer(self, tool: str, **arguments: Any) -> Json:
        """Return the structured answer of a call that must succeed; the text must say the same."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, result.content
        assert result.structured_content is not None
        assert isinstance(result.content[0], types.TextContent)
        assert json.loads(result.content[0].text) == result.structured_content
        structured: Json = result.structured_content
        return structured

    async def refusal(self, tool: str, **arguments: Any) -> Json:
        """Return the error of a call that must be refused; the text must name its code."""
        result = await self.call(tool, **arguments)
        assert result.is_error and result.structured_content is not None, result
        error: Json = result.structured_content["error"]
        assert isinstance(result.content[0], types.TextContent)
        assert result.content[0].text.startswith(f"{error['code']}: ")
        return error

    async def remember(self, text: str, **arguments: Any) -> Json:
        return await self.answer("remember", text=text, **arguments)

    async def recall(self, query: str, **arguments: Any) -> list[Json]:
        hits: list[Json] = (await self.answer("recall", query=query, **arguments))["hits"]
        return hits

    async def texts(self, query: str, **arguments: Any) -> list[str]:
        return [hit["text"] for hit in await self.recall(query, **arguments)]


class House:
    """One Coffer home below `root`, one user with a home folder of their own, and one daemon."""

    command = COFFER

    def __init__(self, root: Path, **environ: str) -> None:
        self.root, self.home, self.user_home = root, root / "coffer", root / "ada"
        self.tree = self.home / "memory"
        self.user_home.mkdir()
        (self.user_home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
        self.port = _free_port()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user_home),
            "LANG": "C.UTF-8",
            "COFFER_HOME": str(self.home),
            "COFFER_PORT": str(self.port),
            "PYTHONPATH": ROOT,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            **environ,
        }
        self._count = 0

    # ── the daemon ────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> House:
        self.coffer("daemon", "start")
        return self

    def stop(self) -> None:
        """End the daemon as a person does, and kill it if it doesn't."""
        try:
            self.coffer("daemon", "stop")
        finally:
            with suppress(OSError, ProcessLookupError, ValueError):
                os.kill(json.loads((self.home / "daemon.json").read_bytes())["pid"], signal.SIGKILL)

    def pid(self) -> int:
        pid: int = self.get("/daemon/status").done()["pid"]
        return pid

    # ── folders ───────────────────────────────────────────────────────────────────────────────────────────

    def folder(self, name: str = "folder") -> Path:
        """Make a new folder outside every project."""
        self._count += 1
        path = self.root / "work" / f"{self._count}" / name
        path.mkdir(parents=True)
        return path

    def project(self, name: str = "app", origin: str | None = None) -> Path:
        """Make a git repository with one commit."""
        path = self.folder(name)
        self.git("init", "-q", "-b", "main", folder=path)
        self.git("commit", "-q", "--allow-empty", "-m", "begin", folder=path)
        if origin:
            self.git("remote", "add", "origin", origin, folder=path)
        return path

    def store(self, folder: Path) -> str:
        """Return the name of the store that a folder belongs to."""
        stores = self.get(f"/memory_stores?cwd={quote(str(folder))}").done()["memory_stores"]
        name: str = stores[0]["name"]
        return name

    def store_dir(self, store: str) -> Path:
        return self.tree / ("global" if store == "global" else f"projects/{store.removeprefix('project-')}")

    # ── doors ─────────────────────────────────────────────────────────────────────────────────────────────

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        """Run the user's own git, in the memory tree unless a folder is named."""
        return subprocess.run(
            ["git", *arguments],
            cwd=folder or self.tree,
            env={name: value for name, value in self.environ.items() if name != "PYTHONPATH"},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout

    def coffer(self, *arguments: str, folder: Path | None = None, status: int = 0, stdin: str = "") -> str:
        """Run a command that must end with `status`; return what it printed, on stderr when refused."""
        ran = subprocess.run(
            [*self.command, *arguments],
            cwd=folder or self.user_home,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ran.returncode == status, (ran.returncode, ran.stdout, ran.stderr)
        return ran.stderr if status else ran.stdout

    @asynccontextmanager
    async def agent(self, name: str, folder: Path, era: str = "2026") -> AsyncIterator[Agent]:
        """Start an agent's shim in a folder, and end it."""
        command, *arguments = (*SHIM, "--agent", name)
        server = mcp.StdioServerParameters(command=command, args=arguments, env=self.environ, cwd=str(folder))
        async with mcp.Client(server, mode=ERAS[era]) as client:
            yield Agent(client)

    @asynccontextmanager
    async def web_agent(
        self, headers: Mapping[str, str], era: str = "2026", **options: Any
    ) -> AsyncIterator[Agent]:
        """Connect an agent to the daemon's port without a shim."""
        token = {"Authorization": f"Bearer {(self.home / 'token').read_text().strip()}"}
        async with httpx2.AsyncClient(headers={**token, **headers}) as web:
            transport = streamable_http_client(f"http://127.0.0.1:{self.port}/mcp", http_client=web)
            async with mcp.Client(transport, mode=ERAS[era], **options) as client:
                yield Agent(client)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Reply:
        """Send a request to the daemon's port with the token; a header that is None is left out."""
        fields = {"X-Coffer-Token": (self.home / "token").read_text().strip()}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if body is not None or method in ("POST", "PUT", "PATCH"):
            fields["Content-Type"] = "application/json"
        sent = {name: value for name, value in {**fields, **(headers or {})}.items() if value is not None}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path if path.startswith("/mcp") else f"/api/v1{path}", data, sent)
            response = connection.getresponse()
            answered = {key.lower(): value for key, value in response.getheaders()}
            return Reply(response.status, answered, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, None, {key.replace("_", "-"): value for key, value in headers.items()})

    # ── shorthands over REST ──────────────────────────────────────────────────────────────────────────────

    def add(self, store: str, text: str, **fields: object) -> Json:
        fact: Json = self.ask("POST", f"/memory_stores/{store}/facts", {"text": text, **fields}).done(201)
        return fact

    def recall(self, store: str, query: str, scope: str = "project", **fields: object) -> list[Json]:
        body = {"query": query, "scope": "global" if store == "global" else scope, **fields}
        hits: list[Json] = self.ask("POST", f"/memory_stores/{store}/recall", body).done()["hits"]
        return hits

    def texts(self, store: str, query: str, **fields: Any) -> list[str]:
        return [hit["text"] for hit in self.recall(store, query, **fields)]

    def events(self, store: str) -> list[Json]:
        events: list[Json] = self.get(f"/audit?store={store}&limit=500").done()["events"]
        return events

    def history(self, path: str) -> str:
        """Return every version of a file of the memory tree, as the user's git tells it."""
        return self.git("log", "-p", "--format=%an: %s", "--", str(path))

    def snapshot(self) -> dict[str, bytes]:
        """Return every file of the memory tree but git's own."""
        return {
            str(path.relative_to(self.tree)): path.read_bytes()
            for path in sorted(self.tree.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        }

    @contextmanager
    def nothing_written(self) -> Iterator[None]:
        """Hold what is done inside to leaving files, commits and the audit as they are."""
        before = self._written()
        yield
        assert self._written() == before

    def _written(self) -> tuple[object, ...]:
        git = [("rev-parse", "--all"), ("status", "--porcelain")] if (self.tree / ".git").is_dir() else []
        return (
            self.snapshot(),
            [self.git(*arguments) for arguments in git],
            self.get("/audit?limit=500").done(),
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
