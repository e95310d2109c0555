"""Journal: what happened, day by day, in one project. Recall finds it; it is never counted as facts."""

from __future__ import annotations

from dataclasses import dataclass

from coffer.application.remember import checked_text
from coffer.application.scope import new_store_changes, project_of, subject_line
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView
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
    text: str
    path: str


class JournalService:
    """Appends to and reads the journal of the project that a folder belongs to."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    async def append(self, cwd: str, body: str, actor: Actor, source: str = "api") -> Entry | None:
        """Add an entry to today's file; None for a blank body, which writes nothing.

        Raises ScopeUnresolved outside a project.
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
        return await recent_entries(self._ports, project.store, limit)


async def append_to(
    ports: Ports, caller: Caller, store: StoreRef, body: str, source: str, project: Project | None = None
) -> Entry | None:
    """Add an entry to the day's file of a project store; None for a blank body.

    The very same entry is kept once. Raises MemoryRejected for a secret, FileUnreadable where the day's file
    can't be extended without losing something.
    """
    if store.is_global:
        raise ConfigInvalid("name", "there is no global journal; a journal belongs to a project")
    if not body.strip():
        return None
    text = checked_text(body, allow_secret=False)
    now = ports.clock.now()
    entry = Entry(now, caller.agent or caller.actor, source, text)
    path = f"{store.folder}/{journal_path(day_of(now))}"

    def plan(view: TreeView) -> Planned[None]:
        try:
            content = append_entry(view.read(path), day_of(now), entry)
        except Unreadable as problem:
            raise FileUnreadable(path, problem.reason) from problem
        if content is None:
            return Planned(None)
        changes = [*new_store_changes(view, store, project), Change(path, content)]
        subject = subject_line("journal", derive_title(text))
        return Planned(None, ChangeSet("journal", subject, store.name, caller, tuple(changes)))

    await ports.tree.write(plan)
    ports.state.audit(AuditEvent("journal_append", caller, store.name, {"chars": len(text)}))
    return entry


async def recent_entries(ports: Ports, store: StoreRef, limit: int) -> list[Entry]:
    """Return a store's newest entries first, at most `limit`; a file that can't be read is passed over."""
    found: list[Entry] = []
    for day in await days(ports, store):
        if len(found) >= limit:
            break
        try:
            entries = read_journal(day.text.encode("utf-8", "surrogateescape"), day.period).entries
        except Unreadable:
            continue
        found += reversed(entries)
    return found[: max(0, limit)]


async def days(ports: Ports, store: StoreRef) -> list[DayFile]:
    """Return a store's journal files, the newest day first."""
    folder = f"{store.folder}/{JOURNAL}/"
    files = [
        DayFile(path.removeprefix(folder).removesuffix(".md"), content.decode("utf-8", "replace"), path)
        for path, content in await ports.tree.contents(f"{store.folder}/{JOURNAL}")
        if path.endswith(".md")
    ]
    return sorted(files, key=lambda file: file.period, reverse=True)
