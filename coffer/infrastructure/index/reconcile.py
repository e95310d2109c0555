"""The index brought in line with the files, in one transaction that is begun only when something changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from coffer.domain.changes import etag_of
from coffer.infrastructure.failpoints import Reached
from coffer.infrastructure.index import rows
from coffer.infrastructure.index.connections import Connection, DatabaseError
from coffer.infrastructure.index.readers import READERS
from coffer.infrastructure.index.reading import Gone, read_files
from coffer.infrastructure.index.records import StoreFiles
from coffer.infrastructure.index.scan import Seen, Stamp, is_racy, scan
from lanes import lane_of
from lanes.errors import Unreadable
from lanes.names import is_portable

Inspect = Callable[[str], str | None]
Committed = Callable[[str, str], bytes | None]
"""The last committed bytes of a file, by store name and path inside the store."""


class Reconciliation:
    """One pass over some stores.

    Readers see all of it or nothing. What was seen of the files is noted only after the commit, so after
    a failure the next pass finds the same differences again.
    """

    def __init__(
        self,
        db: Connection,
        inspect: Inspect,
        committed: Committed,
        reached: Reached,
        now: Callable[[], int],
    ) -> None:
        self._db = db
        self._inspect = inspect
        self._committed = committed
        self._reached = reached
        self._now = now
        self._numbers: dict[str, int] = {}
        self._writer = rows.Writer(db)
        self._noted: list[tuple[Seen, str, Stamp | None, bool]] = []

    def run(self, stores: Sequence[tuple[StoreFiles, Seen]]) -> None:
        """Look at every store, write what changed, commit."""
        scanned: list[tuple[Seen, list[tuple[str, str]]]] = []
        try:
            for files, seen in stores:
                now = self._now()
                changes = scan(files.folder, seen)
                for folder, names in changes.suspects:
                    changes.problems += self._folder(files, seen, folder, names, now)
                scanned.append((seen, changes.problems))
            if committed := self._db.in_transaction:
                self._commit(stores)
        except BaseException:
            if self._db.in_transaction:
                with suppress(DatabaseError):
                    self._db.execute("ROLLBACK")
            raise
        for seen, problems in scanned:
            seen.problems = problems
        for seen, path, stamp, racy in self._noted:
            if stamp is None:
                seen.drop(path)
            else:
                seen.keep(path, stamp, racy)
        if committed:
            self._reached("sql-committed")

    def take(self, store: str, files: Iterable[tuple[str, bytes]], moment: int) -> None:
        """Write the files of a new store as they are given; what belongs to no recalled lane is passed over."""
        for path, data in files:
            lane = lane_of(path)
            if lane is not None and lane.name in READERS:
                self._file(store, Seen(), path, data, (moment, moment, len(data), 0), moment)
        if self._db.in_transaction:
            self._commit([])

    def _folder(
        self, files: StoreFiles, seen: Seen, folder: str, names: Sequence[str], now: int
    ) -> list[tuple[str, str]]:
        """Read what looks changed in one folder; return what stands in the way."""
        problems: list[tuple[str, str]] = []
        for name, found in read_files(files.folder, folder, names):
            path = f"{folder}/{name}"
            if isinstance(found, Gone):
                self._gone(files.name, seen, path)
                problems += [(path, found.problem)] if found.problem else []
            elif isinstance(found, OSError):
                problems.append((path, f"can't be read: {found.strerror}"))
            else:
                self._file(files.name, seen, path, *found, now)
        return problems

    def _file(self, store: str, seen: Seen, path: str, data: bytes, stamp: Stamp, now: int) -> None:
        racy = is_racy(stamp, now)
        etag = etag_of(data)
        signature = " ".join(map(str, stamp))
        last = self._last(store, path) if seen.knows(path) else None
        self._noted.append((seen, path, stamp, racy))
        if last == (signature, etag):
            if not racy:
                seen.calm.add(path)
            return
        number = self._begin(store)
        problems = [] if all(map(is_portable, path.split("/"))) else ["not a portable name"]
        try:
            self._replace(number, path, etag, data, stamp, new=last is None)
        except Unreadable as unreadable:
            problems.append(unreadable.reason)
            self._recover(store, number, path, stamp)
        if found := self._inspect(data.decode(errors="replace")):
            problems.append(found)
        self._db.execute(
            "INSERT OR REPLACE INTO files(store, path, stamp, racy, etag, problem) VALUES(?, ?, ?, ?, ?, ?)",
            (number, path, signature, racy, etag, "\n".join(problems)),
        )

    def _recover(self, name: str, store: int, path: str, stamp: Stamp) -> None:
        """Where the index has no earlier version of an unreadable file, as when it is new, take the committed one."""
        held = "SELECT 1 FROM documents WHERE store = ? AND path = ?"
        if self._db.execute(held, (store, path)).fetchone():
            return
        data = self._committed(name, path)
        if data is not None:
            with suppress(Unreadable):
                self._replace(store, path, etag_of(data), data, stamp, new=True)

    def _replace(self, store: int, path: str, etag: str, data: bytes, stamp: Stamp, new: bool) -> None:
        lane = lane_of(path)
        assert lane is not None
        entries = [rows.entry(note, ctx, stamp[0]) for note, ctx in READERS[lane.name](path, data)]
        if not new:
            held = self._db.execute(
                "SELECT etag, created_at, updated_at FROM documents WHERE store = ? AND path = ? ORDER BY number",
                (store, path),
            ).fetchall()
            if held == [(etag, entry.created_at, entry.updated_at) for entry in entries]:
                return  # only touched
            self._writer.remove(store, path)
        for entry in entries:
            self._writer.insert(store, path, etag, entry)

    def _last(self, store: str, path: str) -> tuple[str, str] | None:
        row: tuple[str, str] | None = self._db.execute(
            "SELECT stamp, etag FROM files WHERE path = ? AND store = (SELECT number FROM stores WHERE name = ?)",
            (path, store),
        ).fetchone()
        return row

    def _gone(self, store: str, seen: Seen, path: str) -> None:
        self._noted.append((seen, path, None, False))
        if seen.knows(path):
            number = self._begin(store)
            self._writer.remove(number, path)
            self._db.execute("DELETE FROM files WHERE store = ? AND path = ?", (number, path))

    def _begin(self, store: str) -> int:
        """Make sure that a transaction is open and return the store's number."""
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")
            self._reached("sql-begun")
        if store not in self._numbers:
            self._db.execute("INSERT OR IGNORE INTO stores(name) VALUES(?)", (store,))
            self._numbers |= self._db.execute("SELECT name, number FROM stores").fetchall()
        return self._numbers[store]

    def _commit(self, stores: Sequence[tuple[StoreFiles, Seen]]) -> None:
        self._writer.finish()
        for files, seen in stores:
            calm(self._db, files.name, seen)
        self._db.execute("COMMIT")
        for _, seen in stores:
            seen.calm.clear()


def calm(db: Connection, store: str, seen: Seen) -> None:
    """Write down which files needn't be verified again after a restart."""
    db.executemany(
        "UPDATE files SET racy = 0 WHERE path = ? AND store = (SELECT number FROM stores WHERE name = ?)",
        [(path, store) for path in seen.calm],
    )


def recall_seen(db: Connection, store: str) -> Seen:
    """Return what the index knows of a store's files."""
    seen = Seen()
    for path, stamp, racy in db.execute(
        "SELECT path, stamp, racy FROM files WHERE store = (SELECT number FROM stores WHERE name = ?)",
        (store,),
    ):
        mtime, ctime, size, inode = map(int, stamp.split())
        seen.keep(path, (mtime, ctime, size, inode), bool(racy))
    return seen
