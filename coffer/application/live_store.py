"""Where a write really goes: into the store that has the project's memory by now, moved there first if need be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from coffer.application.combine import adopt
from coffer.application.retired import StoreRetired, present, survivor
from coffer.domain.errors import FileUnreadable
from coffer.domain.ports import Ports
from coffer.domain.stores import Project, StoreRef

T = TypeVar("T")


async def in_live_store(
    ports: Ports, store: StoreRef, project: Project | None, write: Callable[[StoreRef], Awaitable[T]]
) -> T:
    """Do a write that is addressed to `store` in the store that its memory is in; `project` is the caller's.

    What a project has under its path, from before it had a remote, is moved first. The write is done again where a
    merge came in between.
    """
    store = await _live(ports, store, project)
    while True:
        try:
            return await write(store)
        except StoreRetired as retired:
            store = retired.survivor


async def _live(ports: Ports, store: StoreRef, project: Project | None) -> StoreRef:
    if project is None or project.path_store is None or store not in (project.store, project.path_store):
        return await survivor(ports, store)
    there = await present(ports, (project.store, project.path_store))
    if project.path_store in there:
        with suppress(FileUnreadable):  # what is to be written now mustn't be lost for that
            await adopt(ports, project)
    return project.store if project.store in there else await survivor(ports, project.store)
