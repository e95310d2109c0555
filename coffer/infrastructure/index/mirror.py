"""The index that always answers: from its file, or from memory while the file can't be used."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from coffer.infrastructure.failpoints import Reached, ignore
from coffer.infrastructure.index import damage, schema
from coffer.infrastructure.index.connections import Connections, DatabaseError, of_environment
from coffer.infrastructure.index.database import Database
from coffer.infrastructure.index.records import Document, IndexState, Match, Problem, StoreFiles
from coffer.infrastructure.sqlite import DRIVER, sqlite3

__all__ = ["Document", "IndexState", "Match", "Problem", "SearchIndex", "StoreFiles"]

T = TypeVar("T")

_SECOND = 1_000_000_000
_RETRY_AFTER = 60 * _SECOND
_FAILURES = (DatabaseError, OSError, damage.TooNew)


class SearchIndex:
    """A mirror of all stores' recalled files in one SQLite file, made again whenever it isn't one.

    Synchronous; every method may be called on any thread. Reads see what the last `reconcile` committed.
    How the file fares never shows in an answer: a damaged or deleted one is made again from the lane files,
    and where that is impossible (no space, no permission, locked, made by a newer Coffer) the same rows are
    kept in memory, while the file stays as it is and is tried again later.

    Ranking depends on every store that is indexed, so reconcile all of them once after the start.
    `inspect` returns what is to be reported of a file's text, if anything; `committed` the last committed
    bytes of a file (store name, path inside it), which stand in for one that can't be read and was never
    indexed; `reached` hears the failpoints; `now` is the time in nanoseconds as files tell it.
    """

    def __init__(
        self,
        path: str,
        *,
        inspect: Callable[[str], str | None] = lambda text: None,
        committed: Callable[[str, str], bytes | None] = lambda store, path: None,
        reached: Reached = ignore,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self._path = path
        self._inspect = inspect
        self._committed = committed
        self._reached = reached
        self._now = now
        self._lock = threading.RLock()
        self._stores: dict[str, StoreFiles] = {}
        self._files: damage.Identity = ()
        self._reason: str | None = None
        self._tried = 0
        self._closed = False
        try:
            self._database = self._on_file()
        except _FAILURES as error:
            self._database = self._in_memory(error)

    def reconcile(self, stores: Sequence[StoreFiles]) -> None:
        """Bring these stores in line with their files: all of them in one transaction, never half a file."""
        with self._lock:
            self._stores |= {files.name: files for files in stores}
            if self._reason is not None:
                self._try_the_file()
            elif damage.identity(self._path) != self._files:
                self._make_again(self._database)
            self._run(lambda database: database.reconcile(stores))

    def search(self, query: str, stores: Sequence[str], limit: int) -> list[Match]:
        """Return the best passages of these stores, one a document. Any text is a query."""
        return self._run(lambda database: database.search(query, stores, limit))

    def documents(
        self, store: str, lanes: Sequence[str], limit: int, offset: int
    ) -> tuple[list[Document], int]:
        """Return a page of a store's documents in some lanes, newest first, and how many there are."""
        return self._run(lambda database: database.documents(store, lanes, limit, offset))

    def document(self, store: str, id: str) -> Document | None:
        """Return one document, None when the store has none of that id."""
        return self._run(lambda database: database.document(store, id))

    def holders(self, store: str, text: str) -> list[str]:
        """Return the paths whose text is exactly this."""
        return self._run(lambda database: database.holders(store, text))

    def counts(self, store: str) -> Mapping[str, int]:
        """Return how many documents each lane of a store has."""
        return self._run(lambda database: database.counts(store))

    def problems(self) -> list[Problem]:
        """Return every file that a person should look at, and why."""
        return self._run(lambda database: database.problems())

    def forget(self, store: str) -> None:
        """Drop a store that is no more."""
        with self._lock:
            self._stores.pop(store, None)
            self._run(lambda database: database.forget(store))

    def state(self) -> IndexState:
        """Say how the index is kept."""
        documents = self._run(lambda database: database.size())
        set_aside = damage.damaged_folders(self._path)
        return IndexState(
            driver=DRIVER,
            sqlite_version=sqlite3.sqlite_version,
            place="file" if self._reason is None else "memory",
            documents=documents,
            reason=self._reason,
            set_aside=set_aside[0] if set_aside else None,
        )

    def close(self) -> None:
        """Close the file so that the next start can trust it without reading all of it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._reason is not None or damage.identity(self._path) != self._files:
                self._database.close(None)
                return
            # Whoever changes the file afterwards changes its time; whole seconds fit every file system.
            stamp = self._now() // _SECOND * _SECOND
            with suppress(*_FAILURES):
                self._database.close(stamp)
                os.utime(self._path, ns=(stamp, stamp))

    def _run(self, work: Callable[[Database], T]) -> T:
        """Do some work; when the database fails, mend it and do it again, and for the third time in memory."""
        failed = self._database
        try:
            return work(failed)
        except (DatabaseError, OSError) as error:
            self._mend(failed, error)
        failed = self._database
        try:
            return work(failed)
        except (DatabaseError, OSError) as error:
            self._retreat(failed, error)
        return work(self._database)

    def _mend(self, failed: Database, error: DatabaseError | OSError) -> None:
        with self._lock:
            if self._database is not failed:
                return  # another thread was first
            if self._closed or isinstance(error, sqlite3.ProgrammingError):
                raise error
            lost = self._reason is None and damage.identity(self._path) != self._files
            if of_environment(error) and not lost:
                self._retreat(failed, error)
            else:
                self._make_again(failed)

    def _make_again(self, failed: Database) -> None:
        """Put a damaged file aside, or clear away what is left of a deleted one, and read all files anew."""
        failed.close(None)
        try:
            if os.path.exists(self._path):
                damage.set_aside(self._path)
            self._database = self._on_file()
            self._database.reconcile(list(self._stores.values()))
        except _FAILURES as error:
            self._retreat(self._database, error)

    def _retreat(self, failed: Database, error: BaseException) -> None:
        """Leave the file as it is and go on in memory."""
        with self._lock:
            if self._database is not failed:
                return
            if self._closed:
                raise error
            failed.close(None)
            self._database = self._in_memory(error)
            self._database.reconcile(list(self._stores.values()))

    def _try_the_file(self) -> None:
        """Go back to the file when what stood in the way is gone."""
        if abs(self._now() - self._tried) < _RETRY_AFTER:
            return
        self._tried = self._now()
        with suppress(*_FAILURES):
            database = self._on_file()
            try:
                database.reconcile(list(self._stores.values()))
            except BaseException:
                database.close(None)
                raise
            self._database.close(None)
            self._database, self._reason = database, None

    def _on_file(self) -> Database:
        connections = damage.open_index(self._path)
        self._files = damage.identity(self._path)
        return Database(connections, self._inspect, self._committed, self._reached, self._now)

    def _in_memory(self, error: BaseException) -> Database:
        self._reason = str(error)
        self._tried = self._now()
        connections = Connections(None)
        schema.create(connections.writer)
        return Database(connections, self._inspect, self._committed, ignore, self._now)
