"""Read small files that somebody else may have put there."""

from __future__ import annotations

import os
import stat

Signature = tuple[int, int, int, int]


def read_plain(path: str, limit: int) -> bytes | None:
    """Return a regular file's bytes; None when there is no such file or it is larger than the limit."""
    try:
        found = os.stat(path)
        # Opening a pipe would wait for its other end, opening a device may set it off.
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            return None
        with open(path, "rb", buffering=0) as file:
            return file.read(limit)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None


def signature(path: str) -> Signature | None:
    """Return what changes when the file does; None when there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
