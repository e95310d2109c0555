"""The memory tree's past, read from git with a handle of its own so that a long walk never holds up the writer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import trio

from coffer.domain.errors import MemoryNotFound, StoreReadOnly
from coffer.domain.facts import CommitInfo
from coffer.infrastructure.signatures import COFFER
from gitsync.errors import RepositoryUnusable, UnknownCommit
from gitsync.history import Entry, deleted_path, history, read_at
from gitsync.repo import Repository

T = TypeVar("T")


class TreeHistory:
    """Reads commits of the repository at `root`; a tree without one has no past."""

    def __init__(self, root: str) -> None:
        self._root = root

    async def commits(self, prefix: str, limit: int, before: str | None) -> list[CommitInfo]:
        def walk(repository: Repository) -> list[CommitInfo]:
            return [_info(entry) for entry in history(repository, prefix, limit, before)]

        return await self._read(walk, [], before)

    async def read_at(self, commit: str, path: str) -> bytes | None:
        return await self._read(lambda repository: read_at(repository, commit, path), None, commit)

    async def deleted_path(self, prefix: str, suffix: str) -> str | None:
        return await self._read(lambda repository: deleted_path(repository, prefix, suffix), None, None)

    async def _read(self, read: Callable[[Repository], T], absent: T, commit: str | None) -> T:
        def open_and_read() -> T:
            if not Repository.exists(self._root):
                if commit is not None:
                    raise UnknownCommit(commit)
                return absent
            return read(Repository.open(self._root, COFFER))

        try:
            return await trio.to_thread.run_sync(open_and_read, abandon_on_cancel=True)
        except UnknownCommit as error:
            raise MemoryNotFound(f"Commit {commit!r}", "the memory tree") from error
        except RepositoryUnusable as error:
            raise StoreReadOnly(self._root, error.reason) from error


def _info(entry: Entry) -> CommitInfo:
    return CommitInfo(
        commit=entry.commit,
        time=datetime.fromtimestamp(entry.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        op=entry.trailers.get("Coffer-Op"),
        actor=entry.trailers.get("Coffer-Actor"),
        agent=entry.trailers.get("Coffer-Agent"),
        subject=entry.subject,
        paths=entry.paths,
    )
