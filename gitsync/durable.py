"""Make what was written survive a loss of power.

On Linux one `syncfs` flushes every file and folder of the file system at once, which for the dozen small files of
a commit is several times cheaper than flushing each. It also waits for what other programs wrote, so after a slow
one the next commits flush their own files one by one. Elsewhere that is the only way; on macOS `fsync` doesn't
reach the platter and F_FULLFSYNC does.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable

SLOW_SECONDS = 0.1
CAUTIOUS_FLUSHES = 64
# What a file system answers that can't flush a folder; its entries are then as safe as it makes them.
_NO_FOLDER_FLUSH = {errno.EINVAL, errno.ENOTSUP}


def _syncfs() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


class Disk:
    """Flushes what is below `folder`, in whichever way has lately been quicker; raises OSError when it can't."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._syncfs = _syncfs()
        self._cautious = 0
        self._handle: int | None = None

    def __del__(self) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def flush(self, files: Collection[str]) -> None:
        """Flush `files` and the folders that lead to them."""
        self.flush_each(self._left_after_sync(files))

    def flush_folders(self, folders: Collection[str]) -> None:
        """Flush the names in `folders`; one that is gone is stood for by the nearest above it."""
        folders = {_nearest(folder) for folder in folders}
        _flush_folders(self._left_after_sync(folders) if len(folders) > 1 else folders)

    def flush_each(self, files: Iterable[str]) -> None:
        """Flush each file by itself, then each folder above it up to the repository's own."""
        folders: set[str] = set()
        for name in files:
            try:
                _flush(name)
            except FileNotFoundError:
                continue  # an object that was packed meanwhile, and flushed there
            folder = os.path.dirname(name)
            while folder not in folders and folder != self._folder and folder != os.path.dirname(folder):
                folders.add(folder)
                folder = os.path.dirname(folder)
        _flush_folders(folders)

    def _left_after_sync(self, names: Collection[str]) -> Collection[str]:
        """Flush the whole file system and return those of `names` that this doesn't cover."""
        if self._syncfs is None or self._cautious:
            self._cautious = max(0, self._cautious - 1)
            return names
        if self._handle is None:
            # Kept open: the kernel reports an earlier failure to write only to handles older than it.
            self._handle = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        began = time.monotonic()
        failed = self._syncfs(self._handle)
        if time.monotonic() - began > SLOW_SECONDS:
            self._cautious = CAUTIOUS_FLUSHES
        if failed:  # perhaps over another program's file: ask for ours by name
            return names
        device = os.fstat(self._handle).st_dev
        return [name for name in names if _device(name) != device]


def _flush_folders(folders: Iterable[str]) -> None:
    if os.name == "nt":  # folders can't be opened there, and renames are journalled
        return
    for folder in sorted(folders):
        try:
            _flush(folder)
        except OSError as error:
            if error.errno not in _NO_FOLDER_FLUSH:
                raise


def _flush(name: str) -> None:
    handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if sys.platform == "darwin":
            import fcntl

            try:
                fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
                return
            except OSError:
                pass  # a file system without it, such as a network mount: the plain call is all there is
        os.fsync(handle)
    finally:
        os.close(handle)


def _nearest(folder: str) -> str:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def _device(name: str) -> int | None:
    try:
        return os.lstat(name).st_dev
    except FileNotFoundError:
        return None
