"""Read other programs' settings files, and replace them whole or not at all.

New bytes go to a temporary file beside the real one and are renamed over it, through a symlink to its target,
so the file is the old version or the new one at every moment, also when the disk is full.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from coffer.domain.agents import FileChange
from coffer.domain.errors import DiskFull, SettingsChanged, SettingsUnparsable
from coffer.infrastructure.settings.document import Document

_BACKUP = ".coffer-"


def read(path: str) -> bytes | None:
    """Return a settings file's bytes, None when there is none. SettingsUnparsable when it can't be read."""
    try:
        # Without O_NONBLOCK a pipe would wait for somebody to write into it.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsUnparsable(path, "it isn't a file")
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise SettingsUnparsable(path, f"it can't be read ({problem.strerror})") from None


def in_folder(folder: str, name: str) -> str:
    """Return the path of a file that may be made. SettingsUnparsable when its folder, an agent's, isn't there."""
    path = os.path.join(folder, name)
    if not os.path.isdir(folder):
        raise SettingsUnparsable(
            path, "the agent's folder isn't there, which it makes when it is first started"
        )
    return path


def change(before: bytes | None, document: Document, says: str) -> list[FileChange]:
    """Return what it takes to make a file hold a document: nothing when it does."""
    after = document.data
    if after is None and before is not None and os.path.islink(document.path):
        after = b"" if document.path.endswith(".toml") else b"{}\n"  # The link isn't ours to break.
    return [] if after == before else [FileChange(document.path, before, after, says)]


@dataclass(frozen=True, slots=True)
class _Staged:
    """A change that only needs renames to be made, or unmade."""

    change: FileChange
    target: str
    new: str | None
    old: str | None
    backup: str | None


class DiskSettings:
    """Settings files of this machine. `now` gives the time as in 2026-11-30T12:00:00Z.

    A file's backup holds what it was before the first change; it goes when the file is that again. There is none
    of a file that was made here and that nobody else touched, nor of one that goes, since Coffer's is all in it.
    """

    def __init__(self, now: Callable[[], str]) -> None:
        self._now = now
        self._made_here: dict[str, bytes | None] = {}

    def apply(self, changes: list[FileChange]) -> None:
        staged: list[_Staged] = []
        made: list[_Staged] = []
        try:
            for each in changes:
                with _told(each.path):
                    staged.append(self._staged(each))
            for ready in staged:
                with _told(ready.change.path):
                    _unchanged(ready.change.path, ready.change.before)
                    made.append(ready)
                    _move(ready.target, ready.new)
        except BaseException:
            stuck = [ready for ready in reversed(made) if not _undone(ready)]
            for ready in staged:
                if ready.backup and ready not in stuck:
                    _drop(ready.backup)
            raise
        finally:
            for ready in staged:
                _drop(ready.new, ready.old)
        for each in changes:
            if each.before is None or self._made_here.get(each.path) == each.before:
                self._made_here[each.path] = each.after
            _drop(*(backup for backup in _backups(each.path) if read(backup) == each.after))

    def _staged(self, change: FileChange) -> _Staged:
        _unchanged(change.path, change.before)
        target = os.path.realpath(change.path)
        like = None if change.before is None else os.stat(target)
        new = old = backup = None
        try:
            if change.after is not None:
                new = _written(target, change.after, like)
            if change.before is not None:
                old = _written(target, change.before, like)
                kept = _backups(change.path) or self._made_here.get(change.path) == change.before
                if change.after is not None and not kept:
                    stamp = self._now().replace("-", "").replace(":", "")
                    copy = _written(change.path, change.before, None)
                    backup = f"{change.path}{_BACKUP}{stamp}.bak"
                    os.replace(copy, backup)
                    _flush(backup)
        except BaseException:
            _drop(new, old, backup)
            raise
        return _Staged(change, target, new, old, backup)


def _written(beside: str, content: bytes, like: os.stat_result | None) -> str:
    """Write a temporary file beside another, with its mode and owner or for this user alone; return its path."""
    folder, name = os.path.split(beside)
    handle, path = tempfile.mkstemp(prefix=f".{name}{_BACKUP}", suffix=".tmp", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            if like:
                own = os.fstat(handle)
                if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
                    os.fchown(handle, like.st_uid, like.st_gid)
                os.fchmod(handle, stat.S_IMODE(like.st_mode))
            os.fsync(handle)
    except BaseException:
        _drop(path)
        raise
    return path


def _move(target: str, new: str | None) -> None:
    """Put a temporary file in a file's place, or remove the file."""
    if new:
        os.replace(new, target)
    else:
        os.unlink(target)
    _flush(target)


def _undone(ready: _Staged) -> bool:
    """Put back what a change replaced, unless somebody changed it again; return whether that was possible."""
    try:
        if read(ready.change.path) == ready.change.before:
            return True
        _unchanged(ready.change.path, ready.change.after)
        _move(ready.target, ready.old)
    except (OSError, SettingsChanged, SettingsUnparsable):
        return False
    return True


def _unchanged(path: str, expected: bytes | None) -> None:
    if read(path) != expected:
        raise SettingsChanged(path)


def _backups(path: str) -> list[str]:
    folder, name = os.path.split(path)
    beside = (
        each for each in os.listdir(folder) if each.startswith(name + _BACKUP) and each.endswith(".bak")
    )
    return [os.path.join(folder, each) for each in beside]


def _flush(path: str) -> None:
    """Make a rename in a file's folder outlast a crash."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _drop(*paths: str | None) -> None:
    for path in filter(None, paths):
        with suppress(FileNotFoundError):
            os.unlink(path)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Tell a failure of the file system by the file that couldn't be written."""
    try:
        yield
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(path) from None
        raise SettingsUnparsable(path, f"it can't be written ({problem.strerror})") from None
