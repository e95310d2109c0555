"""Which stores a request means: the caller's project, the global store, or both; and where a project's memory is."""

from __future__ import annotations

from coffer.application.retired import StoreRetired, present, survivor, survivor_in
from coffer.domain.changes import Change, TreeView
from coffer.domain.errors import ConfigInvalid, FileUnreadable, ScopeUnresolved
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import GLOBAL, Project, Scope, StoreRef, store_named
from lanes.errors import Unreadable
from lanes.layout import STORE_FILE
from lanes.store_config import StoreConfig, read_config, update_config


def parse_scope(value: object, allowed: tuple[Scope, ...], default: Scope) -> Scope:
    """Return the scope named by `value`; an unknown one is an error, never a default."""
    if value is None:
        return default
    if value not in allowed:
        raise ConfigInvalid("scope", f"{value!r} isn't one of {', '.join(allowed)}")
    return value


async def project_of(ports: Ports, caller: Caller) -> Project:
    """Return the caller's project; raise ScopeUnresolved outside one."""
    project = await ports.identity.project(caller.folder) if caller.folder else None
    if project is None:
        raise ScopeUnresolved(caller.folder)
    return project


async def stores_in_scope(ports: Ports, caller: Caller, scope: Scope) -> list[StoreRef]:
    """Return the stores to search. With `both`, a caller outside every project still searches the global one."""
    if scope == "global":
        return [GLOBAL]
    try:
        project = await project_of(ports, caller)
    except ScopeUnresolved:
        if scope == "project":
            raise
        return [GLOBAL]
    own = await project_stores(ports, project)
    return own if scope == "project" else [*own, GLOBAL]


async def project_store(ports: Ports, project: Project) -> StoreRef:
    """Return the store to read a project's memory from; nothing is created or moved.

    The one by the project's id or the one that this was merged into. As long as there is neither, the one by its
    path, from before it had a remote.
    """
    return (await project_stores(ports, project))[0]


async def project_stores(ports: Ports, project: Project) -> list[StoreRef]:
    """Return the store to read a project's memory from, then what else holds some of it.

    That is the store by its path until it is moved, and one that was written from the same root on this machine,
    when the origin had another address.
    """
    roots = await ports.state.roots()
    known = [store_named(name) for name, root in sorted(roots.items()) if root == project.root]
    earlier = [] if project.path_store is None else [project.path_store]
    there = await present(ports, list(dict.fromkeys([project.store, *earlier, *known])))
    store = project.store if project.store in there else await _instead(ports, project)
    return [store, *(other for other in there if other != store)]


async def _instead(ports: Ports, project: Project) -> StoreRef:
    """Return the store to read from where the one by the project's id isn't there."""
    stores = await ports.tree.stores()
    store = await survivor(ports, project.store)
    if store != project.store or store in stores or project.path_store is None:
        return store
    earlier = await survivor(ports, project.path_store)
    return earlier if earlier in stores else store


def config_of(data: bytes | None, store: StoreRef) -> StoreConfig:
    """Return a store's settings from its store.yaml; the defaults where it has none.

    Raises FileUnreadable for one that can't be read, so that a write never goes by the wrong limits.
    """
    if data is None:
        return StoreConfig()
    try:
        return read_config(data)
    except Unreadable as problem:
        raise FileUnreadable(f"{store.folder}/{STORE_FILE}", problem.reason) from problem


async def settings_of(ports: Ports, store: StoreRef) -> StoreConfig:
    """Return a store's settings for reading: the defaults where store.yaml is missing or damaged."""
    try:
        return config_of(await ports.tree.read(f"{store.folder}/{STORE_FILE}"), store)
    except FileUnreadable:
        return StoreConfig()


def new_store_changes(view: TreeView, store: StoreRef, project: Project | None) -> list[Change]:
    """Return what the first write to a store adds: its store.yaml, with the remote that others know it by.

    Raises StoreRetired when the store was merged into another; `coffer.application.live_store` then goes on there.
    """
    path = f"{store.folder}/{STORE_FILE}"
    if view.read(path) is not None:
        return []
    if (holder := survivor_in(view, store)) != store:
        raise StoreRetired(store, holder)
    remote = project.remote if project is not None and project.store == store else None
    return [Change(path, update_config(None, {"remote": remote}))]


def subject_line(verb: str, title: str) -> str:
    """Return a commit subject that reads like a sentence, at most 72 characters."""
    line = f"{verb}: {title}"
    return line if len(line) <= 72 else line[:71].rstrip() + "…"
