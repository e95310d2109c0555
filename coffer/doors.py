"""What stands between the HTTP server and the applications: who answers what, and from when on."""

from __future__ import annotations

import trio

from coffer.surfaces.rest.guard import GIT, Asgi, Message, Receive, Send

FINAL_SECONDS = 5.0


class Late:
    """An application that is made when somebody asks for it: whoever comes meanwhile waits for it."""

    def __init__(self) -> None:
        self.asked = trio.Event()
        self._given = trio.Event()
        self._app: Asgi | None = None

    def give(self, app: Asgi) -> None:
        """Let everybody in who has been waiting."""
        self._app = app
        self._given.set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.asked.set()
        await self._given.wait()
        assert self._app is not None
        await self._app(scope, receive, send)


class Switch:
    """Send MCP's two addresses and git's to their applications, and every other to REST."""

    def __init__(self, rest: Asgi, mcp: Asgi, git: Asgi) -> None:
        self._rest = rest
        self._mcp = mcp
        self._git = git

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        match scope["type"], scope.get("path", "").rstrip("/"):
            case ("http", "/mcp") | ("websocket", "/mcp-stdio"):
                await self._mcp(scope, receive, send)
            case "http", path if path.startswith(GIT):
                await self._git(scope, receive, send)
            case _:
                await self._rest(scope, receive, send)


class ShieldFinalSend:
    """Let the server finish a response; has to be the outermost wrapper.

    Hypercorn says `http.disconnect` from inside the last `send` of a response. Quart-Trio and MCP's transport
    then cancel the task that is still in there, and with it the server's own closing of the connection:
    `Connection: close` would get no end of file, and an idle connection would stay for ever.
    """

    def __init__(self, inner: Asgi) -> None:
        self._inner = inner

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def shielded(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                with trio.move_on_after(FINAL_SECONDS, shield=True):
                    await send(message)
            else:
                await send(message)

        await self._inner(scope, receive, shielded)
