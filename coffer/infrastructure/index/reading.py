"""The bytes of one file, all from the same moment, or the reason why not."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence

from coffer.infrastructure.index.scan import OPEN_FOLDER, Stamp, stamp_of

_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_BYTES = (1 << 20) + 1  # one more than a lane file may have, so that lanes says so
_ATTEMPTS = 3


class Gone(Exception):
    """There is no such file in the store any more; `problem` says what stands in its place, if anything."""

    def __init__(self, problem: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem


def read_files(
    root: str, folder: str, names: Sequence[str]
) -> Iterator[tuple[str, tuple[bytes, Stamp] | Gone | OSError]]:
    """Yield each file of one folder of a store, or what stands in the way of reading it."""
    try:
        handle = _folder_inside(root, folder)
    except (Gone, OSError) as error:
        yield from ((name, error) for name in names)
        return
    try:
        for name in names:
            try:
                yield name, _read_whole(handle, name)
            except (Gone, OSError) as error:
                yield name, error
    finally:
        os.close(handle)


def _folder_inside(root: str, folder: str) -> int:
    """Open a folder of a store without following a symbolic link."""
    handle = _enter(root, None)
    for name in folder.split("/"):
        try:
            inner = _enter(name, handle)
        finally:
            os.close(handle)
        handle = inner
    return handle


def _enter(name: str, parent: int | None) -> int:
    try:
        return os.open(name, OPEN_FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise Gone from None
        raise


def _read_whole(folder: int, name: str) -> tuple[bytes, Stamp]:
    """Return a file's bytes and the stamp they had; raises Gone, or OSError also while it keeps changing."""
    for _ in range(_ATTEMPTS):
        try:
            handle = os.open(name, _OPEN_FILE, dir_fd=folder)
        except FileNotFoundError:
            raise Gone from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Gone("symbolic link, not followed") from None
            raise
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                raise Gone("not a regular file")
            data = _read(handle)
            if stamp_of(before) == stamp_of(os.fstat(handle)):
                return data, stamp_of(before)
        finally:
            os.close(handle)
    raise OSError(errno.EAGAIN, "changes while it is read")


def _read(handle: int) -> bytes:
    parts: list[bytes] = []
    left = _MAX_BYTES
    while left and (part := os.read(handle, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
