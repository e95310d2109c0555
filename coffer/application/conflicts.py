"""Conflicts: what two machines changed in a way that only a person can make one of. Nothing else waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from coffer.application.scope import subject_line
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView, etag_of
from coffer.domain.errors import FileUnreadable, MemoryNotFound
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import StoreRef, store_at
from coffer.domain.sync import Conflict
from lanes import lane_of
from lanes.errors import Unreadable
from lanes.knowledge import derive_title, read_note, renamed_note
from lanes.layout import store_of
from lanes.merging import CONFLICT_MARK, conflict_original
from lanes.names import fact_filename, slug

Keep = Literal["this", "other", "both"]

_SHOWN = ("inbox", "topic", "rules", "handoff")


async def list_conflicts(ports: Ports) -> list[Conflict]:
    """Return what is open, by path: two versions side by side, and files that one machine had removed."""
    found = []
    for path in await ports.tree.named(CONFLICT_MARK):
        original = _original(path)
        if original and await ports.tree.read(original[1]) is not None:
            since = await ports.history.commits(path, 1, None)
            found.append(Conflict(original[1], path, original[0].name, since[0].time if since else ""))
    for kept in await ports.sync_state.kept():
        content = await ports.tree.read(kept.path)
        located = store_of(kept.path)
        if content is None or etag_of(content) != kept.etag or located is None:
            await ports.sync_state.settle(kept.path)  # somebody has decided
        else:
            found.append(Conflict(kept.path, None, store_at(located[0]).name, kept.since))
    return sorted(found, key=lambda conflict: (conflict.path, conflict.other_path or ""))


async def resolve_conflict(ports: Ports, caller: Caller, path: str, keep: Keep) -> list[Conflict]:
    """Settle one conflict, named by either of its paths, and return those that are left.

    `this` keeps what has the plain name, `other` puts the other version (or the removal) in its place, `both`
    makes the other version a text of its own. What goes stays in the history. Raises MemoryNotFound.
    """
    path = path.removeprefix(f"{ports.tree.root}/")
    conflict = next((c for c in await list_conflicts(ports) if path in (c.path, c.other_path)), None)
    if conflict is None:
        raise MemoryNotFound(f"A conflict about {path!r}", "the memory tree")
    if conflict.other_path is not None or keep == "other":
        new_id = ports.clock.new_id()

        def plan(view: TreeView) -> Planned[None]:
            changes = _settled(view, conflict, keep, new_id)
            subject = subject_line("resolve", conflict.path.rpartition("/")[2])
            return Planned(None, ChangeSet("resolve", subject, conflict.store, caller, tuple(changes)))

        await ports.tree.write(plan)
        ports.state.audit(AuditEvent("memory_updated", caller, conflict.store, {"count": 1}))
    await ports.sync_state.settle(conflict.path)
    return await list_conflicts(ports)


def _settled(view: TreeView, conflict: Conflict, keep: Keep, new_id: str) -> Sequence[Change]:
    if conflict.other_path is None:
        return [Change(conflict.path, None)]
    other = view.read(conflict.other_path)
    if other is None:
        raise MemoryNotFound(f"The version {conflict.other_path!r}", "the memory tree")
    gone = Change(conflict.other_path, None)
    if keep == "this":
        return [gone]
    if keep == "other":
        return [Change(conflict.path, other), gone]
    return [_of_its_own(view, conflict.other_path, other, new_id), gone]


def _of_its_own(view: TreeView, path: str, content: bytes, new_id: str) -> Change:
    """Return a version as a text with an id and a name of its own."""
    located = store_of(path)
    assert located
    lane = lane_of(located[1])
    folder = path.rpartition("/")[0]
    if lane is None or lane.name not in ("inbox", "topic"):
        stem = slug(f"{path.rpartition('/')[2].partition('.')[0]}-{new_id[-8:]}")
        return Change(f"{folder}/{stem}.md", content)
    try:
        note = read_note(located[1], content)
        named = renamed_note(content, new_id)
    except Unreadable as problem:
        raise FileUnreadable(path, problem.reason) from problem
    return Change(f"{folder}/{fact_filename(note.title or derive_title(note.body), new_id)}", named)


def _original(path: str) -> tuple[StoreRef, str] | None:
    """Return the store of a second version, and the path of the first."""
    located = store_of(path)
    if located is None:
        return None
    folder, inside = located
    lane = lane_of(inside)
    original = conflict_original(inside) if lane and lane.name in _SHOWN else None
    return (store_at(folder), f"{folder}/{original}") if original else None
