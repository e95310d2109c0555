"""Undo: a new commit that takes back what one commit did, and nothing that came later."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from coffer.application.remember import fact_from
from coffer.application.scope import subject_line
from coffer.application.topics import with_index
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView
from coffer.domain.errors import ConfigInvalid, UndoConflict
from coffer.domain.facts import Caller
from coffer.domain.history import FileChange, Operation, Undone
from coffer.domain.ports import Ports
from coffer.domain.stores import StoreRef, store_at
from lanes import lane_of
from lanes.errors import Unreadable
from lanes.layout import store_of
from lanes.merging import merge

MAX_LATER = 20


async def undo(ports: Ports, caller: Caller, commit: str) -> Undone:
    """Take back what a commit changed, in a commit of its own; what was written since stays.

    Undoing an undo brings it back. Raises UndoConflict where later work stands in the way, ConfigInvalid for a
    commit that can't be taken back, MemoryNotFound for none at all.
    """
    operation = await ports.history.operation(commit)
    stores = _stores(operation)
    subject = subject_line("undo", operation.subject)

    def plan(view: TreeView) -> Planned[tuple[str, ...]]:
        changes = _reversed(ports, view, operation)
        for store in stores:
            changes = with_index(view, store, changes)
        for change in changes:
            _note(ports, change)
        paths = tuple(change.path for change in changes)
        return Planned(paths, ChangeSet("undo", subject, stores[0].name, caller, tuple(changes)))

    try:
        paths, written = await ports.tree.write(plan)
    except UndoConflict as stuck:
        later = await _later(ports, operation, stuck.paths)
        raise UndoConflict(operation.commit, stuck.paths, later) from None
    for store in stores:
        count = sum(path.startswith(f"{store.folder}/") for path in paths)
        ports.state.audit(AuditEvent("memory_updated", caller, store.name, {"count": count}))
    return Undone(operation.commit, written.commit, subject, paths, written.pending_reason)


def _stores(operation: Operation) -> list[StoreRef]:
    """Return the stores that a commit changed; raise ConfigInvalid for a commit that can't be taken back."""
    if operation.parents == 0:
        raise ConfigInvalid("commit", "this is the first one, and there is nothing before it to go back to")
    if operation.parents > 1:
        raise ConfigInvalid(
            "commit", "this one joins two histories; undo the commits that it brought one by one"
        )
    folders = set()
    for change in operation.changes:
        found = store_of(change.path)
        if found is None or (lane := lane_of(found[1])) is None or not lane.synced:
            raise ConfigInvalid(
                "commit", f"it changed {change.path}, which isn't memory; use git to revert it"
            )
        folders.add(found[0])
    if not folders:
        raise ConfigInvalid("commit", "it changed nothing")
    return [store_at(folder) for folder in sorted(folders)]


def _reversed(ports: Ports, view: TreeView, operation: Operation) -> list[Change]:
    """Return the changes that take an operation back; raise UndoConflict."""
    changes, stuck = [], []
    for change in operation.changes:
        now = view.read(change.path)
        if now == change.before:
            continue
        if now == change.after:
            changes.append(Change(change.path, change.before))
        elif (merged := _merged(ports, change, now)) is None:
            stuck.append(change.path)
        elif merged.content != now:
            changes.append(merged)
    if stuck:
        raise UndoConflict(operation.commit, stuck, ())
    if not changes:
        raise ConfigInvalid("commit", "nothing is left of what it did")
    return changes


def _merged(ports: Ports, change: FileChange, now: bytes | None) -> Change | None:
    """Return what stands at a path without what a commit did there, None where later work builds on it."""
    found = store_of(change.path)
    assert found
    lane = lane_of(found[1])
    if lane is None or lane.merge == "newest":
        return None  # such a file is replaced as a whole
    merged = merge(found[1], change.after, now, change.before, ports.merge_lines)
    return None if merged.copy or merged.kept else Change(change.path, merged.content)


def _note(ports: Ports, change: Change) -> None:
    """Let a text that comes back be known, so that it isn't remembered a second time."""
    found = store_of(change.path)
    lane = lane_of(found[1]) if found else None
    if found and lane and lane.counted and change.content is not None:
        with suppress(Unreadable):
            store = store_at(found[0])
            ports.index.note(store, fact_from(store, change.path, change.content).text, change.path)


async def _later(ports: Ports, operation: Operation, paths: Sequence[str]) -> list[dict[str, str]]:
    """Return the commits after an operation that touched some of its paths, newest first."""
    later = {}
    for path in paths[:MAX_LATER]:
        for info in await ports.history.commits(path, MAX_LATER, None):
            if info.commit == operation.commit:
                break
            later[info.commit] = {"commit": info.commit, "time": info.time, "subject": info.subject}
    return sorted(later.values(), key=lambda told: told["time"], reverse=True)[:MAX_LATER]
