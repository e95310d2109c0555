"""One open database that mirrors lane files: what can be asked of it and how it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from coffer.infrastructure.failpoints import Reached
from coffer.infrastructure.index import rows, schema
from coffer.infrastructure.index.connections import Connections, DatabaseError
from coffer.infrastructure.index.reconcile import Committed, Inspect, Reconciliation, calm, recall_seen
from coffer.infrastructure.index.records import Document, Match, Problem, StoreFiles
from coffer.infrastructure.index.scan import Seen
from coffer.infrastructure.index.search import search
from lanes.merging import conflict_original
from lanes.names import is_fact_id

_STORE = "store = (SELECT number FROM stores WHERE name = ?)"


class Database:
    """The tables behind one set of connections, with the stamps of the files that they were made from.

    Reading methods may run on many threads at once. Any method raises the driver's DatabaseError.
    """

    def __init__(
        self,
        connections: Connections,
        inspect: Inspect,
        committed: Committed,
        reached: Reached,
        now: Callable[[], int],
    ) -> None:
        self.connections = connections
        self._inspect = inspect
        self._committed = committed
        self._reached = reached
        self._now = now
        self._seen: dict[str, Seen] = {}

    def reconcile(self, stores: Sequence[StoreFiles]) -> None:
        """Bring the rows of these stores in line with their files."""
        with self.connections.lock:
            db = self.connections.writer
            each = {files.name: files for files in stores}
            for name in each.keys() - self._seen.keys():
                self._seen[name] = recall_seen(db, name)
            Reconciliation(db, self._inspect, self._committed, self._reached, self._now).run(
                [(files, self._seen[name]) for name, files in each.items()]
            )

    def take(self, store: str, files: Iterable[tuple[str, bytes]], moment: int) -> None:
        """Add a store from the path and bytes of its files, all of which were last changed at `moment`."""
        with self.connections.lock:
            db = self.connections.writer
            Reconciliation(db, self._inspect, self._committed, self._reached, self._now).take(
                store, files, moment
            )

    def search(self, query: str, stores: Sequence[str], limit: int) -> list[Match]:
        """Return the best passages, one a document."""
        with self.connections.reading() as db:
            return search(db, query, stores, limit)

    def documents(
        self, store: str, lanes: Sequence[str], limit: int, offset: int
    ) -> tuple[list[Document], int]:
        """Return a page of a store's documents, newest first, and how many there are."""
        where = f"{_STORE} AND lane IN ({','.join('?' * len(lanes))})"
        with self.connections.reading() as db:
            (total,) = db.execute(f"SELECT count(*) FROM documents WHERE {where}", (store, *lanes)).fetchone()
            page = rows.fetch(
                db,
                f"d.number IN (SELECT number FROM documents WHERE {where} "
                "ORDER BY updated_at DESC, id LIMIT ? OFFSET ?) ORDER BY d.updated_at DESC, d.id",
                (store, *lanes, limit, offset),
            )
        return [document for document, _, _ in page], total

    def document(self, store: str, fact_id: str) -> Document | None:
        """Return one document of a store."""
        if not is_fact_id(fact_id):
            return None
        with self.connections.reading() as db:
            found = rows.fetch(db, f"d.{_STORE} AND d.id = ?", (store, fact_id))
            return found[0][0] if found else None

    def holders(self, store: str, text: str) -> list[str]:
        """Return the paths of a store's documents whose text is exactly this."""
        key = rows.digest(text)
        if key is None:
            return []
        with self.connections.reading() as db:
            found = rows.fetch(db, f"d.{_STORE} AND d.digest = ? AND d.text = ?", (store, key, text))
            return sorted(document.path for document, _, _ in found)

    def counts(self, store: str) -> Mapping[str, int]:
        """Return how many documents each lane of a store has."""
        with self.connections.reading() as db:
            return dict(
                db.execute(
                    f"SELECT lane, count(*) FROM documents WHERE {_STORE} GROUP BY lane", (store,)
                ).fetchall()
            )

    def size(self) -> int:
        """Return how many documents there are."""
        with self.connections.reading() as db:
            return int(db.execute("SELECT count(*) FROM documents").fetchone()[0])

    def problems(self) -> list[Problem]:
        """Return every file that a person should look at."""
        with self.connections.reading() as db:
            found = [
                Problem(store, path, reason)
                for store, path, reasons in db.execute(
                    "SELECT s.name, f.path, f.problem FROM files f JOIN stores s ON s.number = f.store "
                    "WHERE f.problem <> ''"
                )
                for reason in reasons.split("\n")
            ]
            twins = rows.fetch(db, "d.own_id IS NOT NULL AND d.id <> d.own_id", ())
        found += [
            Problem(d.store, d.path, "another file has the same id; this one is known by its path")
            for d, _, _ in twins
            if conflict_original(d.path) is None  # told as a conflict
        ]
        for store, seen in list(self._seen.items()):
            found += [Problem(store, path, reason) for path, reason in seen.problems]
        return sorted(found, key=lambda problem: (problem.store, problem.path, problem.reason))

    def forget(self, store: str) -> None:
        """Remove a store's rows."""
        with self.connections.lock:
            db = self.connections.writer
            row = db.execute("SELECT number FROM stores WHERE name = ?", (store,)).fetchone()
            if row is not None:
                db.execute("BEGIN IMMEDIATE")
                self._reached("sql-begun")
                try:
                    writer = rows.Writer(db)
                    writer.remove(row[0])
                    writer.finish()
                    db.execute("DELETE FROM files WHERE store = ?", row)
                    db.execute("DELETE FROM stores WHERE number = ?", row)
                    db.execute("COMMIT")
                except BaseException:
                    with suppress(DatabaseError):
                        db.execute("ROLLBACK")
                    raise
                self._reached("sql-committed")
            self._seen.pop(store, None)

    def close(self, stamp: int | None) -> None:
        """Close the database; `stamp` None when what it holds isn't worth a word to the next start."""
        with self.connections.lock:
            try:
                if stamp is not None:
                    db = self.connections.writer
                    db.execute("BEGIN IMMEDIATE")
                    for store, seen in self._seen.items():
                        calm(db, store, seen)
                    schema.mark_closed(db, stamp)
                    db.execute("COMMIT")
                    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                self.connections.close()
