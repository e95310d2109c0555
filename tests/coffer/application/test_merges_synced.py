"""Stores merged on one machine while another goes on with them: after syncing both have the same, and all of it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from coffer.application.combine import consolidate, merge_stores
from coffer.application.curate import list_facts
from coffer.application.remember import NewFact, remember
from coffer.application.rules import add_rule
from coffer.application.stores import label_store, list_stores
from coffer.application.sync import Synchroniser
from coffer.bootstrap import open_ports
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import StoreRef, project_id
from tests.coffer.application.conftest import Memory

USER = Caller("user")
A, B, C = sorted((StoreRef(project_id(f"/{name}")) for name in "abc"), key=lambda store: store.name)


@pytest.mark.parametrize(
    "ways", [((A, B), (B, A)), ((A, B), (A, C)), ((A, B), (B, C)), ((A, B), None)], ids=str
)
async def test_machines_agree(
    memory: Memory, tmp_path: Path, ways: tuple[tuple[StoreRef, StoreRef] | None, ...]
) -> None:
    """A merge on one machine would lose what another wrote meanwhile, or come apart again with every sync."""
    bare = tmp_path / "bare.git"
    memory.git("init", "-q", "--bare", "-b", "main", str(bare), folder=tmp_path)
    async with AsyncExitStack() as stack:
        machines: list[tuple[Ports, Synchroniser]] = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            ports = await stack.enter_async_context(open_ports(str(tmp_path / name), memory.environ))
            machines.append((ports, Synchroniser(ports)))
        (first, _), _ = machines
        said = []
        for store in (A, B, C):
            said.append(f"Fact of {store.name}.")
            await remember(first, USER, store, NewFact(said[-1]))
            await add_rule(first, USER, store, f"Rule of {store.name}.")
        await label_store(first, USER, A, "The label of A")
        for _, sync in machines:
            await sync.join(USER, str(bare), automatic=False)
        for (ports, _), way in zip(machines, ways, strict=True):
            for store in (A, B, C):
                said.append(f"Fact {len(said)} of {store.name}, said apart.")
                await remember(ports, USER, store, NewFact(said[-1]))
            if way:
                await merge_stores(ports, USER, *way)

        runs = []
        for _ in range(4):
            runs = [(await sync.sync(USER)).result for _, sync in machines]
        assert runs == ["nothing", "nothing"]

        trees = [snapshot(Path(ports.tree.root)) for ports, _ in machines]
        assert trees[0] == trees[1]
        stores = await list_stores(first)
        kept = [fact.text for store in stores for fact in (await list_facts(first, _ref(store.name)))[0]]
        assert set(kept) == set(said)
        assert "The label of A" in {store.label for store in stores}
        rules = "".join(text.decode() for path, text in trees[0].items() if "/rules/" in path)
        assert all(f"Rule of {store.name}." in rules for store in (A, B, C))
        held = [alias for store in stores for alias in store.merged_identities]
        assert len(held) == len(set(held)) and not {store.project_id for store in stores} & set(held)
        for ports, _ in machines:
            assert not await consolidate(ports)
            assert memory.git("status", "--porcelain", folder=Path(ports.tree.root)) == ""


def snapshot(tree: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(tree)): path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def _ref(name: str) -> StoreRef:
    return StoreRef(name.removeprefix("project-"))
