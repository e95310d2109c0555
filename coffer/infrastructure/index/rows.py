"""Documents into the tables and out again.

Every row is made from the file alone, never from the order of events, so an index that has seen a thousand
edits answers as a fresh one does.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from coffer.infrastructure.index import vocabulary
from coffer.infrastructure.index.connections import Connection
from coffer.infrastructure.index.passage_rows import Indexed, PassageRow, Piece, passage_rows
from coffer.infrastructure.index.records import Document
from lanes.knowledge import Note
from lanes.merging import conflict_original
from lanes.names import path_id
from lanes.passages import passages

_INSERT = (
    "INSERT INTO documents(store, path, lane, id, own_id, minted, title, actor, agent, origin_session_id, "
    "created_at, updated_at, etag, digest, description, pieces, ctx, text) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_PUT_IN = "INSERT INTO passages(rowid, title, body, meta, aux, ctx, scope) VALUES(?, ?, ?, ?, ?, ?, ?)"
_TAKE_OUT = (
    "INSERT INTO passages(passages, rowid, title, body, meta, aux, ctx, scope) "
    "VALUES('delete', ?, ?, ?, ?, ?, ?, ?)"
)
_MANY = 2000
_INDEXED = (
    "SELECT number, store, title, description, created_at, updated_at, pieces, ctx, text, own_id "
    "FROM documents WHERE "
)
_DOCUMENT = (
    "SELECT s.name, d.id, d.path, d.lane, d.title, d.description, d.actor, d.agent, d.origin_session_id, "
    "d.created_at, d.updated_at, d.text, d.etag, d.minted, d.number, d.pieces "
    "FROM documents d JOIN stores s ON s.number = d.store WHERE "
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document about to be written, with the times it will have."""

    note: Note
    ctx: str
    created_at: str
    updated_at: str


def entry(note: Note, ctx: str, mtime_ns: int) -> Entry:
    """Give a note its times.

    What the file says of itself beats the file system, also after an edit by hand: modification times are
    those of the last checkout, the same for every file of a fresh clone and different on every machine.
    """
    modified = _moment(mtime_ns)
    created, updated = note.created_at, note.updated_at
    return Entry(note, ctx, created or updated or modified, updated or created or modified)


def _moment(nanoseconds: int) -> str:
    try:
        time = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    except (ValueError, OverflowError, OSError):  # a file system may hold any 64 bits
        time = datetime.fromtimestamp(0, UTC)
    return time.replace(tzinfo=None).isoformat() + "Z"


def digest(text: str) -> int | None:
    """Return 64 bits that find a text without comparing every other; None for one that no file can hold."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return None
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), signed=True)


class Writer:
    """Writes documents in the open transaction; `finish` completes what else hangs on them.

    The rows of the full text are collected and written many at a time: FTS5 flushes its buffer whenever
    another statement comes between, which takes longer than all the rest.
    """

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._old: list[PassageRow] = []
        self._new: list[PassageRow] = []
        self._words: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._claims: set[tuple[int, str]] = set()

    def insert(self, store: int, path: str, etag: str, entry: Entry) -> None:
        """Write one document."""
        note = entry.note
        pieces: list[Piece] = [(piece.start, piece.end, piece.heading) for piece in passages(note.body)]
        pieces = pieces or [(0, 0, "")]
        own_id = note.id if note.minted else None
        times = entry.created_at, entry.updated_at
        values = (
            *(store, path, note.lane, note.id, own_id, note.minted, note.title, note.actor, note.agent),
            *(note.origin_session_id, *times, etag, digest(note.body)),
            *(note.description, json.dumps(pieces), entry.ctx, note.body),
        )
        number = self._db.execute(_INSERT, values).lastrowid
        assert number is not None
        found, held = passage_rows(
            Indexed(number, store, note.title, note.description, *times, pieces, entry.ctx, note.body)
        )
        self._new += found
        self._words[store].update(held)
        if own_id:
            self._claims.add((store, own_id))
        if len(self._new) >= _MANY:
            self._flush()

    def remove(self, store: int, path: str | None = None) -> None:
        """Remove the documents of a file, or all of a store."""
        condition, values = (
            ("store = ?", [store]) if path is None else ("store = ? AND path = ?", [store, path])
        )
        for row in self._db.execute(_INDEXED + condition, values).fetchall():
            found, held = passage_rows(Indexed(*(*row[:6], json.loads(row[6]), *row[7:9])))
            self._old += found
            self._words[store].subtract(held)
            if row[9]:
                self._claims.add((store, row[9]))
        self._db.execute(f"DELETE FROM documents WHERE {condition}", values)

    def finish(self) -> None:
        """Bring full text, vocabulary and ids in line with the documents."""
        self._flush()
        for store, words in self._words.items():
            vocabulary.add(self._db, store, words)
        for store, own_id in sorted(self._claims):
            self._settle(store, own_id)

    def _flush(self) -> None:
        # A number that became free may have been given away again, so what is old goes first.
        self._db.executemany(_TAKE_OUT, self._old)
        self._db.executemany(_PUT_IN, self._new)
        self._old.clear()
        self._new.clear()

    def _settle(self, store: int, own_id: str) -> None:
        """Give a claimed id to the oldest file that carries it; the others are known by their path.

        The second version of a text that two machines changed isn't older than the first, whatever it is called.
        """
        rows = self._db.execute(
            "SELECT number, path, id FROM documents WHERE store = ? AND own_id = ? ORDER BY created_at, path",
            (store, own_id),
        ).fetchall()
        rows.sort(key=lambda row: conflict_original(row[1]) is not None)
        for place, (number, path, known_as) in enumerate(rows):
            right = path_id(path) if place else own_id
            if right != known_as:
                self._db.execute(
                    "UPDATE documents SET id = ?, minted = ? WHERE number = ?", (right, not place, number)
                )


def fetch(
    db: Connection, condition: str, values: Iterable[object]
) -> list[tuple[Document, int, list[Piece]]]:
    """Return documents with their number and pieces; `condition` is SQL over `d` and what follows WHERE."""
    return [
        (Document(*(*row[:13], bool(row[13]))), row[14], json.loads(row[15]))
        for row in db.execute(_DOCUMENT + condition, tuple(values))
    ]
