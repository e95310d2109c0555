"""One machine of several: the ports of a home in this process, with a clock that is wrong and a disk that fails."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import trio

from coffer import bootstrap
from coffer.application.combine import consolidate
from coffer.application.sync import Synchroniser
from coffer.domain.errors import CofferError
from coffer.domain.facts import Caller
from coffer.domain.sync import SyncRun
from coffer.infrastructure import failpoints
from coffer.infrastructure.clock import time_of
from lanes.names import ulid
from tests.convergence.agreement import files_in

T = TypeVar("T")
BEGIN = 1_772_000_000_000
USER = Caller("user")


class Loop:
    """An event loop on a thread of its own, for a test that calls into it step by step."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._main,), daemon=True)
        self._thread.start()
        self._ready.wait()

    async def _main(self) -> None:
        async with trio.open_nursery() as self.nursery:
            self._token = trio.lowlevel.current_trio_token()
            self._ready.set()
            await trio.sleep_forever()

    def call(self, work: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        return trio.from_thread.run(work, *arguments, trio_token=self._token)

    def close(self) -> None:
        trio.from_thread.run_sync(self.nursery.cancel_scope.cancel, trio_token=self._token)
        self._thread.join()


class Clock:
    """Time that goes on by a second whenever somebody looks, off by `skew` seconds; ids that nobody else has."""

    def __init__(self, number: int) -> None:
        self.skew = 0
        self._number, self._count, self._last = number, 0, 0

    def now(self) -> str:
        return time_of(self._looked() // 1000)

    def milliseconds(self) -> int:
        self._last = max(self._last, self._looked())
        return self._last

    def elapsed(self) -> float:
        return self._count

    def new_id(self) -> str:
        now = self.milliseconds()
        return ulid(now, bytes([self._number]) + self._count.to_bytes(9, "big"))

    def _looked(self) -> int:
        self._count += 1
        return BEGIN + (self._count + self.skew) * 1000


class Cut(trio.abc.Instrument):
    """Cancels a task each time it has waited `count` times."""

    def __init__(self, task: trio.lowlevel.Task, scope: trio.CancelScope, count: int) -> None:
        self._task, self._scope, self._left = task, scope, count

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self._task:
            self._left -= 1
            if self._left == 0:
                self._scope.cancel()


class Home:
    """A home that is opened and closed in the loop; `write path` means the named places of its failpoints."""

    def __init__(self, loop: Loop, root: Path, number: int) -> None:
        self._loop = loop
        self.folder = root / f"home{number}"
        self.tree = self.folder / "memory"
        self.clock = Clock(number)
        self.joined = False
        self.reached_any = False
        self._at: tuple[int, Callable[[str], None]] | None = None
        self._snapshot = root / f"snapshot{number}"
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        }
        self.open()

    # ── life ──────────────────────────────────────────────────────────────────────────────────────────────

    def open(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self._loop.call(self._start)
        self.do(consolidate)

    def close(self) -> None:
        self._loop.call(self._end)

    async def _start(self) -> None:
        self._leave, self._left = trio.Event(), trio.Event()
        await self._loop.nursery.start(self._live)

    async def _end(self) -> None:
        self._leave.set()
        await self._left.wait()

    async def _live(self, task_status: trio.TaskStatus[None]) -> None:
        with ExitStack() as patched:
            patched.enter_context(patch.object(bootstrap, "SystemClock", lambda: self.clock))
            patched.enter_context(patch.object(failpoints, "from_setting", lambda _: self._reached))
            async with bootstrap.open_ports(str(self.folder), self._environ) as self.ports:
                patched.close()
                self.sync = Synchroniser(self.ports)
                task_status.started()
                await self._leave.wait()
        self._left.set()

    # ── use cases ─────────────────────────────────────────────────────────────────────────────────────────

    def do(self, use_case: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """Call a use case on this home's ports."""
        return self._loop.call(partial(use_case, self.ports), *arguments)

    def join(self, url: str) -> None:
        """Join the remote, unless this machine has."""
        self._loop.call(self._join, url)

    def exchange(self, url: str) -> SyncRun:
        """Sync once, after joining where that is still to do; say yes to what sync asks."""
        run = self._loop.call(self._exchange, url)
        while run.question:
            run = self._loop.call(self.sync.accept, USER, run.question)
        return run

    def exchange_cut(self, url: str, count: int) -> None:
        """Sync, and be cancelled when it has waited `count` times."""
        self._loop.call(self._cut, url, count)

    async def _join(self, url: str) -> None:
        if not self.joined:
            await self.sync.join(USER, url, False)
            self.joined = True

    async def _exchange(self, url: str) -> SyncRun:
        await self._join(url)
        return await self.sync.sync(USER)

    async def _cut(self, url: str, count: int) -> None:
        with trio.CancelScope() as scope:
            cut = Cut(trio.lowlevel.current_task(), scope, count)
            trio.lowlevel.add_instrument(cut)
            try:
                await self._exchange(url)
            finally:
                trio.lowlevel.remove_instrument(cut)

    # ── faults ────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def at(self, count: int, happens: Callable[[str], None]) -> Iterator[None]:
        """Let something happen when the write path passes its `count`-th named place from now on."""
        self._at, self.reached_any = (count, happens), False
        try:
            yield
        finally:
            self._at = None

    @contextmanager
    def killed_at(self, count: int) -> Iterator[None]:
        """Be what a kill at that place leaves of the memory tree, restarted; errors of the dying don't count."""
        shutil.rmtree(self._snapshot, ignore_errors=True)

        def die(_: str) -> None:
            if self.tree.exists():
                subprocess.run(
                    ["cp", "-a", str(self.tree), str(self._snapshot)], check=True
                )  # links stay links
            raise OSError(errno.EIO, "killed")

        with self.at(count, die):
            try:
                yield
            except CofferError:
                if not self.reached_any:
                    raise
        if self.reached_any:
            self.close()
            while self.tree.exists():  # a fetch that was given up may still be clearing away its own
                shutil.rmtree(self.tree, ignore_errors=True)
            if self._snapshot.exists():
                self._snapshot.rename(self.tree)
            self.open()

    def _reached(self, name: str) -> None:
        if self._at is None or name.startswith("sql"):
            return
        count, happens = self._at
        self._at = (count - 1, happens)
        if count == 1:
            self.reached_any = True
            happens(name)

    # ── files ─────────────────────────────────────────────────────────────────────────────────────────────

    def files(self, *folders: str) -> dict[str, bytes]:
        """Return the files of the tree in the lanes named, by path; without names all of them."""
        found = files_in(self.tree)
        return {path: found[path] for path in found if not folders or set(folders) & {*path.split("/")}}

    def write(self, path: str, content: bytes, replace: bool = False) -> None:
        """Save a file as an editor does: over itself, or by a new one that takes its place."""
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if replace:
            aside = self.folder / "saved"
            aside.write_bytes(content)
            aside.replace(file)
        else:
            file.write_bytes(content)

    def has_commits(self) -> bool:
        return self.tree.exists() and self.git("rev-parse", "--verify", "-q", "HEAD", check=False) != ""

    def git(self, *arguments: str, check: bool = True) -> str:
        """Run the user's own git in the tree."""
        date = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{BEGIN // 1000} +0000")
        command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
        ran = subprocess.run(
            command, cwd=self.tree, env={**self._environ, **date}, check=False, capture_output=True, text=True
        )
        if check and ran.returncode:
            raise AssertionError((arguments, ran.stdout, ran.stderr))
        return ran.stdout
