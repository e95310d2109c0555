"""The memory tree served to the user's own git: packs are made by the git program, pushes land through the writer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import trio

from coffer.domain.errors import CofferError
from coffer.infrastructure.signatures import COFFER
from coffer.infrastructure.tree_git import GitTree
from coffer.infrastructure.tree_sync import TreeSync
from gitsync.errors import GitError
from gitsync.repo import Repository
from gitsync.serve import (
    announced,
    push_refs,
    read_push,
    report,
    upload_by_library,
    upload_command,
)

_SECONDS = 600

Write = Callable[[bytes], Awaitable[None]]


class TreeServing:
    """Answers git about the repository at `root`."""

    def __init__(self, root: str, tree: GitTree, sync: TreeSync, environ: Mapping[str, str]) -> None:
        self._root = root
        self._folder = os.path.join(root, ".git")
        self._tree = tree
        self._sync = sync
        self._environ = {name: environ[name] for name in ("PATH", "HOME") if name in environ} | {
            "LC_ALL": "C"
        }

    async def refs(self, protocol: str, write: Write) -> None:
        """Write what a reader is offered, in the version of the protocol that it asks for; the library has one."""
        await self._made()
        if "version=2" not in protocol or upload_command(self._folder, True) is None:
            await write(announced("git-upload-pack"))
        await self._answer(b"", protocol, write, advertise=True)

    async def upload(self, request: bytes, protocol: str, write: Write) -> None:
        """Write the answer to a reader's request."""
        await self._made()
        await self._answer(request, protocol, write, advertise=False)

    async def push_refs(self) -> bytes:
        """Return what somebody who wants to push is offered."""
        await self._made()
        offered = await trio.to_thread.run_sync(lambda: push_refs(Repository.open(self._root, COFFER)))
        return announced("git-receive-pack") + offered

    async def push(self, request: bytes) -> bytes:
        """Land a push, and return what whoever pushed is told."""
        try:
            await self._sync.receive(read_push(request))
        except CofferError as refusal:
            return report(refusal.message)
        except GitError as refusal:
            return report(str(refusal))
        return report(None)

    async def _made(self) -> None:
        """See to it that there is a repository, if only an empty one."""
        if not Repository.exists(self._root):
            await self._tree.adopt_edits()

    async def _answer(self, request: bytes, protocol: str, write: Write, advertise: bool) -> None:
        command = upload_command(self._folder, advertise)
        if command is None:
            answer = partial(upload_by_library, self._root, request, advertise)
            for piece in await trio.to_thread.run_sync(lambda: list(answer())):
                await write(piece)
            return
        environ = self._environ | ({"GIT_PROTOCOL": protocol[:64]} if protocol else {})
        run = partial(
            trio.run_process,
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
            env=environ,
        )
        with trio.move_on_after(_SECONDS):
            async with trio.open_nursery() as nursery:
                process: trio.Process = await nursery.start(run)
                assert process.stdin and process.stdout
                nursery.start_soon(_feed, process.stdin, request)
                async for chunk in process.stdout:
                    await write(bytes(chunk))
                nursery.cancel_scope.cancel()


async def _feed(stream: trio.abc.SendStream, request: bytes) -> None:
    async with stream:
        try:
            await stream.send_all(request)
        except trio.BrokenResourceError:
            return
