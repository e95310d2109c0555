"""Journal: what happened, day by day, in one project. Recall finds it; it is never counted as facts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from coffer.application.lane_files import lane_files, write_lane
from coffer.application.remember import checked_text
from coffer.application.scope import project_of, project_store
from coffer.application.threads import in_thread
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, TreeView
from coffer.domain.errors import ConfigInvalid, FileUnreadable, ScopeUnresolved
from coffer.domain.facts import Actor, Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import Project, StoreRef
from lanes.errors import Unreadable
from lanes.journal import Entry, append_entry, day_of, journal_path, read_journal
from lanes.knowledge import derive_title
from lanes.layout import JOURNAL


@dataclass(frozen=True, slots=True)
class DayFile:
    """One day's file: `period` is the UTC day, `path` is relative to the tree."""

    period: str
    path: str
    content: bytes


class JournalService:
    """Appends to and reads the journal of the project that a folder belongs to."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    async def append(self, cwd: str, body: str, actor: Actor, source: str = "api") -> Entry | None:
        """Add an entry to today's file; None for a blank body, which writes nothing.

        Raises ScopeUnresolved outside a project, and what `append_to` raises.
        """
        caller = Caller(actor, folder=cwd)
        project = await project_of(self._ports, caller)
        return await append_to(self._ports, caller, project.store, body, source, project)

    async def read_recent(self, cwd: str, limit: int) -> list[Entry]:
        """Return the newest entries first, at most `limit`; none outside a project."""
        try:
            project = await project_of(self._ports, Caller(folder=cwd))
        except ScopeUnresolved:
            return []
        return await recent_entries(self._ports, await project_store(self._ports, project), limit)


async def append_to(
    ports: Ports, caller: Caller, store: StoreRef, body: str, source: str, project: Project | None = None
) -> Entry | None:
    """Add an entry to the day's file of a project's store; None for a blank body.

    The very same entry is kept once. Raises ConfigInvalid for the global store, MemoryRejected for a text
    that is too long or holds a secret, FileUnreadable where the day's file can't be extended without losing
    something.
    """
    if store.is_global:
        raise ConfigInvalid("name", "there is no global journal, a journal belongs to a project")
    if not body.strip():
        return None
    text = await checked_text(body, allow_secret=False)
    now = ports.clock.now()
    entry = Entry(now, caller.agent or caller.actor, source, text)

    def decide(view: TreeView, store: StoreRef) -> Sequence[Change]:
        path = f"{store.folder}/{journal_path(day_of(now))}"
        try:
            content = append_entry(view.read(path), day_of(now), entry)
        except Unreadable as problem:
            raise FileUnreadable(path, problem.reason) from problem
        return [] if content is None else [Change(path, content)]

    store, changed = await write_lane(ports, caller, store, project, "journal", derive_title(text), decide)
    if changed:
        ports.state.audit(AuditEvent("journal_append", caller, store.name, {"chars": len(text)}))
    return entry


async def recent_entries(ports: Ports, store: StoreRef, limit: int) -> list[Entry]:
    """Return a store's newest entries first, at most `limit`; a file that can't be read is passed over."""
    files = await days(ports, store)

    def newest() -> list[Entry]:
        found: list[Entry] = []
        for day in files:
            if len(found) >= limit:
                break
            with suppress(Unreadable):
                found += reversed(read_journal(day.content, day.period).entries)
        return found[: max(0, limit)]

    return await in_thread(newest)


async def days(ports: Ports, store: StoreRef) -> list[DayFile]:
    """Return a store's journal files, the newest day first."""
    return [
        DayFile(path.rpartition("/")[2].removesuffix(".md"), path, content)
        for path, content in reversed(await lane_files(ports, store, JOURNAL))
    ]
