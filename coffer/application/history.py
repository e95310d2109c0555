"""History: what happened to a store or a fact, and bringing an earlier version back."""

from __future__ import annotations

from dataclasses import replace

from coffer.application.curate import get_fact
from coffer.application.live_store import in_live_store
from coffer.application.remember import fact_from
from coffer.application.scope import new_store_changes, settings_of, subject_line
from coffer.application.topics import with_index
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView
from coffer.domain.errors import ConfigInvalid, FileUnreadable, MemoryNotFound
from coffer.domain.facts import Caller, CommitInfo, Fact, Version
from coffer.domain.ports import Ports
from coffer.domain.stores import StoreRef
from lanes.errors import Unreadable
from lanes.layout import KNOWLEDGE, store_folder
from lanes.names import is_fact_id, is_ulid

MAX_COMMITS = 500


async def store_history(
    ports: Ports, store: StoreRef, path: str | None = None, limit: int = 50, before: str | None = None
) -> list[CommitInfo]:
    """Return the commits that touched a store, or one path inside it, newest first."""
    _check_limit(limit)
    if path is not None and (path.startswith("/") or ".." in path.split("/") or "\0" in path):
        raise ConfigInvalid("path", "must be a path inside the store")
    prefix = f"{store.folder}/{path.strip('/')}" if path else store.folder
    return await ports.history.commits(prefix, limit, before)


async def whole_history(ports: Ports, limit: int = 50, before: str | None = None) -> list[CommitInfo]:
    """Return the commits of the whole memory tree, newest first."""
    _check_limit(limit)
    return await ports.history.commits("", limit, before)


async def fact_history(ports: Ports, store: StoreRef, fact_id: str, limit: int = 50) -> list[Version]:
    """Return every committed version of a fact, newest first, also of one that was deleted."""
    path = await _path_of(ports, store, fact_id)
    versions = []
    for info in await ports.history.commits(path, limit, None):
        content = await ports.history.read_at(info.commit, path)
        versions.append(
            Version(
                commit=info.commit,
                time=info.time,
                op=info.op,
                actor=info.actor,
                agent=info.agent,
                session=info.session,
                subject=info.subject,
                path=path,
                text=None if content is None else _text(store, path, content),
            )
        )
    return versions


async def restore_fact(ports: Ports, caller: Caller, store: StoreRef, fact_id: str, commit: str) -> Fact:
    """Put a fact's file back as it was at `commit`, as a new commit; the present version stays in history."""

    async def write(store: StoreRef) -> Fact:
        return await _restored(ports, caller, store, fact_id, commit)

    return await in_live_store(ports, store, None, write)


async def _restored(ports: Ports, caller: Caller, store: StoreRef, fact_id: str, commit: str) -> Fact:
    path = await _path_of(ports, store, fact_id)
    content = await _as_of(ports, store, path, commit)
    if content is None:
        raise MemoryNotFound(f"Fact {fact_id!r} as of commit {commit}", f"store {store.name}")
    try:
        fact = replace(fact_from(store, path, content), id=fact_id)
    except Unreadable as problem:
        raise FileUnreadable(f"{path} as of {commit}", problem.reason) from problem

    def plan(view: TreeView) -> Planned[Fact]:
        first = new_store_changes(view, store, None)
        if view.read(path) == content:
            return Planned(fact)
        ports.index.note(store, fact.text, path)
        subject = subject_line("restore", fact.title)
        changes = with_index(view, store, [*first, Change(path, content)])
        return Planned(fact, ChangeSet("restore", subject, store.name, caller, tuple(changes)))

    fact, written = await ports.tree.write(plan)
    ports.state.audit(AuditEvent("memory_updated", caller, store.name, {"chars": len(fact.text)}))
    return replace(fact, pending_reason=written.pending_reason)


async def _as_of(ports: Ports, store: StoreRef, path: str, commit: str) -> bytes | None:
    """Return a file as it was, also in a store that it came from by a merge; None when there was none."""
    inside = path.removeprefix(store.folder)
    config = await settings_of(ports, store)
    for folder in (store.folder, *map(store_folder, config.merged_identities)):
        content = await ports.history.read_at(commit, folder + inside)
        if content is not None:
            return content
    return None


async def _path_of(ports: Ports, store: StoreRef, fact_id: str) -> str:
    """Return where a fact is, or was: a deleted one is found by the id's tail in its file name."""
    try:
        return (await get_fact(ports, store, fact_id)).path
    except MemoryNotFound:
        if not is_fact_id(fact_id) or not is_ulid(fact_id):
            raise
        prefix = f"{store.folder}/{KNOWLEDGE}"
        path = await ports.history.deleted_path(prefix, f"-{fact_id[-8:].lower()}.md")
        if path is None:
            raise
        return path


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_COMMITS:
        raise ConfigInvalid("limit", f"{limit} isn't between 1 and {MAX_COMMITS}")


def _text(store: StoreRef, path: str, content: bytes) -> str:
    try:
        return fact_from(store, path, content).text
    except Unreadable:
        return content.decode("utf-8", "replace")
