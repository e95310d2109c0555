"""Which stores a request means: the caller's project, the global store, or both."""

from __future__ import annotations

from coffer.domain.changes import Change, TreeView
from coffer.domain.errors import ConfigInvalid, FileUnreadable, ScopeUnresolved
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import GLOBAL, Project, Scope, StoreRef
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
    """Return the stores to read. With `both`, a caller outside every project still reads the global one."""
    if scope == "global":
        return [GLOBAL]
    try:
        project = await project_of(ports, caller)
    except ScopeUnresolved:
        if scope == "project":
            raise
        return [GLOBAL]
    return [project.store] if scope == "project" else [project.store, GLOBAL]


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
    """Return what the first write to a store adds: its store.yaml, with the remote that others know it by."""
    path = f"{store.folder}/{STORE_FILE}"
    if view.read(path) is not None:
        return []
    remote = project.remote if project is not None and project.store == store else None
    return [Change(path, update_config(None, {"remote": remote}))]


def subject_line(verb: str, title: str) -> str:
    """Return a commit subject that reads like a sentence, at most 72 characters."""
    line = f"{verb}: {title}"
    return line if len(line) <= 72 else line[:71].rstrip() + "…"
