"""state.sqlite: what this machine knows and can't rebuild (audit, tool calls, where projects live).

Rows are queued and written by one thread, many in one flushed transaction, so that no answer waits for a
disk flush of its own. A reader waits for what was queued before it; an orderly end writes all of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import trio

from coffer.domain.activity import AuditEvent, Invocation
from coffer.domain.errors import StateTooNew
from coffer.domain.facts import Caller
from coffer.infrastructure.sqlite import sqlite3

T = TypeVar("T")

# One entry a version; a database at version n needs the entries from n on. Never edit one that was released.
MIGRATIONS: tuple[Sequence[str], ...] = (
    (
        "CREATE TABLE audit (id INTEGER PRIMARY KEY, time TEXT NOT NULL, event TEXT NOT NULL, actor TEXT NOT NULL,"
        " agent TEXT, session TEXT, store TEXT, details TEXT NOT NULL)",
        "CREATE TABLE invocations (id INTEGER PRIMARY KEY, time TEXT NOT NULL, tool TEXT NOT NULL, agent TEXT,"
        " session TEXT, duration_ms REAL NOT NULL, outcome TEXT NOT NULL, error_code TEXT)",
        "CREATE TABLE roots (store TEXT PRIMARY KEY, root TEXT NOT NULL)",
    ),
    (
        "CREATE TABLE agents (name TEXT PRIMARY KEY, type TEXT NOT NULL, config_dir TEXT NOT NULL UNIQUE,"
        " disable_native_memory INTEGER NOT NULL, prompt_notes INTEGER NOT NULL, native_prior TEXT)",
        "CREATE TABLE firings (agent TEXT NOT NULL, event TEXT NOT NULL, time TEXT NOT NULL, error TEXT,"
        " PRIMARY KEY (agent, event))",
        "CREATE TABLE notes (session TEXT NOT NULL, note TEXT NOT NULL, time TEXT NOT NULL,"
        " PRIMARY KEY (session, note))",
    ),
    (
        "CREATE TABLE originals (path TEXT PRIMARY KEY, written TEXT NOT NULL, head INTEGER NOT NULL,"
        " tail INTEGER NOT NULL, middle BLOB)",
    ),
    (
        "CREATE TABLE sync (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE sync_accepted (reason TEXT NOT NULL, subject TEXT NOT NULL, PRIMARY KEY (reason, subject))",
        "CREATE TABLE sync_kept (path TEXT PRIMARY KEY, etag TEXT NOT NULL, since TEXT NOT NULL)",
    ),
)

Row = tuple[str, tuple[Any, ...]]


class SqliteState:
    """The state of one Coffer home. `run` has to be running for queued rows to reach the disk."""

    def __init__(self, path: str, now: Callable[[], str]) -> None:
        self._path = path
        self._now = now
        self._connection: Any = None
        self._queue: list[Row] = []
        self._roots: dict[str, str] = {}
        self._wake = trio.Event()
        self._thread = trio.CapacityLimiter(1)

    async def open(self) -> None:
        """Open and migrate; raises StateTooNew for a file of a newer Coffer, which is left as it is."""
        await self._in_thread(self._open)

    async def run(self) -> None:
        """Write queued rows until cancelled."""
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            await self._flush()

    async def close(self) -> None:
        """Write what is queued and close the file."""
        await self._flush()
        await self._in_thread(self._connection.close)

    # ── recording ─────────────────────────────────────────────────────────────────────────────────────────

    def audit(self, event: AuditEvent) -> None:
        caller = event.caller
        self.put(
            "INSERT INTO audit (time, event, actor, agent, session, store, details) VALUES (?, ?, ?, ?, ?, ?, ?)",
            event.time or self._now(),
            event.event,
            caller.actor,
            caller.agent,
            caller.session,
            event.store,
            json.dumps(dict(event.details)),
        )

    def invoked(self, invocation: Invocation) -> None:
        self.put(
            "INSERT INTO invocations (time, tool, agent, session, duration_ms, outcome, error_code)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            invocation.time,
            invocation.tool,
            invocation.agent,
            invocation.session,
            invocation.duration_ms,
            invocation.outcome,
            invocation.error_code,
        )

    def found_root(self, store: str, root: str) -> None:
        if self._roots.get(store) == root:
            return
        self._roots[store] = root
        self.put("INSERT OR REPLACE INTO roots (store, root) VALUES (?, ?)", store, root)

    def forget_root(self, store: str) -> None:
        if self._roots.pop(store, None) is not None:
            self.put("DELETE FROM roots WHERE store = ?", store)

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────

    async def audit_events(
        self, limit: int, before: str | None, event: str | None, store: str | None
    ) -> list[AuditEvent]:
        rows = await self._select(
            "time, event, actor, agent, session, store, details",
            "audit",
            {"time < ?": before, "event = ?": event, "store = ?": store},
            limit,
        )
        return [
            AuditEvent(
                event=name,
                caller=Caller(actor, agent, session),
                store=where,
                details=json.loads(details),
                time=time,
            )
            for time, name, actor, agent, session, where, details in rows
        ]

    async def invocations(
        self, limit: int, before: str | None, tool: str | None, agent: str | None
    ) -> list[Invocation]:
        rows = await self._select(
            "time, tool, agent, session, duration_ms, outcome, error_code",
            "invocations",
            {"time < ?": before, "tool = ?": tool, "agent = ?": agent},
            limit,
        )
        return [Invocation(*row) for row in rows]

    async def roots(self) -> Mapping[str, str]:
        return dict(self._roots)

    # ── the database ──────────────────────────────────────────────────────────────────────────────────────

    def put(self, statement: str, *values: object) -> None:
        """Queue a statement; every later `fetch` sees what it did."""
        # Half of a surrogate pair, from a folder's or an agent's name, is nothing that SQLite can store.
        clean = tuple(v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values)
        self._queue.append((statement, clean))
        self._wake.set()

    async def _flush(self) -> None:
        with trio.CancelScope(shield=True):
            await self._in_thread(self._write)

    async def _select(
        self, columns: str, table: str, conditions: Mapping[str, str | None], limit: int
    ) -> list[tuple[Any, ...]]:
        given = {condition: value for condition, value in conditions.items() if value is not None}
        where = f" WHERE {' AND '.join(given)}" if given else ""
        query = f"SELECT {columns} FROM {table}{where} ORDER BY id DESC LIMIT ?"
        return await self.fetch(query, *given.values(), limit)

    async def fetch(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query, after everything queued is written."""
        await self._flush()
        return await self._in_thread(lambda: self._connection.execute(query, values).fetchall())

    def _open(self) -> None:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            self._connection.close()
            raise StateTooNew(self._path)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA busy_timeout = 5000")
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            self._connection.execute("BEGIN IMMEDIATE")
            for statement in statements:
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA user_version = {number}")
            self._connection.execute("COMMIT")
        self._roots = dict(self._connection.execute("SELECT store, root FROM roots"))

    def _write(self) -> None:
        rows, self._queue = self._queue, []
        if not rows:
            return
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for statement, values in rows:
                self._connection.execute(statement, values)
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            # A full disk mustn't cost an event: what couldn't be written waits for the next flush.
            self._queue = rows + self._queue

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(work, limiter=self._thread)
