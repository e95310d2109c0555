"""The files of one lane of a store: read, and changed together with what the first write to a store brings along."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coffer.application.live_store import in_live_store
from coffer.application.scope import new_store_changes, subject_line
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import Project, StoreRef
from lanes import lane_of


async def lane_files(ports: Ports, store: StoreRef, lane: str) -> list[tuple[str, bytes]]:
    """Return tree-relative path and bytes of every file of a lane that has its own folder, by path."""
    folder = f"{store.folder}/"
    return [
        (path, content)
        for path, content in await ports.tree.contents(folder + lane)
        if (found := lane_of(path.removeprefix(folder))) is not None and found.name == lane
    ]


async def write_lane(
    ports: Ports,
    caller: Caller,
    store: StoreRef,
    project: Project | None,
    op: str,
    title: str,
    decide: Callable[[TreeView, StoreRef], Sequence[Change]],
) -> tuple[StoreRef, bool]:
    """Make what `decide` returns one commit, `op: title`; return where, and whether there was anything to change.

    `decide` is given the store to write to, which is another one when `store` was merged into that. It may be asked
    again when somebody edits a file meanwhile; what it raises is raised from here.
    """

    async def write(store: StoreRef) -> tuple[StoreRef, bool]:
        def plan(view: TreeView) -> Planned[tuple[bool, bool]]:
            first = new_store_changes(view, store, project)
            changes = decide(view, store)
            if not changes:
                return Planned((False, False))
            subject = subject_line(op, title)
            change_set = ChangeSet(op, subject, store.name, caller, (*first, *changes))
            return Planned((True, bool(first)), change_set)

        (changed, store_is_new), _ = await ports.tree.write(plan)
        if project is not None:
            ports.state.found_root(store.name, project.root)
        if store_is_new:
            ports.state.audit(AuditEvent("store_created", caller, store.name))
        return store, changed

    return await in_live_store(ports, store, project, write)
