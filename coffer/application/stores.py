"""Stores: list them, tell how much each holds, name and configure them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from coffer.application.rules import rules_files
from coffer.application.scope import config_of, settings_of
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView
from coffer.domain.errors import ConfigInvalid, FileUnreadable, StoreNotFound
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import Store, StoreMetrics, StoreRef
from lanes import lane_of
from lanes.errors import Unreadable
from lanes.layout import STORE_FILE
from lanes.names import single_line
from lanes.store_config import FACT_CHARS, RETRIEVAL_MODES, update_config

MAX_LABEL_CHARS = 200


async def list_stores(ports: Ports) -> list[Store]:
    """Return every store that has a folder, the global one first, then by display name."""
    roots = await ports.state.roots()
    stores = [await _described(ports, ref, roots, exists=True) for ref in await ports.tree.stores()]
    return sorted(
        stores, key=lambda store: (store.scope != "global", store.display_name.casefold(), store.name)
    )


async def show_store(ports: Ports, ref: StoreRef) -> Store:
    """Return one store; one that doesn't exist yet is shown empty, and nothing is created."""
    exists = ref in await ports.tree.stores()
    return await _described(ports, ref, await ports.state.roots(), exists)


async def store_metrics(ports: Ports, ref: StoreRef) -> StoreMetrics:
    """Count what a store holds, lane by lane; an absent store holds nothing."""
    counts = await ports.index.counts(ref)
    lanes: dict[str, int] = {}
    disk_bytes = 0
    for path, size in await ports.tree.files(ref.folder):
        disk_bytes += size
        lane = lane_of(path.removeprefix(f"{ref.folder}/"))
        if lane is not None:
            lanes[lane.name] = lanes.get(lane.name, 0) + 1
    newest, _ = await ports.index.facts(ref, None, 1, 0)
    topics, inbox = counts.get("topic", 0), counts.get("inbox", 0)
    return StoreMetrics(
        fact_count=topics + inbox,
        topic_count=topics,
        inbox_count=inbox,
        rule_count=await _rule_count(ports, ref),
        journal_days=lanes.get("journal", 0),
        handoff_count=lanes.get("handoff", 0),
        disk_bytes=disk_bytes,
        last_write_at=newest[0].updated_at if newest else None,
    )


async def label_store(ports: Ports, caller: Caller, ref: StoreRef, label: str) -> Store:
    """Give a store a name for people; a blank one clears it. The store must exist."""
    line = single_line(label)
    if len(line) > MAX_LABEL_CHARS:
        raise ConfigInvalid("label", f"has {len(line)} characters, {MAX_LABEL_CHARS} are allowed")
    await _configure(ports, caller, ref, "label", {"label": line or None}, line or "cleared")
    ports.state.audit(AuditEvent("store_labelled", caller, ref.name, {"chars": len(line)}))
    return await show_store(ports, ref)


async def configure_store(
    ports: Ports, caller: Caller, ref: StoreRef, max_fact_chars: int | None, retrieval_modes: list[str] | None
) -> Store:
    """Set a store's limits and retrieval modes; None leaves one as it is. The store must exist."""
    changes: dict[str, str | int | Sequence[str] | None] = {}
    if max_fact_chars is not None:
        if max_fact_chars not in FACT_CHARS:
            raise ConfigInvalid(
                "max_fact_chars", f"{max_fact_chars} isn't between {FACT_CHARS[0]} and {FACT_CHARS[-1]}"
            )
        changes["max_fact_chars"] = max_fact_chars
    if retrieval_modes is not None:
        unknown = [mode for mode in retrieval_modes if mode not in RETRIEVAL_MODES]
        if unknown or not retrieval_modes:
            raise ConfigInvalid("retrieval_modes", f"must be some of {', '.join(RETRIEVAL_MODES)}")
        changes["retrieval_modes"] = tuple(dict.fromkeys(retrieval_modes))
    await _configure(ports, caller, ref, "configure", changes, ", ".join(changes) or "nothing")
    return await show_store(ports, ref)


async def _configure(
    ports: Ports,
    caller: Caller,
    ref: StoreRef,
    op: str,
    keys: Mapping[str, str | int | Sequence[str] | None],
    said: str,
) -> None:
    if ref not in await ports.tree.stores():
        raise StoreNotFound(ref.name)
    path = f"{ref.folder}/{STORE_FILE}"

    def plan(view: TreeView) -> Planned[None]:
        before = view.read(path)
        config_of(before, ref)
        try:
            after = update_config(before, keys)
        except Unreadable as problem:
            raise FileUnreadable(path, problem.reason) from problem
        if after == before:
            return Planned(None)
        return Planned(None, ChangeSet(op, f"{op}: {said}", ref.name, caller, (Change(path, after),)))

    await ports.tree.write(plan)


async def _described(ports: Ports, ref: StoreRef, roots: Mapping[str, str], exists: bool) -> Store:
    config = await settings_of(ports, ref)
    root = None if ref.is_global else roots.get(ref.name)
    counts = await ports.index.counts(ref) if exists else {}
    newest, total = await ports.index.facts(ref, None, 1, 0) if exists else ([], 0)
    oldest, _ = await ports.index.facts(ref, None, 1, total - 1) if total > 1 else (newest, total)
    basename = posixpath.basename(root.rstrip("/")) if root else ""
    repository = (config.remote or "").rpartition("/")[2]
    return Store(
        name=ref.name,
        scope=ref.scope,
        project_id=ref.project_id,
        display_name=config.label or basename or repository or ref.name,
        label=config.label,
        project_root=root,
        remote=config.remote,
        store_dir=f"{ports.tree.root}/{ref.folder}",
        exists=exists,
        fact_count=counts.get("topic", 0) + counts.get("inbox", 0),
        merged_identities=config.merged_identities,
        max_fact_chars=config.max_fact_chars,
        retrieval_modes=config.retrieval_modes,
        created_at=oldest[0].created_at if oldest else None,
        updated_at=newest[0].updated_at if newest else None,
    )


async def _rule_count(ports: Ports, ref: StoreRef) -> int:
    return sum(len(file.rules) for file in await rules_files(ports, ref))
