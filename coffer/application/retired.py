"""Retired stores: those whose memory is in another store now, which holds their ids as aliases."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from coffer.domain.changes import TreeView
from coffer.domain.errors import StoreNotFound
from coffer.domain.merges import survivor_of
from coffer.domain.ports import Ports
from coffer.domain.stores import StoreRef
from lanes.errors import Unreadable
from lanes.layout import STORE_FILE, store_of
from lanes.store_config import StoreConfig, read_config


class StoreRetired(StoreNotFound):
    """A write was meant for a store that has gone into `survivor` since it was looked up."""

    def __init__(self, store: StoreRef, survivor: StoreRef) -> None:
        super().__init__(store.name)
        self.survivor = survivor


async def present(ports: Ports, stores: Collection[StoreRef]) -> list[StoreRef]:
    """Return those of some stores that are there as the first write to one makes it; a retired one isn't."""
    paths = {f"{store.folder}/{STORE_FILE}": store for store in stores}
    return [paths[path] for path in await ports.tree.present(list(paths))]


async def survivor(ports: Ports, store: StoreRef) -> StoreRef:
    """Return the store that `store` was merged into; `store` itself while it is there, or nobody knows of it."""
    if store.is_global or await present(ports, [store]):
        return store
    return StoreRef(survivor_of(store.project_id, await known_aliases(ports)))


async def known_aliases(ports: Ports) -> dict[str, tuple[str, ...]]:
    """Return the aliases of each project's store that has a store.yaml."""
    aliases = {}
    for store in await ports.tree.stores():
        config = _read(await ports.tree.read(f"{store.folder}/{STORE_FILE}"))
        if config is not None and not store.is_global:
            aliases[store.project_id] = config.merged_identities
    return aliases


def settings_in(view: TreeView) -> dict[StoreRef, StoreConfig]:
    """Return the settings of every project's store; one whose store.yaml can't be read holds no aliases."""
    found = {}
    for path in view.files("projects"):
        located = store_of(path)
        if located is not None and located[1] == STORE_FILE:
            with suppress(OSError):
                config = _read(view.read(path))
                if config is not None:
                    found[StoreRef(located[0].rpartition("/")[2])] = config
    return found


def survivor_in(view: TreeView, store: StoreRef) -> StoreRef:
    """Return the store in which the memory of `store` belongs, by the aliases alone."""
    if store.is_global:
        return store
    aliases = {other.project_id: config.merged_identities for other, config in settings_in(view).items()}
    return StoreRef(survivor_of(store.project_id, aliases))


def _read(data: bytes | None) -> StoreConfig | None:
    with suppress(Unreadable):
        return None if data is None else read_config(data)
    return None
