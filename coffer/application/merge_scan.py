"""Stores that seem to hold the memory of one project: found and told, for a person to merge."""

from __future__ import annotations

from itertools import combinations

from coffer.application.retired import known_aliases, present
from coffer.application.scope import project_stores
from coffer.application.stores import list_stores
from coffer.domain.activity import Finding
from coffer.domain.merges import Evidence, MergeScan, Proposal, survivor_of
from coffer.domain.ports import Ports
from coffer.domain.stores import Store, store_named
from lanes.names import cut

MAX_JUDGED = 50
MAX_TITLES = 20
MAX_TITLE_CHARS = 100


async def merge_scan(ports: Ports) -> MergeScan:
    """Propose what to merge: pairs with the same remote for certain, others as a model judges them, if there is one.

    A store whose project is on this machine survives, then the one with more facts, then the smaller name.
    """
    aliases = await known_aliases(ports)
    stores = [
        await _evidence(ports, store)
        for store in await list_stores(ports)
        if store.scope == "project" and survivor_of(store.project_id, aliases) == store.project_id
    ]
    stores.sort(key=lambda one: (one.root is None, -one.fact_count, one.store))
    proposals = []
    others = []
    for target, source in combinations(stores, 2):
        if target.remote is not None and target.remote == source.remote:
            reason = f"Both are of {target.remote}."
            proposals.append(
                Proposal(source.store, target.store, "certain", "remote", reason, source, target)
            )
        else:
            others.append((target, source))
    if not await ports.engine.available():
        return MergeScan("no_model", False, tuple(proposals))
    for target, source in others[:MAX_JUDGED]:
        verdict = await ports.engine.same_project(source, target)
        if verdict is not None and verdict.same_project:
            proposals.append(
                Proposal(
                    source.store, target.store, verdict.confidence, "engine", verdict.reason, source, target
                )
            )
    return MergeScan("ok", len(others) > MAX_JUDGED, tuple(proposals))


async def split_findings(ports: Ports) -> list[Finding]:
    """Say for doctor which project on this machine has memory in another store than the one it is read from."""
    found = []
    for root in sorted(set((await ports.state.roots()).values())):
        project = await ports.identity.project(root)
        if project is None or project.root != root:
            continue
        store, *others = await project_stores(ports, project)
        for other in others:
            action = f"If it is the same project: `coffer memory merge {other.name} {store.name}`."
            if not await present(ports, [store]):
                action += " The first fact that is remembered there makes the new store."
            found.append(
                Finding(
                    "store",
                    "warning",
                    f"{root} has memory in {other.name} too, from when its origin was another; recall "
                    f"reads both, rules and handoffs come from {store.name} alone.",
                    action,
                )
            )
    return found


async def _evidence(ports: Ports, store: Store) -> Evidence:
    """Return what speaks for a store's project; a root that isn't one here any more doesn't count."""
    project = await ports.identity.project(store.project_root) if store.project_root else None
    here = project is not None and project.root == store.project_root
    facts, _ = await ports.index.facts(store_named(store.name), None, MAX_TITLES, 0)
    return Evidence(
        store=store.name,
        display_name=store.display_name,
        root=store.project_root if here else None,
        remote=project.remote if project is not None and here else store.remote,
        fact_count=store.fact_count,
        titles=tuple(cut(fact.title, MAX_TITLE_CHARS) for fact in facts),
    )
