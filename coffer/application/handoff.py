"""Handoff: leave the state of the work on a branch, and take it up again, from any agent or machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from coffer.application.remember import checked_text
from coffer.application.scope import new_store_changes, project_of, subject_line
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView
from coffer.domain.errors import Refused, ScopeUnresolved
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import Project, StoreRef
from lanes.errors import Unreadable
from lanes.handoff import Scene, handoff_path, read_scene, write_scene
from lanes.layout import HANDOFF


@dataclass(frozen=True, slots=True)
class SavedScene:
    """A scene and the tree-relative path of its file."""

    scene: Scene
    path: str
    pending_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """What waits for the caller's branch. Without a scene, `reason` says why there is none."""

    found: bool
    branch: str | None = None
    body: str | None = None
    updated_at: str | None = None
    freshness: str | None = None
    reason: str | None = None


class NoBranch(Refused):
    """The project has no branch to leave a scene on."""

    code = "SCOPE_UNRESOLVED"


async def set_handoff(ports: Ports, caller: Caller, body: str) -> SavedScene:
    """Save the scene of the branch that the caller's folder is on, in place of the one before.

    The one before stays in git history. Raises ScopeUnresolved outside a project, MemoryRejected for an
    empty body or one that holds a secret.
    """
    project = await project_of(ports, caller)
    if project.branch is None:
        raise NoBranch(f"The branch of {project.root} can't be told, and a handoff belongs to a branch.")
    text = checked_text(body, allow_secret=False)
    scene = Scene(project.branch, ports.clock.now(), caller.agent, project.head, ports.machine, text)
    path = f"{project.store.folder}/{handoff_path(project.branch)}"
    content = write_scene(scene)

    def plan(view: TreeView) -> Planned[None]:
        changes = [*new_store_changes(view, project.store, project), Change(path, content)]
        subject = subject_line("handoff", scene.branch)
        return Planned(None, ChangeSet("handoff", subject, project.store.name, caller, tuple(changes)))

    _, written = await ports.tree.write(plan)
    ports.state.found_root(project.store.name, project.root)
    ports.state.audit(AuditEvent("handoff_set", caller, project.store.name, {"chars": len(text)}))
    return SavedScene(scene, path, written.pending_reason)


async def resume(ports: Ports, caller: Caller) -> Resumed:
    """Return the scene saved for the branch that the caller's folder is on; never an error, nothing made up."""
    try:
        project = await project_of(ports, caller)
    except ScopeUnresolved as unresolved:
        return Resumed(False, reason=unresolved.message)
    if project.branch is None:
        return Resumed(False, reason=f"The branch of {project.root} can't be told.")
    found = await saved_scene(ports, project)
    if found is None:
        return Resumed(False, project.branch, reason=f"No handoff was saved for the branch {project.branch}.")
    scene = found.scene
    moved = None
    if scene.head and project.head:
        moved = await ports.identity.commits_since(project.root, scene.head, project.head)
    return Resumed(
        True,
        scene.branch,
        scene.body,
        scene.updated_at or None,
        _freshness(scene, project, ports.clock.now(), moved),
    )


async def saved_scene(ports: Ports, project: Project) -> SavedScene | None:
    """Return the scene of a project's present branch; None where there is none or it can't be read."""
    if project.branch is None:
        return None
    path = f"{project.store.folder}/{handoff_path(project.branch)}"
    content = await ports.tree.read(path)
    if content is None:
        return None
    try:
        return SavedScene(read_scene(path, content), path)
    except Unreadable:
        return None


async def scenes(ports: Ports, store: StoreRef) -> list[SavedScene]:
    """Return every branch's scene of a store, the newest first; unreadable files are doctor's."""
    found = []
    for path, content in await ports.tree.contents(f"{store.folder}/{HANDOFF}"):
        if path.endswith(".md"):
            try:
                found.append(SavedScene(read_scene(path, content), path))
            except Unreadable:
                continue
    return sorted(found, key=lambda saved: (saved.scene.updated_at, saved.scene.branch), reverse=True)


def _freshness(scene: Scene, project: Project, now: str, moved: int | None) -> str:
    """Say how old a scene is and how far the branch has moved on, so that nobody takes it for the present."""
    by = f" by {scene.agent}" if scene.agent else ""
    at = f" on {scene.machine}" if scene.machine else ""
    age = f"Saved{by}{at}" + (
        f" {_ago(scene.updated_at, now)}" if scene.updated_at else " at an unknown time"
    )
    if scene.head is None or project.head is None:
        return f"{age}; how far the branch has moved since isn't known."
    if scene.head == project.head:
        return f"{age}; the branch hasn't moved since."
    if moved is None:
        return f"{age}; the branch is at another commit now ({project.head[:12]}, then {scene.head[:12]})."
    plural = "" if moved == 1 else "s"
    return f"{age}; the branch has {moved} more commit{plural} since: check what is done already."


def _ago(then: str, now: str) -> str:
    seconds = int((_moment(now) - _moment(then)).total_seconds())
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "just now" if seconds >= 0 else "by a clock that is ahead of this one"


def _moment(time: str) -> datetime:
    return datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
