"""Small files of our own in git's folder, written whole before they are linked or renamed to where they count."""

from __future__ import annotations

import os


def write_new(path: str, *pieces: bytes, mode: int = 0o600) -> None:
    """Write a file in one go; one that is there is replaced, never written into, since it may be a held lock."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags, mode)
    except FileExistsError:
        os.unlink(path)
        handle = os.open(path, flags, mode)
    try:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


def read_text(path: str) -> str | None:
    """Return the first hundred bytes of a small file; None when it can't be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(100).decode("ascii", "replace")
    except OSError:
        return None
