"""Lane files on disk: the only module that writes them, and the only one that opens them by name.

Every path is walked folder by folder without following symlinks, so nothing in a tree that came from
elsewhere can point a read or a write outside it. New bytes go to a temporary file in the same folder
and are renamed into place (the order of restic's `internal/backend/local`), so a file is the old version
or the new one, never a mixture.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from coffer.domain.errors import StoreNotFound
from coffer.domain.stores import StoreRef, store_named
from coffer.infrastructure.failpoints import Reached

TEMPORARY_PREFIX = ".coffer-"
TEMPORARY_SUFFIX = ".tmp"
MAX_FILE_BYTES = 8 * 1024 * 1024

Stamp = tuple[int, int, int, int]
"""Size, mtime, ctime (ns) and inode of a file: differs whenever somebody wrote it."""


@dataclass(frozen=True, slots=True)
class Staged:
    """New bytes beside their final place, not yet visible under the final name."""

    path: str
    temporary: str


class TreeFiles:
    """The files below one root. Paths are relative to it, with `/`. Used by one thread at a time for writing."""

    def __init__(self, root: str, reached: Reached) -> None:
        self.root = root
        self._reached = reached
        self._count = 0
        self._kept: dict[str, int] | None = None

    def read(self, path: str) -> tuple[bytes, Stamp] | None:
        """Return a regular file's bytes and stamp, None when there is no such file.

        Raises OSError for a symlink, a folder, or a file above 8 MiB.
        """
        folder, _, name = path.rpartition("/")
        try:
            with self._folder(folder) as fd:
                handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
        except FileNotFoundError:
            return None
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            if status.st_size > MAX_FILE_BYTES:
                raise OSError(errno.EFBIG, "larger than 8 MiB", path)
            return file.read(), _stamp(status)

    def stamp(self, path: str) -> Stamp | None:
        """Return what tells this version of a file from every other, None when there is no file."""
        folder, _, name = path.rpartition("/")
        try:
            with self._folder(folder) as fd:
                return _stamp(os.stat(name, dir_fd=fd, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def is_file(self, path: str) -> bool:
        """Tell whether there is a regular file at `path`."""
        try:
            return stat.S_ISREG(os.lstat(self.absolute(path)).st_mode)
        except OSError:
            return False

    def walk(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield path and size of every regular file below `folder`, without following symlinks."""
        pending = [folder]
        while pending:
            here = pending.pop()
            try:
                entries = list(os.scandir(os.path.join(self.root, here)))
            except (FileNotFoundError, NotADirectoryError):
                continue
            for entry in entries:
                path = f"{here}/{entry.name}" if here else entry.name
                if entry.is_symlink() or entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                elif entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        yield path, entry.stat(follow_symlinks=False).st_size

    def named(self, part: str) -> Iterator[str]:
        """Yield the path of every file whose name has `part` in it; nothing else is asked of any file."""
        for here, folders, names in os.walk(self.root):
            folders[:] = [folder for folder in folders if not folder.startswith(".")]
            for name in names:
                if part in name and not name.startswith("."):
                    yield os.path.relpath(os.path.join(here, name), self.root)

    def stage(self, path: str, content: bytes) -> Staged:
        """Write `content` beside `path`, creating folders; the caller flushes it before `install`."""
        folder = path.rpartition("/")[0]
        self._count += 1
        temporary = f"{TEMPORARY_PREFIX}{os.getpid()}-{self._count}{TEMPORARY_SUFFIX}"
        self._reached("before-temp")
        with self._folder(folder, create=True) as fd:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(temporary, flags, 0o600, dir_fd=fd)
            try:
                with open(handle, "wb") as file:
                    file.write(content)
            except OSError:
                os.unlink(temporary, dir_fd=fd)
                raise
        self._reached("temp-written")
        return Staged(path, f"{folder}/{temporary}" if folder else temporary)

    def install(self, staged: Staged) -> None:
        """Rename staged bytes to their final name; the caller flushes the folder."""
        folder, _, name = staged.path.rpartition("/")
        with self._folder(folder) as fd:
            os.replace(staged.temporary.rpartition("/")[2], name, src_dir_fd=fd, dst_dir_fd=fd)
        self._reached("renamed")

    def discard(self, staged: Staged) -> None:
        """Remove staged bytes that were not installed."""
        with suppress(FileNotFoundError):
            os.unlink(self.absolute(staged.temporary))

    def remove(self, path: str) -> None:
        """Remove a file; one that is gone already is fine."""
        folder, _, name = path.rpartition("/")
        with suppress(FileNotFoundError), self._folder(folder) as fd:
            os.unlink(name, dir_fd=fd)
        self._reached("renamed")

    def drop_empty(self, folder: str) -> None:
        """Remove a folder and those below it as far as they are empty."""
        for here, _, _ in os.walk(os.path.join(self.root, folder), topdown=False):
            with suppress(OSError):
                os.rmdir(here)

    def sweep(self) -> int:
        """Remove temporary files that an earlier life left behind; return how many."""
        swept = 0
        for here, folders, names in os.walk(self.root):
            folders[:] = [folder for folder in folders if folder != ".git"]
            for name in names:
                if name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX):
                    with suppress(OSError):
                        os.unlink(os.path.join(here, name))
                        swept += 1
        return swept

    def absolute(self, path: str) -> str:
        """Return where `path` is on this machine."""
        return os.path.join(self.root, path)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Open each folder once for everything that is done inside: most of a batch is in one folder."""
        self._kept = {}
        try:
            yield
        finally:
            kept, self._kept = self._kept, None
            for fd in kept.values():
                os.close(fd)

    @contextmanager
    def _folder(self, folder: str, create: bool = False) -> Iterator[int]:
        """Open a folder of the tree, or use the open one; closed afterwards unless it is kept."""
        kept = self._kept
        fd = kept.get(folder) if kept else None
        if fd is None:
            fd = self._opened(folder, create)
            if kept is not None:
                kept[folder] = fd
        try:
            yield fd
        finally:
            if kept is None:
                os.close(fd)

    def _opened(self, folder: str, create: bool) -> int:
        """Open a folder step by step without following symlinks; with `create`, make what is missing."""
        parts = folder.split("/") if folder else []
        if any(part in ("", ".", "..") for part in parts):
            raise OSError(errno.EINVAL, "not a path inside the tree", folder)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        fd = os.open(self.root, flags)
        try:
            for part in parts:
                try:
                    below = os.open(part, flags | os.O_NOFOLLOW, dir_fd=fd)
                except FileNotFoundError:
                    if not create:
                        raise
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=fd)
                    os.fsync(fd)
                    below = os.open(part, flags | os.O_NOFOLLOW, dir_fd=fd)
                os.close(fd)
                fd = below
        except BaseException:
            os.close(fd)
            raise
        return fd


def stores_in(root: str) -> list[StoreRef]:
    """Return the stores that have a folder in the tree at `root`; folders with other names aren't ours."""
    names = ["global"] if os.path.isdir(os.path.join(root, "global")) else []
    with suppress(OSError):  # no project yet
        names += [f"project-{entry.name}" for entry in os.scandir(os.path.join(root, "projects"))]
    stores = []
    for name in sorted(names):
        with suppress(StoreNotFound):
            stores.append(store_named(name))
    return stores


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
