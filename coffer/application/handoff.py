"""Handoff: leave the state of the work on a branch, and take it up again, from any agent or machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from coffer.application.lane_files import lane_files, write_lane
from coffer.application.remember import checked_text
from coffer.application.scope import project_of, project_store
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, TreeView
from coffer.domain.errors import NoBranch, ScopeUnresolved
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


@dataclass(frozen=True, slots=True)
class Resumed:
    """What waits for the caller's branch. Without a scene, `reason` says why there is none."""

    found: bool
    branch: str | None = None
    body: str | None = None
    updated_at: str | None = None
    freshness: str | None = None
    reason: str | None = None


async def set_handoff(ports: Ports, caller: Caller, body: str) -> SavedScene:
    """Save the scene of the branch that the caller's folder is on, in place of the one before.

    The one before stays in git history. Raises ScopeUnresolved outside a project, MemoryRejected for a body
    that is empty, too long, or holds a secret.
    """
    project, branch = await _branch_of(ports, caller)
    text = await checked_text(body, allow_secret=False, field="body")
    scene = Scene(branch, ports.clock.now(), caller.agent, project.head, ports.machine, text)
    content = write_scene(scene)

    def decide(view: TreeView, store: StoreRef) -> list[Change]:
        return [Change(f"{store.folder}/{handoff_path(branch)}", content)]

    store, _ = await write_lane(ports, caller, project.store, project, "handoff", branch, decide)
    ports.state.audit(AuditEvent("handoff_set", caller, store.name, {"chars": len(text)}))
    return SavedScene(scene, f"{store.folder}/{handoff_path(branch)}")


async def resume(ports: Ports, caller: Caller) -> Resumed:
    """Return the scene saved for the branch that the caller's folder is on; never an error, nothing made up."""
    try:
        project, branch = await _branch_of(ports, caller)
    except ScopeUnresolved as unresolved:
        return Resumed(False, reason=unresolved.message)
    store = await project_store(ports, project)
    try:
        saved = await saved_scene(ports, store, branch)
    except Unreadable as problem:
        path = f"{ports.tree.root}/{store.folder}/{handoff_path(branch)}"
        return Resumed(False, reason=f"The handoff in {path} can't be read ({problem.reason}).")
    if saved is None:
        return Resumed(False, reason=f"No handoff was saved for the branch {branch}.")
    freshness = await _freshness(ports, saved.scene, project)
    return Resumed(True, branch, saved.scene.body, saved.scene.updated_at or None, freshness)


async def saved_scene(ports: Ports, store: StoreRef, branch: str) -> SavedScene | None:
    """Return a branch's scene, None when none was saved; raise Unreadable for a damaged one."""
    path = f"{store.folder}/{handoff_path(branch)}"
    content = await ports.tree.read(path)
    return None if content is None else SavedScene(read_scene(path, content), path)


async def scenes(ports: Ports, store: StoreRef) -> list[SavedScene]:
    """Return every branch's scene of a store, the newest first; doctor names those that can't be read."""
    found = []
    for path, content in await lane_files(ports, store, HANDOFF):
        try:
            found.append(SavedScene(read_scene(path, content), path))
        except Unreadable:
            continue
    return sorted(found, key=lambda saved: (saved.scene.updated_at, saved.scene.branch), reverse=True)


async def _branch_of(ports: Ports, caller: Caller) -> tuple[Project, str]:
    project = await project_of(ports, caller)
    if project.branch is None:
        raise NoBranch(project.root)
    return project, project.branch


async def _freshness(ports: Ports, scene: Scene, project: Project) -> str:
    """Say how old a scene is and how far the branch has moved, so that nobody takes it for the present."""
    by = f" by {scene.agent}" if scene.agent else ""
    at = f" on {scene.machine}" if scene.machine else ""
    when = _ago(scene.updated_at, ports.clock.now()) if scene.updated_at else "at an unknown time"
    return f"Saved{by}{at} {when}; {await _moved(ports, scene.head, project)}."


async def _moved(ports: Ports, then: str | None, project: Project) -> str:
    now = project.head
    if then == now:
        return "the branch hasn't moved since"
    if now is None:
        return "the branch has no commit now"
    more = await ports.identity.commits_since(project.root, then, now) if then else None
    if more is None:
        at = f" instead of {then[:12]}" if then else ""
        return f"the branch is at {now[:12]} now{at}: check what is done already"
    if more == 0:
        return f"the branch was moved back to {now[:12]} since: check what is still there"
    plural = "" if more == 1 else "s"
    return f"the branch has {more} more commit{plural} since: check what is done already"


def _ago(then: str, now: str) -> str:
    seconds = int((datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds())
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "just now" if seconds >= 0 else "by a clock that is ahead of this one"
