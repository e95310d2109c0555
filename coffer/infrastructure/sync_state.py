"""The remote, the last run, what a person said yes to and what is still open: kept in state.sqlite."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from coffer.domain.sync import Kept, RemoteSettings, SyncRun
from coffer.infrastructure.state import SqliteState


class SqliteSync:
    """Sync of one Coffer home. Changes are on disk when a method returns."""

    def __init__(self, state: SqliteState) -> None:
        self._state = state

    async def settings(self) -> RemoteSettings | None:
        found = await self._value("remote")
        return RemoteSettings(**found) if found else None

    async def save_settings(self, settings: RemoteSettings | None) -> None:
        if settings is None:
            self._state.put("DELETE FROM sync WHERE key != 'push'")
            self._state.put("DELETE FROM sync_accepted")
            await self._done()
        else:
            await self._save("remote", asdict(settings))

    async def runs(self) -> tuple[SyncRun | None, str | None]:
        last = await self._value("last_run")
        if last is None:
            return None, None
        lists = {name: tuple(value) for name, value in last.items() if isinstance(value, list)}
        return SyncRun(**{**last, **lists}), await self._value("last_success")

    async def note_run(self, run: SyncRun) -> None:
        if run.result in ("synced", "nothing"):
            await self._save("last_success", run.at)
        await self._save("last_run", asdict(run))

    async def accepted(self) -> Collection[tuple[str, str]]:
        return set(await self._state.fetch("SELECT reason, subject FROM sync_accepted"))

    async def accept(self, reason: str, subjects: Collection[str]) -> None:
        for subject in subjects:
            self._state.put("INSERT OR IGNORE INTO sync_accepted VALUES (?, ?)", reason, subject)
        await self._done()

    async def push_allowed(self) -> bool:
        return bool(await self._value("push"))

    async def allow_push(self, allowed: bool) -> None:
        await self._save("push", allowed)

    async def kept(self) -> list[Kept]:
        rows = await self._state.fetch("SELECT path, etag, since FROM sync_kept ORDER BY path")
        return [Kept(*row) for row in rows]

    async def keep(self, kept: Kept) -> None:
        self._state.put("INSERT OR REPLACE INTO sync_kept VALUES (?, ?, ?)", kept.path, kept.etag, kept.since)
        await self._done()

    async def settle(self, path: str) -> None:
        self._state.put("DELETE FROM sync_kept WHERE path = ?", path)
        await self._done()

    async def _value(self, key: str) -> Any:
        rows = await self._state.fetch("SELECT value FROM sync WHERE key = ?", key)
        return json.loads(rows[0][0]) if rows else None

    async def _save(self, key: str, value: object) -> None:
        self._state.put("INSERT OR REPLACE INTO sync VALUES (?, ?)", key, json.dumps(value))
        await self._done()

    async def _done(self) -> None:
        await self._state.fetch("SELECT 1")
