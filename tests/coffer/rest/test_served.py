"""The guarded application behind the real server: what the wire adds to the rules."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
from hypercorn.config import Config
from hypercorn.trio import serve

from coffer.domain.ports import Ports
from coffer.surfaces.rest.app import build_app
from coffer.surfaces.rest.guard import MAX_BODY, Door, Guard
from tests.coffer.rest.doors import TOKEN, Daemon


@asynccontextmanager
async def served(ports: Ports, door: Door, bind: str) -> AsyncIterator[str]:
    """Serve one door; yield where."""
    config = Config()
    config.bind = [bind]
    config.errorlog = None
    config.graceful_timeout = 0.1
    binds: list[str] = []

    def port() -> int | None:
        return int(binds[0].rpartition(":")[2]) if door is Door.LOOPBACK else None

    app = Guard(build_app(ports, Daemon().facts(ports)), door, lambda: TOKEN, port)
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        start = partial(serve, app, config, shutdown_trigger=stop.wait)  # type: ignore[arg-type]
        binds += await nursery.start(start)
        yield binds[0]
        stop.set()
        nursery.cancel_scope.cancel()


async def exchange(stream: trio.abc.Stream, request: bytes) -> tuple[int, bytes]:
    """Send bytes, and return the status and body of the answer."""
    async with stream:
        await stream.send_all(request)
        data = b""
        with trio.fail_after(20):
            while b"\r\n\r\n" not in data:
                data += await stream.receive_some() or b"\r\n\r\n"
            head, _, body = data.partition(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            length = int(lengths[0].partition(b":")[2]) if lengths else 0
            while len(body) < length:
                body += await stream.receive_some()
    return int(head.split()[1]), body


def request(method: str, path: str, *lines: str, body: bytes = b"") -> bytes:
    """Return the bytes of one request."""
    head = [f"{method} {path} HTTP/1.1", *lines, *([f"Content-Length: {len(body)}"] if body else [])]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


JSON = "Content-Type: application/json"


async def test_port(ports: Ports) -> None:
    """The rules would hold in tests, and not where a browser or another program meets them."""
    async with served(ports, Door.LOOPBACK, "127.0.0.1:0") as where:
        port = int(where.rpartition(":")[2])
        host, token = f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {TOKEN}"

        async def ask(data: bytes) -> tuple[int, str | None]:
            status, body = await exchange(await trio.open_tcp_stream("127.0.0.1", port), data)
            return status, json.loads(body).get("error", {}).get("code") if body else None

        status = "/api/v1/daemon/status"
        assert await ask(request("GET", status, host)) == (200, None)
        assert await ask(request("GET", "/api/v1/doctor", host)) == (401, "UNAUTHORIZED")
        assert await ask(request("GET", "/api/v1/doctor", host, token)) == (200, None)
        assert await ask(request("GET", status, "Host: evil.example")) == (403, "FORBIDDEN_ORIGIN")
        assert (await ask(request("GET", status, host, host)))[0] == 400
        assert (await ask(request("GET", status)))[0] == 400
        assert await ask(f"GET {status} HTTP/1.0\r\n\r\n".encode()) == (403, "FORBIDDEN_ORIGIN")
        absolute = request("GET", f"http://127.0.0.1:{port}{status}", host)
        assert await ask(absolute) == (403, "FORBIDDEN_ORIGIN")
        form = request("POST", "/api/v1/daemon/rotate-token", host, token, "Content-Length: 0")
        assert await ask(form) == (403, "FORBIDDEN_ORIGIN")
        climbing = request("GET", "/api/v1/memory_stores/..%2f..%2fetc%2fpasswd/facts/%00", host, token)
        assert await ask(climbing) == (404, "MEMORY_STORE_NOT_FOUND")


@pytest.mark.parametrize("chunked", [False, True])
async def test_large_body_on_the_socket(
    ports: Ports, tmp_path_factory: pytest.TempPathFactory, chunked: bool
) -> None:
    """A client that sends too much would see a broken connection instead of what is wrong."""
    path = tmp_path_factory.mktemp("s") / "d.sock"
    body = b'{"text": "' + b"x" * (2 * MAX_BODY) + b'"}'
    lines = ["Host: localhost", JSON]
    data = request("POST", "/api/v1/memory_stores/global/facts", *lines, body=body)
    if chunked:
        head = request("POST", "/api/v1/memory_stores/global/facts", *lines, "Transfer-Encoding: chunked")
        data = head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    async with served(ports, Door.SOCKET, f"unix:{path}"):
        status, answer = await exchange(await trio.open_unix_socket(str(path)), data)
    assert (status, json.loads(answer)["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")


async def test_fact_over_the_socket(ports: Ports, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A text that isn't English would arrive as something else."""
    path: Path = tmp_path_factory.mktemp("s") / "d.sock"
    text = "部署经过 make release — naïve 🦊"
    body = json.dumps({"text": text}, ensure_ascii=False).encode()
    async with served(ports, Door.SOCKET, f"unix:{path}"):
        data = request("POST", "/api/v1/memory_stores/global/facts", "Host: localhost", JSON, body=body)
        status, answer = await exchange(await trio.open_unix_socket(str(path)), data)
    assert (status, json.loads(answer)["text"]) == (201, text)
