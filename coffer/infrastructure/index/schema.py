"""The tables of the index.

    about       what the index knows of itself: by which analysis it was made, how it was closed
    stores      a number for each store name
    files       every markdown file of a store as it was last seen, readable or not
    documents   the texts that are recalled
    passages    the searchable parts of documents (FTS5); rowid = document number * PASSAGES + position
    vocabulary  how many documents of a store hold a word, as it is typed

`passages` holds the index only, not the terms that it was made from. FTS5 would take rows out of such a table
by number too (contentless_delete), but up to SQLite 3.53 the totals that bm25 divides by don't notice, and
an index that was edited would rank unlike a fresh one; so rows are taken out by telling FTS5 their terms.
The last column holds one token a store, made of a private-use character and the store's number: no word of
a question can equal it, and a MATCH on it is how a search keeps to its stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from coffer.infrastructure.index import analyse
from coffer.infrastructure.index.connections import Connection, DatabaseError, of_environment

VERSION = 1
PASSAGES = 1 << 20

_PASSAGES = (
    "CREATE VIRTUAL TABLE passages USING fts5("
    "title, body, meta, aux, ctx, scope, content = '', tokenize = 'porter unicode61 remove_diacritics 2')"
)


def scope_token(store: int) -> str:
    """Return the token that marks the passages of a store."""
    return f"\ue000{store}"


def scope_filter(stores: Sequence[int]) -> str:
    """Return the part of a MATCH expression that keeps a search to `stores`."""
    return "scope : (" + " OR ".join(f'"{scope_token(store)}"' for store in stores) + ")"


def create(connection: Connection) -> None:
    """Create the tables in an empty database."""
    # Only a new index needs it, and it takes a tenth of a second and 15 MB to load.
    from sqlite_utils import Database
    from sqlite_utils.db import DescIndex

    db = Database(connection, recursive_triggers=False, execute_plugins=False)
    with db.conn:
        about = db.create_table("about", {"key": str, "value": str}, pk="key")
        db.create_table("stores", {"number": int, "name": str}, pk="number").create_index(
            ["name"], unique=True
        )
        db.create_table(
            "files",
            {"store": int, "path": str, "stamp": str, "racy": int, "etag": str, "problem": str},
            pk=("store", "path"),
        )
        documents = db.create_table(
            "documents",
            {
                "number": int,
                "store": int,
                "path": str,
                "lane": str,
                "id": str,
                "own_id": str,
                "minted": int,
                "title": str,
                "actor": str,
                "agent": str,
                "origin_session_id": str,
                "created_at": str,
                "updated_at": str,
                "etag": str,
                "digest": int,
                "description": str,
                "pieces": str,
                "ctx": str,
                "text": str,
            },
            pk="number",
        )
        for columns in (
            ["store", "path"],
            ["store", "id"],
            ["store", "own_id"],
            ["store", "digest"],
            ["store", DescIndex("updated_at"), "id", "lane"],
        ):
            documents.create_index(columns)
        db.create_table("vocabulary", {"store": int, "word": str, "df": int}, pk=("store", "word"))
        for n in (1, 2):
            db.execute(
                f"CREATE INDEX letter_{n} ON vocabulary(store, length(word), substr(word, {n}, 1), word)"
            )
        db.execute(_PASSAGES)
        about.insert_all([{"key": "analysis", "value": analyse.VERSION}, {"key": "closed", "value": ""}])
    connection.execute(f"PRAGMA user_version = {VERSION}")


def outdated(connection: Connection) -> bool:
    """Say whether the tables were made by an older version, or by another analysis of text."""
    if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        return True
    row = connection.execute("SELECT value FROM about WHERE key = 'analysis'").fetchone()
    return bool(row != (analyse.VERSION,))


def is_usable(connection: Connection) -> bool:
    """Say whether every table is there and this SQLite can read it."""
    try:
        connection.execute("SELECT rowid FROM passages WHERE passages MATCH '\"a\"' LIMIT 1").fetchone()
        for table in ("stores", "files", "documents", "vocabulary"):
            connection.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
    except DatabaseError as error:
        if of_environment(error):
            raise
        return False
    return True


def is_whole(connection: Connection) -> bool:
    """Check every page and the full text; reading alone passes over damage in the middle."""
    try:
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            return False
        connection.execute("INSERT INTO passages(passages) VALUES('integrity-check')")
    except DatabaseError as error:
        if of_environment(error):
            raise
        return False
    return True


def closed_at(connection: Connection) -> int | None:
    """Return the modification time that the file was given when it was last closed in order."""
    row = connection.execute("SELECT value FROM about WHERE key = 'closed'").fetchone()
    return int(row[0]) if row and str(row[0]).isdecimal() else None


def mark_closed(connection: Connection, stamp: int) -> None:
    """Note the modification time that the file is about to be given."""
    connection.execute("UPDATE about SET value = ? WHERE key = 'closed'", (str(stamp),))
