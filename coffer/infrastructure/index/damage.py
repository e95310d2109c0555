"""An index file that can't be trusted is noticed before it is used, and put aside whole.

Nothing in it is lost by that: all of it is read again from the lane files. What must not happen is that a
log of the old file is replayed over a new one (SQLite does so without complaint, and its own check calls the
result sound), that a file is thrown away because the disk is full or a permission is missing, or that damage
in the middle of the file goes on answering.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from typing import Literal

from coffer.infrastructure.index import schema
from coffer.infrastructure.index.connections import Connections, DatabaseError, of_environment

Identity = tuple[tuple[int, int] | None, ...]

_TOO_NEW = "the index was made by a newer Coffer"
_Verdict = Literal["fit", "outdated", "damaged"]
_MAGIC = b"SQLite format 3\0"
_PARTS = ("", "-wal", "-shm")


class TooNew(Exception):
    """The index was made by a newer Coffer, whose work this one leaves alone."""


def open_index(path: str) -> Connections:
    """Open the index at `path`, or an empty one where there is none or the old one is of no use.

    Raises TooNew, and OSError or an error of the environment when the file can't be used now; then
    nothing was removed.
    """
    header = _header(path)
    if int.from_bytes(header[60:64]) > schema.VERSION and header.startswith(_MAGIC):
        raise TooNew(_TOO_NEW)
    if not header:
        remove(path)  # an empty file, or the log of one that is gone
        return _create(path)
    # SQLite would not only refuse a file without its mark but remove the log beside it.
    found = _open(path) if header.startswith(_MAGIC) else "damaged"
    if isinstance(found, Connections):
        return found
    if found == "outdated":
        remove(path)
    else:
        set_aside(path)
    return _create(path)


def _open(path: str) -> Connections | _Verdict:
    unchanged_since = _last_change(path)
    try:
        connections = Connections(path)
    except DatabaseError as error:
        if of_environment(error):
            raise
        return "damaged"
    verdict: _Verdict = "damaged"
    try:
        verdict = _judge(connections, unchanged_since)
    finally:
        if verdict != "fit":
            connections.close()
    return connections if verdict == "fit" else verdict


def _header(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(100)
    except FileNotFoundError:
        return b""


def _create(path: str) -> Connections:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connections = Connections(path)
    try:
        schema.create(connections.writer)
    except DatabaseError:
        connections.close()
        remove(path)
        raise
    return connections


def _judge(connections: Connections, unchanged_since: int | None) -> _Verdict:
    """Say what a database is good for; all of it is checked unless it is as it was when it was closed."""
    writer = connections.writer
    try:
        if writer.execute("PRAGMA user_version").fetchone()[0] > schema.VERSION:
            raise TooNew(_TOO_NEW)
        if schema.outdated(writer):
            return "outdated"
        trusted = unchanged_since == schema.closed_at(writer)
    except DatabaseError as error:
        if of_environment(error):
            raise
        return "damaged"
    return "fit" if schema.is_usable(writer) and (trusted or schema.is_whole(writer)) else "damaged"


def _last_change(path: str) -> int | None:
    """Return the file's modification time, None when a log beside it shows that it wasn't closed."""
    with suppress(FileNotFoundError):
        if os.stat(path + "-wal").st_size:
            return None
    return os.stat(path).st_mtime_ns


def identity(path: str) -> Identity:
    """Return which files are at `path` now; another answer later means somebody took them away."""
    found: list[tuple[int, int] | None] = []
    for part in _PARTS:
        try:
            stat = os.stat(path + part)
            found.append((stat.st_dev, stat.st_ino))
        except OSError:
            found.append(None)
    return tuple(found)


def remove(path: str) -> None:
    """Remove the database and what belongs to it."""
    for part in _PARTS:
        with suppress(FileNotFoundError):
            os.unlink(path + part)


def set_aside(path: str) -> str:
    """Move the database with its log into a folder beside it, the only one that is kept; return the folder."""
    earlier = damaged_folders(path)
    number = 1 + max((int(name.rpartition("-")[2]) for name in earlier), default=0)
    folder = f"{os.path.splitext(path)[0]}.damaged-{number}"
    os.mkdir(folder, 0o700)
    for part in _PARTS:
        with suppress(FileNotFoundError):
            os.rename(path + part, os.path.join(folder, os.path.basename(path) + part))
    for name in earlier:
        shutil.rmtree(name, ignore_errors=True)
    return folder


def damaged_folders(path: str) -> list[str]:
    """Return the folders beside `path` that hold a damaged index."""
    home, name = os.path.split(os.path.abspath(path))
    pattern = re.compile(re.escape(os.path.splitext(name)[0]) + r"\.damaged-[0-9]+")
    try:
        return [os.path.join(home, found) for found in os.listdir(home) if pattern.fullmatch(found)]
    except OSError:
        return []
