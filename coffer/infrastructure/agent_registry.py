"""The registered agents, what was seen of them, and the way back for their files: kept in state.sqlite."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from coffer.domain.agents import Agent, Firing
from coffer.domain.originals import Original
from coffer.infrastructure.state import SqliteState

_COLUMNS = "name, type, config_dir, disable_native_memory, prompt_notes"
# A session that is older than this is over; its notes may be shown again.
_SESSION_DAYS = 30


class SqliteAgents:
    """Agents of one Coffer home. Changes are on disk once the next read has answered."""

    def __init__(self, state: SqliteState) -> None:
        self._state = state

    async def all(self) -> list[Agent]:
        rows = await self._state.fetch(f"SELECT {_COLUMNS} FROM agents ORDER BY name")
        return [Agent(name, kind, folder, bool(off), bool(notes)) for name, kind, folder, off, notes in rows]

    async def find(self, name: str) -> Agent | None:
        return next((agent for agent in await self.all() if agent.name == name), None)

    async def save(self, agent: Agent, native_prior: str | None) -> None:
        # A folder that is another agent's is ignored: a statement that fails would hold up all that are queued.
        self._state.put(
            f"INSERT OR IGNORE INTO agents ({_COLUMNS}, native_prior) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET disable_native_memory = excluded.disable_native_memory,"
            " prompt_notes = excluded.prompt_notes, native_prior = excluded.native_prior",
            agent.name,
            agent.type,
            agent.config_dir,
            agent.disable_native_memory,
            agent.prompt_notes,
            native_prior,
        )
        await self._state.fetch("SELECT 1")

    async def remove(self, name: str) -> None:
        self._state.put("DELETE FROM agents WHERE name = ?", name)
        self._state.put("DELETE FROM firings WHERE agent = ?", name)
        await self._state.fetch("SELECT 1")

    async def native_prior(self, name: str) -> str | None:
        rows = await self._state.fetch("SELECT native_prior FROM agents WHERE name = ?", name)
        return rows[0][0] if rows else None

    def fired(self, agent: str, event: str, time: str, error: str | None) -> None:
        self._state.put("INSERT OR REPLACE INTO firings VALUES (?, ?, ?, ?)", agent, event, time, error)

    async def firings(self, agent: str) -> Mapping[str, Firing]:
        rows = await self._state.fetch("SELECT event, time, error FROM firings WHERE agent = ?", agent)
        return {event: Firing(time, error) for event, time, error in rows}

    async def shown(self, session: str) -> frozenset[str]:
        rows = await self._state.fetch("SELECT note FROM notes WHERE session = ?", session)
        return frozenset(note for (note,) in rows)

    def show(self, session: str, notes: Collection[str], time: str) -> None:
        for note in notes:
            self._state.put("INSERT OR IGNORE INTO notes VALUES (?, ?, ?)", session, note, time)
        self._state.put(
            "DELETE FROM notes WHERE time < strftime('%Y-%m-%dT%H:%M:%SZ', ?, ?)",
            time,
            f"-{_SESSION_DAYS} days",
        )

    async def originals(self) -> Mapping[str, Original]:
        rows = await self._state.fetch("SELECT path, written, head, tail, middle FROM originals")
        return {path: Original(*way_back) for path, *way_back in rows}

    def keep_original(self, path: str, way_back: Original | None) -> None:
        if way_back is None:
            self._state.put("DELETE FROM originals WHERE path = ?", path)
        else:
            self._state.put(
                "INSERT OR REPLACE INTO originals VALUES (?, ?, ?, ?, ?)",
                path,
                way_back.written,
                way_back.head,
                way_back.tail,
                way_back.middle,
            )
