"""One store per project: two become one, and whatever comes up in a retired one is brought to where it belongs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain

from coffer.application.moving import Moved, moved
from coffer.application.retired import known_aliases, settings_in, survivor_in
from coffer.application.scope import subject_line
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView
from coffer.domain.errors import CofferError, StoreMergeInvalid, StoreNotFound
from coffer.domain.facts import Caller
from coffer.domain.merges import MergedStores, ReorgStatus, survivor_of
from coffer.domain.ports import Ports
from coffer.domain.stores import Project, StoreRef, store_at
from lanes.errors import Unreadable
from lanes.layout import STORE_FILE
from lanes.store_config import StoreConfig, update_config

BY_ITSELF = Caller("system")


async def merge_stores(
    ports: Ports, caller: Caller, source: StoreRef, target: StoreRef, organize: bool = True
) -> MergedStores:
    """Move everything of one project's store into another's; the source's name leads to the target from then on.

    One commit. Where both have a text of the same name that differs, both are kept. Raises StoreMergeInvalid,
    StoreNotFound, and FileUnreadable for the settings of either.
    """
    if source == target:
        raise StoreMergeInvalid(f"{source.name} can't be merged with itself")
    if source.is_global or target.is_global:
        raise StoreMergeInvalid("The global store can't be merged")
    existing = await ports.tree.stores()
    for store in (source, target):
        if store not in existing:
            raise StoreNotFound(store.name)

    def plan(view: TreeView) -> Planned[Moved]:
        settings = settings_in(view)
        for store in (source, target):
            if store not in settings and not view.files(store.folder):
                raise StoreNotFound(store.name)
        subject = f"{_called(settings, source)} into {_called(settings, target)}"
        return _planned("merge", subject, caller, target, moved(view, source, target, ports.merge_lines))

    done, _ = await ports.tree.write(plan)
    root_moved = await _settle(ports, caller, source, target, done)
    return MergedStores(
        target=target.name,
        merged_files=done.files,
        label_moved=done.label_moved,
        root_moved=root_moved,
        aliases=done.aliases,
        reorg_status=await _reorganized(ports, target, organize),
    )


async def adopt(ports: Ports, project: Project) -> bool:
    """Move what a project has in the store by its path into the one by its remote; tell whether anything was."""
    earlier = project.path_store
    if earlier is None:
        return False

    def plan(view: TreeView) -> Planned[tuple[StoreRef, Moved | None]]:
        target = survivor_in(view, project.store)
        holder = survivor_in(view, earlier)
        if earlier == target or holder not in (earlier, target) or not view.files(earlier.folder):
            return Planned((target, None))  # nothing is there, or somebody has merged it elsewhere
        done = moved(view, earlier, target, ports.merge_lines, project.remote)
        subject = f"{project.remote}, known by its path so far"
        planned = _planned("adopt", subject, BY_ITSELF, target, done)
        return Planned((target, done if planned.change_set else None), planned.change_set)

    (target, done), _ = await ports.tree.write(plan)
    if done is None:
        return False
    ports.state.found_root(target.name, project.root)
    await _settle(ports, BY_ITSELF, earlier, target, done)
    return True


async def consolidate(ports: Ports) -> bool:
    """Bring what is in retired stores, or in those that now have a remote, to where it belongs; tell whether any was.

    Does what it can: what can't be written now is left for the next time. Of two machines that do the same, both
    get the same files.
    """
    done = False
    aliases = await known_aliases(ports)
    for store in await ports.tree.stores():
        if survivor_of(store.project_id, aliases) != store.project_id:
            with suppress(CofferError):
                done |= await _sweep(ports, store)
    if max(Counter(chain(*aliases.values())).values(), default=0) > 1:
        with suppress(CofferError):
            done |= await _hold_once(ports)
    for root in dict.fromkeys((await ports.state.roots()).values()):
        project = await ports.identity.project(root)
        if project is not None and project.root == root and project.path_store in await ports.tree.stores():
            with suppress(CofferError):
                done |= await adopt(ports, project)
    return done


async def _sweep(ports: Ports, store: StoreRef) -> bool:
    """Move what a retired store holds into the one that holds its id."""

    def plan(view: TreeView) -> Planned[tuple[StoreRef, Moved | None]]:
        target = survivor_in(view, store)
        if target == store:
            return Planned((store, None))
        settings = settings_in(view)
        subject = f"{_called(settings, store)} into {_called(settings, target)}"
        done = moved(view, store, target, ports.merge_lines)
        planned = _planned("merge", subject, BY_ITSELF, target, done)
        return Planned((target, done if planned.change_set else None), planned.change_set)

    (target, done), _ = await ports.tree.write(plan)
    if done is None:
        return False
    await _settle(ports, BY_ITSELF, store, target, done)
    return True


async def _hold_once(ports: Ports) -> bool:
    """Let an id that two machines have given to different stores lead to one of them, the smaller by name."""

    def plan(view: TreeView) -> Planned[bool]:
        changes = []
        held: set[str] = set()
        for store, config in sorted(settings_in(view).items(), key=lambda found: found[0].name):
            left = [alias for alias in config.merged_identities if alias not in held]
            if len(left) < len(config.merged_identities):
                path = f"{store.folder}/{STORE_FILE}"
                with suppress(Unreadable):
                    changes.append(Change(path, update_config(view.read(path), {"merged_identities": left})))
            held.update(left)
        if not changes:
            return Planned(False)
        store_name = store_at(changes[0].path.rpartition("/")[0]).name
        subject = "merge: a retired name leads to one store"
        return Planned(True, ChangeSet("merge", subject, store_name, BY_ITSELF, tuple(changes)))

    done, _ = await ports.tree.write(plan)
    return done


def _planned(op: str, subject: str, caller: Caller, target: StoreRef, done: Moved) -> Planned[Moved]:
    if not done.changes:
        return Planned(done)
    return Planned(done, ChangeSet(op, subject_line(op, subject), target.name, caller, done.changes))


async def _settle(ports: Ports, caller: Caller, source: StoreRef, target: StoreRef, done: Moved) -> bool:
    """Bring along what isn't in the tree; return whether the target got the source's root."""
    roots = await ports.state.roots()
    root_moved = source.name in roots and target.name not in roots
    if root_moved:
        ports.state.found_root(target.name, roots[source.name])
    ports.state.forget_root(source.name)
    details: dict[str, int | str | bool] = {
        "source": source.name,
        "files": done.files,
        "aliases": len(done.aliases),
    }
    ports.state.audit(AuditEvent("memory_stores_merged", caller, target.name, details))
    for store in (source, target):
        await ports.index.refresh(store)
    return root_moved


async def _reorganized(ports: Ports, target: StoreRef, organize: bool) -> ReorgStatus:
    """Say what became of tidying up the target: without a model nothing does."""
    if organize and not await ports.engine.available():
        return "no_model"
    if organize and not (await ports.index.counts(target)).get("topic"):
        return "empty"
    return "skipped"


def _called(settings: Mapping[StoreRef, StoreConfig], store: StoreRef) -> str:
    config = settings.get(store, StoreConfig())
    return config.label or (config.remote or "").rpartition("/")[2] or store.name[:16]
