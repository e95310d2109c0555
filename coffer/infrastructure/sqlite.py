"""The SQLite that Coffer uses: one choice for the index and for the state.

pysqlite3 carries SQLite 3.53, which has FTS5, loadable extensions and the fix for the WAL-reset corruption
of 3.7.0 to 3.51.2. Where it has no wheel, sqlean and then the interpreter's own module serve; that fault
needs two connections that write or checkpoint at once, so with every driver one connection alone does both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import pysqlite3.dbapi2 as sqlite3
    except ImportError:
        try:
            import sqlean.dbapi2 as sqlite3
        except ImportError:
            import sqlite3

DRIVER = sqlite3.__name__.partition(".")[0]
VERSION = tuple(int(part) for part in sqlite3.sqlite_version.split("."))

__all__ = ["DRIVER", "VERSION", "sqlite3"]
