"""Make what was written survive a loss of power.

On Linux one `syncfs` flushes every file and folder of the file system at once, which for the dozen small files
of a commit is several times cheaper than flushing each. It also waits for what other programs wrote, so after
a slow one the next commits flush their own files one by one. Elsewhere that is the only way; on macOS `fsync`
doesn't reach the platter and F_FULLFSYNC does.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence

SLOW_SECONDS = 0.1
CAUTIOUS_FLUSHES = 64
# What a file system answers that can't flush a folder; its entries are then as safe as it makes them.
_NO_FOLDER_FLUSH = {errno.EINVAL, errno.ENOTSUP}


def _syncfs() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


class Disk:
    """Flushes the files of one repository, in whichever way has lately been quicker."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._syncfs = _syncfs()
        self._cautious = 0
        self._handle: int | None = None

    def flush(self, files: Sequence[str]) -> None:
        """Flush `files` and the folders that lead to them; raises OSError when they can't be made durable."""
        if self._syncfs is None or self._cautious:
            self._cautious = max(0, self._cautious - 1)
            self.flush_each(files)
            return
        if self._handle is None:
            # Kept open: the kernel reports an earlier failure to write only to handles older than it.
            self._handle = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        device = os.fstat(self._handle).st_dev
        began = time.monotonic()
        failed = self._syncfs(self._handle)
        if time.monotonic() - began > SLOW_SECONDS:
            self._cautious = CAUTIOUS_FLUSHES
        # The error may be about another program's file: ask for ours by name.
        self.flush_each(files if failed else [name for name in files if _device(name) != device])

    def __del__(self) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def flush_each(self, files: Iterable[str]) -> None:
        """Flush each file, then each folder above it up to the repository's own."""
        folders: set[str] = set()
        for name in files:
            _flush_file(name)
            folder = os.path.dirname(name)
            while folder not in folders and folder != self._folder and folder != os.path.dirname(folder):
                folders.add(folder)
                folder = os.path.dirname(folder)
        flush_folders(folders)


def flush_folders(folders: Iterable[str]) -> None:
    """Flush the names in these folders; a folder that is gone is stood for by the nearest one above it."""
    if os.name == "nt":  # folders can't be opened there, and renames are journalled
        return
    for folder in sorted({_nearest(folder) for folder in folders}):
        handle = os.open(folder, os.O_RDONLY)
        try:
            _flush(handle)
        except OSError as error:
            if error.errno not in _NO_FOLDER_FLUSH:
                raise
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


def _flush_file(name: str) -> None:
    try:
        handle = os.open(name, os.O_RDONLY)
    except FileNotFoundError:
        return  # an object that was packed meanwhile, and flushed there
    try:
        _flush(handle)
    finally:
        os.close(handle)


def _flush(handle: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
        except OSError:
            pass  # a file system without it, such as a network mount: the plain call is all there is
    os.fsync(handle)
