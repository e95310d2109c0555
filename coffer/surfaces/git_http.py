"""The memory tree as a repository for the user's own git: smart HTTP below `/memory.git/`.

The protocol is that of git's `gitprotocol-http`; the guard has seen to who asks. Reading streams what git packs;
a push is taken in whole and lands through the writer, like everything else that changes the tree.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import parse_qs

from coffer.domain.errors import CofferError, PayloadTooLarge
from coffer.domain.ports import Ports
from coffer.surfaces.rest.guard import GIT, MAX_PUSH, Message, Receive, Send

Write = Callable[[bytes], Awaitable[None]]

READ, WRITE = "git-upload-pack", "git-receive-pack"


class GitApp:
    """The ASGI application for git's three addresses."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        except CofferError as refusal:
            await _say(send, 413 if isinstance(refusal, PayloadTooLarge) else 500, refusal.message)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        where, method = scope["path"].removeprefix(GIT), scope["method"]
        version = next((value for name, value in scope["headers"] if name.lower() == b"git-protocol"), b"")
        protocol = version.decode("latin-1")
        serving = self._ports.serving
        if method == "GET" and where == "info/refs":
            service = parse_qs(scope["query_string"].decode("latin-1")).get("service", [""])[0]
            if service == READ:
                await _stream(send, f"{service}-advertisement", partial(serving.refs, protocol))
            elif service == WRITE and await self._ports.sync_state.push_allowed():
                await _whole(send, f"{service}-advertisement", await serving.push_refs())
            elif service == WRITE:
                await _say(
                    send, 403, "Pushing here is switched off; `coffer sync serve --push on` allows it."
                )
            else:
                await _say(send, 403, "Only git's smart protocol is spoken here.")
        elif method == "POST" and where == READ:
            request = await _body(scope, receive)
            await _stream(send, f"{READ}-result", partial(serving.upload, request, protocol))
        elif method == "POST" and where == WRITE:
            if await self._ports.sync_state.push_allowed():
                await _whole(send, f"{WRITE}-result", await serving.push(await _body(scope, receive)))
            else:
                await _say(
                    send, 403, "Pushing here is switched off; `coffer sync serve --push on` allows it."
                )
        else:
            await _say(send, 404, "There is nothing at this address.")


async def _body(scope: Message, receive: Receive) -> bytes:
    """Return the body, which the guard has collected, unpacked where git has compressed it."""
    body: bytes = (await receive()).get("body", b"")
    if (b"content-encoding", b"gzip") not in scope["headers"]:
        return body
    unpacking = zlib.decompressobj(wbits=31)
    try:
        body = unpacking.decompress(body, MAX_PUSH)
    except zlib.error:
        return b""
    if unpacking.unconsumed_tail:
        raise PayloadTooLarge(MAX_PUSH)
    return body


async def _stream(send: Send, kind: str, produce: Callable[[Write], Awaitable[None]]) -> None:
    async def write(chunk: bytes) -> None:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})

    await _begin(send, kind)
    await produce(write)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _whole(send: Send, kind: str, body: bytes) -> None:
    await _begin(send, kind)
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _begin(send: Send, kind: str) -> None:
    headers = [(b"content-type", f"application/x-{kind}".encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _say(send: Send, status: int, sentence: str) -> None:
    body = f"{sentence}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
