"""How the index's database is opened, who may write it, and what its errors mean."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from urllib.parse import quote

from coffer.infrastructure.sqlite import sqlite3

Connection = sqlite3.Connection
DatabaseError = sqlite3.DatabaseError

_BUSY_SECONDS = 5.0
_IDLE_READERS = 2
_ENVIRONMENT = frozenset({3, 5, 6, 7, 8, 10, 13, 14, 15, 23})
"""PERM BUSY LOCKED NOMEM READONLY IOERR FULL CANTOPEN PROTOCOL AUTH: nothing is wrong with the data."""


def of_environment(error: BaseException) -> bool:
    """Say whether an error is about disk, permission, memory or locks rather than about the file's content."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, OSError) or (isinstance(code, int) and code & 0xFF in _ENVIRONMENT)


class Connections:
    """One database: the connection that writes, and as many that read as there are threads reading at once.

    `path` None is a database in memory, whose only connection is lent to one thread after the other.
    The file must exist: nothing here creates one, so a deleted index can't come back half. Readers open it
    read-only, so that the last of an old one to close can't remove the log of the new one by its name.
    """

    def __init__(self, path: str | None) -> None:
        self._uri = path and f"file:{quote(os.path.abspath(path))}"
        self._idle: list[Connection] = []
        self._closed = False
        self.lock = threading.RLock()
        # A file system without shared memory keeps another journal mode; that is slower, not wrong.
        self.writer = _open(
            f"{self._uri}?mode=rw" if self._uri else ":memory:",
            ("journal_mode = WAL", "synchronous = NORMAL", "journal_size_limit = 4194304"),
        )

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection whose statements all see the same moment and can't write."""
        if self._uri is None:
            with self.lock:
                yield self.writer
            return
        connection = self._take()
        keep = False
        try:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
            keep = not self._closed and len(self._idle) < _IDLE_READERS
        finally:
            if keep:
                self._idle.append(connection)
            else:
                connection.close()

    def _take(self) -> Connection:
        if self._closed:
            raise sqlite3.ProgrammingError("this index was closed")
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        return _open(f"{self._uri}?mode=ro", ("query_only = 1",))

    def close(self) -> None:
        """Close every connection; one that is lent is closed when it comes back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        self.writer.close()


def _open(path: str, pragmas: tuple[str, ...]) -> Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True
    )
    try:
        for pragma in (*pragmas, "cache_size = -1024", "trusted_schema = 0"):
            connection.execute(f"PRAGMA {pragma}")
    except DatabaseError:
        connection.close()
        raise
    return connection
