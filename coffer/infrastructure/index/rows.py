"""Documents into the tables and out again.

Every row is made from the file alone, never from the order of events, so an index that has seen a thousand
edits answers as a fresh one does.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from coffer.infrastructure.index.connections import Connection
from coffer.infrastructure.index.passage_rows import Indexed, Piece, passage_rows
from coffer.infrastructure.index.records import Document
from lanes.knowledge import Note
from lanes.names import path_id
from lanes.passages import passages

_INSERT = (
    "INSERT INTO documents(store, path, lane, id, own_id, minted, title, actor, agent, origin_session_id, "
    "created_at, updated_at, etag, digest, description, pieces, ctx, text) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_PASSAGE = (
    "INSERT INTO passages(rowid, title, body, meta, aux, ctx, scope) VALUES(?, ?, ?, ?, ?, ?, ?)",
    "INSERT INTO passages(passages, rowid, title, body, meta, aux, ctx, scope) "
    "VALUES('delete', ?, ?, ?, ?, ?, ?, ?)",
)
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


def insert(db: Connection, store: int, path: str, etag: str, entry: Entry, words: Counter[str]) -> None:
    """Write one document with its passages, and add its words to `words`."""
    note = entry.note
    pieces: list[Piece] = [(piece.start, piece.end, piece.heading) for piece in passages(note.body)]
    pieces = pieces or [(0, 0, "")]
    values = (
        *(store, path, note.lane, note.id, note.id if note.minted else None, note.minted, note.title),
        *(note.actor, note.agent, note.origin_session_id, entry.created_at, entry.updated_at),
        *(etag, digest(note.body), note.description, json.dumps(pieces), entry.ctx, note.body),
    )
    number = db.execute(_INSERT, values).lastrowid
    assert number is not None
    times = entry.created_at, entry.updated_at
    found, held = passage_rows(
        Indexed(number, store, note.title, note.description, *times, pieces, entry.ctx, note.body)
    )
    db.executemany(_PASSAGE[0], found)
    words.update(held)


def remove(db: Connection, store: int, path: str, words: Counter[str]) -> list[str]:
    """Remove a file's documents, take their words from `words`, and return the ids that they claimed."""
    return _remove(db, "store = ? AND path = ?", (store, path), words)


def remove_store(db: Connection, store: int) -> None:
    """Remove everything that is known of a store."""
    _remove(db, "store = ?", (store,), Counter())
    for table in ("files", "vocabulary"):
        db.execute(f"DELETE FROM {table} WHERE store = ?", (store,))
    db.execute("DELETE FROM stores WHERE number = ?", (store,))


def _remove(db: Connection, condition: str, values: tuple[int | str, ...], words: Counter[str]) -> list[str]:
    claimed: list[str] = []
    for row in db.execute(_INDEXED + condition, values).fetchall():
        found, held = passage_rows(Indexed(*(*row[:6], json.loads(row[6]), *row[7:9])))
        db.executemany(_PASSAGE[1], found)
        db.execute("DELETE FROM documents WHERE number = ?", (row[0],))
        words.subtract(held)
        claimed += [row[9]] if row[9] else []
    return claimed


def settle(db: Connection, store: int, own_id: str) -> None:
    """Give a claimed id to the oldest file that carries it; the others are known by their path."""
    rows = db.execute(
        "SELECT number, path, id FROM documents WHERE store = ? AND own_id = ? ORDER BY created_at, path",
        (store, own_id),
    ).fetchall()
    for place, (number, path, known_as) in enumerate(rows):
        right = path_id(path) if place else own_id
        if right != known_as:
            db.execute("UPDATE documents SET id = ?, minted = ? WHERE number = ?", (right, not place, number))


def fetch(
    db: Connection, condition: str, values: Iterable[object]
) -> list[tuple[Document, int, list[Piece]]]:
    """Return documents with their number and pieces; `condition` is SQL over `d` and what follows WHERE."""
    return [
        (Document(*(*row[:13], bool(row[13]))), row[14], json.loads(row[15]))
        for row in db.execute(_DOCUMENT + condition, tuple(values))
    ]
