"""The memory tree's past, read from git with a handle of its own so that a long walk never holds up the writer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

import trio

from coffer.domain.errors import MemoryNotFound, StoreReadOnly
from coffer.domain.facts import CommitInfo
from coffer.domain.history import BlamedLine, FileChange, FileDiff, Moment, Operation, Status
from coffer.infrastructure.clock import time_of
from coffer.infrastructure.signatures import COFFER
from gitsync.blame import blame
from gitsync.errors import Damaged, RepositoryUnusable, UnknownCommit
from gitsync.history import Entry, deleted_path, entry_of, full_id, history, read_at
from gitsync.line_diff import unified
from gitsync.objects import Objects
from gitsync.repo import Repository
from gitsync.snapshot import Difference, changes, commit_at
from lanes.layout import store_of

T = TypeVar("T")

MAX_FILES = 500
MAX_DIFF_BYTES = 1 << 20  # of the files that one answer compares, taken together


class TreeHistory:
    """Reads commits of the repository at `root`; a tree without one has no past."""

    def __init__(self, root: str) -> None:
        self._root = root

    async def commits(self, prefix: str, limit: int, before: str | None) -> list[CommitInfo]:
        def walk(repository: Repository) -> list[CommitInfo]:
            return [_info(entry) for entry in history(repository, prefix, limit, before)]

        return await self._read(walk, UnknownCommit(before) if before else [])

    async def read_at(self, commit: str, path: str) -> bytes | None:
        return await self._read(lambda repository: read_at(repository, commit, path), UnknownCommit(commit))

    async def deleted_path(self, prefix: str, suffix: str) -> str | None:
        return await self._read(lambda repository: deleted_path(repository, prefix, suffix), None)

    async def moment(self, commit: str) -> Moment:
        return await self._read(
            lambda repository: _moment(repository, full_id(repository, commit)), UnknownCommit(commit)
        )

    async def moment_at(self, time: str) -> Moment | None:
        def find(repository: Repository) -> Moment | None:
            commit = commit_at(repository, int(datetime.fromisoformat(time).timestamp()))
            return _moment(repository, commit) if commit else None

        return await self._read(find, None)

    async def differences(self, old: str | None, new: str | None, folder: str) -> tuple[list[FileDiff], int]:
        def compare(repository: Repository) -> tuple[list[FileDiff], int]:
            found = changes(repository, old, new, folder)
            return _diffs(repository.objects, found[:MAX_FILES]), len(found)

        return await self._read(compare, ([], 0))

    async def operation(self, commit: str) -> Operation:
        return await self._read(lambda repository: _operation(repository, commit), UnknownCommit(commit))

    async def blame(self, path: str) -> list[BlamedLine] | None:
        return await self._read(lambda repository: _blame(repository, path), None)

    async def _read(self, read: Callable[[Repository], T], absent: T | UnknownCommit) -> T:
        """Return what `read` finds, or `absent` where there is no repository: an UnknownCommit is raised."""

        def open_and_read() -> T:
            if Repository.exists(self._root):
                return read(Repository.open(self._root, COFFER))
            if isinstance(absent, UnknownCommit):
                raise absent
            return absent

        try:
            return await trio.to_thread.run_sync(open_and_read, abandon_on_cancel=True)
        except UnknownCommit as error:
            raise MemoryNotFound(f"Commit {error.args[0]!r}", "the memory tree") from error
        except RepositoryUnusable as error:
            raise StoreReadOnly(self._root, error.reason) from error


def _moment(repository: Repository, commit: str) -> Moment:
    return Moment(commit, time_of(repository.objects.commit(commit).time))


def _info(entry: Entry) -> CommitInfo:
    return CommitInfo(
        commit=entry.commit,
        time=time_of(entry.time),
        op=entry.trailers.get("Coffer-Op"),
        actor=entry.trailers.get("Coffer-Actor"),
        agent=entry.trailers.get("Coffer-Agent"),
        session=entry.trailers.get("Coffer-Session"),
        subject=entry.subject,
        paths=entry.paths,
    )


def _operation(repository: Repository, commit: str) -> Operation:
    objects = repository.objects
    found = objects.commit(full_id(repository, commit))
    changed = changes(repository, found.parents[0] if found.parents else None, found.id)
    return Operation(
        found.id,
        found.subject,
        len(found.parents),
        tuple(
            FileChange(
                one.path,
                None if one.old is None else objects.read(one.old),
                None if one.new is None else objects.read(one.new),
            )
            for one in changed
        ),
    )


def _diffs(objects: Objects, differences: list[Difference]) -> list[FileDiff]:
    left = MAX_DIFF_BYTES
    diffs = []
    for one in differences:
        shown = None
        with suppress(Damaged):  # also for what is a repository inside this one
            sizes = sum(objects.size(blob, "blob") for blob in (one.old, one.new) if blob)
            if sizes <= left:
                left -= sizes
                old, new = (None if blob is None else objects.read(blob) for blob in (one.old, one.new))
                inside = store_of(one.path)
                shown = unified(inside[1] if inside else one.path, old, new)
        status: Status = "added" if one.old is None else "removed" if one.new is None else "changed"
        diffs.append(FileDiff(one.path, status, shown))
    return diffs


def _blame(repository: Repository, path: str) -> list[BlamedLine] | None:
    lines = blame(repository, path)
    if lines is None:
        return None
    commits = {line.commit for line in lines}
    infos = {commit: _info(entry_of(repository.objects.commit(commit))) for commit in commits}
    told = []
    for line in lines:
        info = infos[line.commit]
        text = line.text.decode("utf-8", "replace").removesuffix("\r")
        told.append(BlamedLine(info.commit, info.time, info.actor, info.agent, info.session, text))
    return told
