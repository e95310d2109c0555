"""The one writer of the memory tree: operations that arrive together are written and flushed together.

One worker thread owns the lane files and the commits. Writes queue up; each pass takes all that wait, plans
them one after another, stages their files, and hands the chain of commits to gitsync, which flushes once,
renames the files under git's own lock and moves the branch once. Callers are answered after that.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import trio

from coffer.domain.activity import Finding
from coffer.domain.changes import Change, ChangeSet, Plan, Planned, Written
from coffer.domain.errors import CofferError, DiskFull, StoreReadOnly
from coffer.domain.ports import Clock
from coffer.domain.stores import StoreRef
from coffer.infrastructure.draft import Draft
from coffer.infrastructure.failpoints import Reached
from coffer.infrastructure.tree_files import Staged, TreeFiles, stores_in
from coffer.infrastructure.tree_join import Check, Joined
from coffer.infrastructure.tree_repository import ATTRIBUTES, ATTRIBUTES_TEXT, TreeRepository
from gitsync.commit import Outcome
from gitsync.errors import GitError, WorkTreeChanged
from lanes.layout import STORE_FILE, store_of

T = TypeVar("T")

MAX_BATCH = 64
MAX_ATTEMPTS = 8
RETRY_SECONDS = 5.0
IDLE_SECONDS = 30.0


@dataclass(slots=True)
class _Request:
    plan: Plan[Any]
    done: trio.Event = field(default_factory=trio.Event)
    result: Any = None
    written: Written = field(default_factory=Written)
    error: BaseException | None = None


class GitTree:
    """The memory tree at `root`; `run` has to be running for writes to be answered."""

    def __init__(self, root: str, clock: Clock, reached: Reached) -> None:
        self.root = root
        self._files = TreeFiles(root, reached)
        self._reading = TreeFiles(root, reached)
        self._repository = TreeRepository(root, clock, reached)
        self._reached = reached
        self._queue: list[_Request] = []
        self._wake = trio.Event()
        self._idle = trio.Event()
        self._idle.set()
        self._thread = trio.CapacityLimiter(1)
        self._written = trio.Event()
        self._grown = True

    async def open(self) -> None:
        """Mend what a crash left behind; creates nothing."""
        if os.path.isdir(self.root):
            await trio.to_thread.run_sync(self._files.sweep, limiter=self._thread)
            await trio.to_thread.run_sync(
                lambda: self._drop_emptied(store.folder for store in stores_in(self.root)),
                limiter=self._thread,
            )
            await trio.to_thread.run_sync(self._repository.recover, limiter=self._thread)

    async def run(self) -> None:
        """Serve writes until cancelled; a batch that has begun is finished."""
        async with trio.open_nursery() as nursery:
            while True:
                with trio.move_on_after(self._patience()):
                    await self._wake.wait()
                self._wake = trio.Event()
                if self._queue:
                    await self._serve_queue()
                elif self._repository.pending():
                    await trio.to_thread.run_sync(self._repository.retry, limiter=self._thread)
                else:
                    self._grown = False
                    nursery.start_soon(self._pack)

    def _patience(self) -> float:
        if self._repository.pending():
            return RETRY_SECONDS
        return IDLE_SECONDS if self._grown else float("inf")

    async def _pack(self) -> None:
        # It may be left behind at the end: nothing is removed before its replacement is safe.
        await trio.to_thread.run_sync(self._repository.pack, abandon_on_cancel=True)

    async def _serve_queue(self) -> None:
        self._grown = True
        while self._queue:
            batch, self._queue = self._queue[:MAX_BATCH], self._queue[MAX_BATCH:]
            with trio.CancelScope(shield=True):
                try:
                    await trio.to_thread.run_sync(self._write, batch, limiter=self._thread)
                except Exception as fault:  # the writer outlives a fault; each caller is told of it
                    _refuse(batch, fault)
            for request in batch:
                request.done.set()
        self._written.set()
        self._idle.set()

    async def settle(self) -> None:
        """Wait until every write that was asked for is done."""
        await self._idle.wait()

    async def write(self, plan: Plan[T]) -> tuple[T, Written]:
        request = _Request(plan)
        self._queue.append(request)
        if self._idle.is_set():
            self._idle = trio.Event()
        self._wake.set()
        await request.done.wait()
        if request.error is not None:
            raise request.error
        return cast(T, request.result), request.written

    async def read(self, path: str) -> bytes | None:
        return await trio.to_thread.run_sync(self._readable, path, abandon_on_cancel=True)

    async def present(self, paths: Sequence[str]) -> list[str]:
        def look() -> list[str]:
            return [path for path in paths if self._reading.is_file(path)]

        return await trio.to_thread.run_sync(look, abandon_on_cancel=True)

    async def contents(self, folder: str) -> list[tuple[str, bytes]]:
        return await trio.to_thread.run_sync(self._contents, folder, abandon_on_cancel=True)

    async def stores(self) -> list[StoreRef]:
        return await trio.to_thread.run_sync(stores_in, self.root, abandon_on_cancel=True)

    async def named(self, part: str) -> list[str]:
        return await trio.to_thread.run_sync(
            lambda: sorted(self._reading.named(part)), abandon_on_cancel=True
        )

    async def files(self, folder: str) -> list[tuple[str, int]]:
        return await trio.to_thread.run_sync(
            lambda: sorted(self._reading.walk(folder)), abandon_on_cancel=True
        )

    async def pending(self) -> dict[str, str]:
        return self._repository.pending()

    async def findings(self) -> list[Finding]:
        await trio.to_thread.run_sync(self._repository.look, limiter=self._thread)
        return self._repository.findings()

    async def written(self) -> None:
        """Wait until something was written since the last call."""
        await self._written.wait()
        self._written = trio.Event()

    async def adopt_edits(self) -> str | None:
        """Commit what waits and what people left on disk; return why that isn't possible now."""
        return await self._exclusively(self._repository.adopt_edits)

    async def join(self, tip: str, over: str | None, check: Check, forward: bool = False) -> Joined:
        """Take in another machine's commits; no operation of ours comes in between.

        With `forward` only if the branch moves up to `tip` itself.
        """
        self._grown = True
        try:
            return await self._exclusively(
                lambda: self._repository.join(self._files, tip, over, check, forward)
            )
        finally:
            self._wake.set()  # what has come in may be worth packing

    async def _exclusively(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(work, limiter=self._thread)

    # ── on the writer's thread ────────────────────────────────────────────────────────────────────────────

    def _write(self, batch: list[_Request]) -> None:
        """Plan and commit a batch; every request ends up with a result or an error of its own."""
        with self._files.together():
            self._write_together(batch)

    def _write_together(self, batch: list[_Request]) -> None:
        try:
            for _ in range(MAX_ATTEMPTS):
                draft = Draft(self._files)
                planned = [(request, self._planned(request, draft)) for request in batch]
                operations = [(request, made) for request, made in planned if made is not None]
                if not operations:
                    return
                try:
                    outcome = self._commit(draft, [made for _, made in operations])
                except WorkTreeChanged:
                    continue  # somebody saved one of these files after it was read: plan again with theirs
                for number, (request, _) in enumerate(operations):
                    commit_id = outcome.commits[number] if outcome.commits else None
                    request.written = Written(commit_id, outcome.pending)
                removed = (store_of(path) for path, content in draft.decided().items() if content is None)
                self._drop_emptied({located[0] for located in removed if located})
                self._reached("acked")
                return
            raise StoreReadOnly(self.root, "another program keeps changing the same files")
        except OSError as error:
            _refuse(batch, _translated(error, self.root))
        except GitError as error:
            _refuse(batch, StoreReadOnly(self.root, str(error)))
        except CofferError as error:
            _refuse(batch, error)

    def _planned(self, request: _Request, draft: Draft) -> ChangeSet | None:
        """Plan one request; its refusal is its own and leaves the others alone."""
        request.error = request.result = None
        try:
            planned: Planned[Any] = request.plan(draft)
        except CofferError as error:
            request.error = error
            return None
        except OSError as error:
            request.error = _translated(error, self.root)
            return None
        request.result = planned.result
        if planned.change_set is not None:
            draft.decide(planned.change_set)
        return planned.change_set

    def _commit(self, draft: Draft, operations: list[ChangeSet]) -> Outcome:
        if self._files.stamp(ATTRIBUTES) is None:
            operations = [_with_attributes(operations[0]), *operations[1:]]
            draft.decide(operations[0])
        decided = draft.decided()
        staged: list[Staged] = []

        def install() -> None:
            for path in decided:
                if not draft.is_current(path):
                    raise WorkTreeChanged(path)
            # The new comes before the old goes: a crash in between leaves a text twice, never not at all.
            while staged:
                self._files.install(staged[0])
                del staged[0]
            for path, content in decided.items():
                if content is None:
                    self._files.remove(path)

        try:
            os.makedirs(self.root, mode=0o700, exist_ok=True)
            for path, content in decided.items():
                if content is not None:
                    staged.append(self._files.stage(path, content))
            temporary = [self._files.absolute(one.temporary) for one in staged]
            return self._repository.commit(operations, install, temporary)
        finally:
            for one in staged:
                self._files.discard(one)

    def _drop_emptied(self, stores: Iterable[str]) -> None:
        """Remove those stores' folders that have nothing in them any more; git knows no empty ones."""
        for folder in stores:
            if not os.path.lexists(self._files.absolute(f"{folder}/{STORE_FILE}")):
                self._files.drop_empty(folder)

    def _contents(self, folder: str) -> list[tuple[str, bytes]]:
        read = ((path, self._readable(path)) for path, _ in sorted(self._reading.walk(folder)))
        return [(path, content) for path, content in read if content is not None]

    def _readable(self, path: str) -> bytes | None:
        with suppress(OSError):  # one bad file harms only itself
            found = self._reading.read(path)
            return found[0] if found else None
        return None


def _with_attributes(operation: ChangeSet) -> ChangeSet:
    changes: Sequence[Change] = (Change(ATTRIBUTES, ATTRIBUTES_TEXT), *operation.changes)
    return ChangeSet(operation.op, operation.subject, operation.store, operation.caller, tuple(changes))


def _refuse(batch: list[_Request], error: BaseException) -> None:
    for request in batch:
        request.error = request.error or error


def _translated(error: OSError, root: str) -> CofferError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(root)
    return StoreReadOnly(str(error.filename or root), error.strerror or str(error))
