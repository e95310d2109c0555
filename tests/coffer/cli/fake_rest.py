"""A stand-in for the daemon's REST door on a unix socket, with canned answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PROJECT = "project-0123456789ABCDEFGHJKMNPQRS"
OTHER = "project-ZZZZZZZZZZZZZZZZZZZZZZZZZZ"
FACT = "01JABCDEFGHJKMNPQRSTVWXYZ0"


@dataclass
class Asked:
    """One request as the daemon saw it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str


Coffer = Callable[..., Ran]


Reply = tuple[int, Any] | tuple[int, Any, dict[str, str]]


@dataclass
class FakeRest:
    """Answers by (method, path); what isn't known gets the contract's 404."""

    home: Path
    replies: dict[tuple[str, str], Reply] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def reply(self, method: str, path: str, status: int, body: Any, **headers: str) -> None:
        """Answer `method path` so from now on; a bytes body goes out as it is."""
        self.replies[method, "/api/v1" + path] = (status, body, headers)

    def refuse(self, method: str, path: str, status: int, code: str, message: str, **details: Any) -> None:
        """Answer `method path` with the contract's error."""
        self.reply(method, path, status, error(code, message, details))

    @property
    def last(self) -> Asked:
        """The last request but those by which a client finds out whether the daemon lives."""
        return [asked for asked in self.asked if asked.path != "/api/v1/daemon/status"][-1]


def error(code: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    """Return the contract's error body."""
    return {"error": {"code": code, "message": message, "details": details}}


def store(name: str, **changes: Any) -> dict[str, Any]:
    """Return a store as REST tells it."""
    return {
        "name": name,
        "scope": "global" if name == "global" else "project",
        "project_id": name.removeprefix("project-"),
        "display_name": name,
        "label": None,
        "project_root": None,
        "remote": None,
        "store_dir": f"/memory/{name}",
        "exists": True,
        "fact_count": 2,
        "merged_identities": [],
        "config": {"max_fact_chars": 8192, "retrieval_modes": ["keyword"]},
        "created_at": "2026-06-01T08:00:00Z",
        "updated_at": "2026-06-03T09:30:00Z",
    } | changes


def fact(**changes: Any) -> dict[str, Any]:
    """Return a fact as REST tells it."""
    return {
        "id": FACT,
        "store_name": "global",
        "scope": "global",
        "lane": "inbox",
        "title": "Deploys go through make release",
        "description": "Deploys go through make release",
        "text": "Deploys go through make release,\nnever by pushing tags.",
        "actor": "agent",
        "agent": "codex",
        "origin_session_id": None,
        "path": "/memory/global/knowledge/inbox/2026-06/deploys.md",
        "folder_path": "/memory/global/knowledge/inbox/2026-06",
        "created_at": "2026-06-03T09:30:00Z",
        "updated_at": "2026-06-03T09:30:00Z",
        "commit": "committed",
    } | changes


class Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    fake: FakeRest


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        fake = self.server.fake
        url = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = dict(parse_qsl(url.query, errors="surrogateescape"))
        fake.asked.append(Asked(self.command, url.path, query, headers, json.loads(raw) if raw else None))
        missing: Reply = (404, error("MEMORY_NOT_FOUND", f"{url.path} isn't there.", {}))
        status, body, *more = fake.replies.get((self.command, url.path), missing)
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (more[0] if more else {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_DELETE = answer

    def log_message(self, *_: object) -> None:
        pass
