"""A project's memory follows it: from its path to its remote, and from one remote to the next."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from coffer.application.combine import consolidate, merge_stores
from coffer.application.curate import list_facts
from coffer.application.doctor import diagnose
from coffer.application.handoff import resume, set_handoff
from coffer.application.journal import JournalService, append_to
from coffer.application.merge_scan import MAX_JUDGED, merge_scan
from coffer.application.notes import candidates
from coffer.application.recall import recall
from coffer.application.remember import NewFact, remember
from coffer.application.rules import add_rule
from coffer.application.scope import project_of, project_store, stores_in_scope
from coffer.application.session import session_context
from coffer.application.stores import label_store, show_store
from coffer.bootstrap import open_ports
from coffer.domain.agents import Budget
from coffer.domain.facts import Caller
from coffer.domain.merges import Evidence, Verdict
from coffer.domain.stores import GLOBAL, Project, StoreRef, project_id
from tests.coffer.application.conftest import Memory

USER = Caller("user")
ORIGIN, REMOTE = "git@git.example.org:Team/app.git", "git.example.org/team/app"


async def project(memory: Memory) -> Project:
    return await project_of(memory.ports, memory.caller())


async def tell(memory: Memory, text: str) -> StoreRef:
    """Remember as an agent in the project does; return where it went."""
    here = await project(memory)
    store = await project_store(memory.ports, here)
    fact = (await remember(memory.ports, memory.caller(), store, NewFact(text), here)).fact
    return StoreRef(fact.store.removeprefix("project-"))


async def found(memory: Memory, query: str) -> list[str]:
    stores = await stores_in_scope(memory.ports, memory.caller(), "project")
    return [hit.text for hit in await recall(memory.ports, stores, query)]


async def texts(memory: Memory, store: StoreRef) -> list[str]:
    return sorted(fact.text for fact in (await list_facts(memory.ports, store))[0])


def origin(memory: Memory, url: str) -> StoreRef:
    """Give the project an origin, or another one; return the store that its remote means."""
    known = memory.git("remote")
    memory.git("remote", "set-url" if known else "add", "origin", url)
    return StoreRef(
        project_id(f"remote:{url.partition('@')[2].removesuffix('.git').replace(':', '/').lower()}")
    )


@asynccontextmanager
async def restarted(memory: Memory, home: Path) -> AsyncIterator[Memory]:
    """Open the same memory as after a restart."""
    async with open_ports(str(home), memory.environ) as ports:
        yield replace(memory, ports=ports)


async def test_reading_looks_through_to_the_store_by_path(memory: Memory) -> None:
    """With its first remote a project would have lost its memory, until something is written."""
    old = await tell(memory, "Water boils.")
    caller, ports = memory.caller(), memory.ports
    await add_rule(ports, USER, old, "Be kind.")
    await append_to(ports, USER, old, "It happened.", "test")
    await set_handoff(ports, caller, "Half done.")
    new = origin(memory, ORIGIN)
    assert new == (await project(memory)).store != old
    with memory.nothing_written():
        assert await project_store(ports, await project(memory)) == old
        assert await found(memory, "water") == ["Water boils."]
        assert (await resume(ports, caller)).body == "Half done."
        told = await session_context(ports, str(memory.project), Budget(20_000))
        assert "Be kind." in told and "Water boils." in told
        assert await candidates(ports, str(memory.project), "how hot does water boil here")
        recent = await JournalService(ports).read_recent(str(memory.project), 3)
        assert [entry.body for entry in recent] == ["It happened."]


async def test_the_first_write_moves_the_store_once(memory: Memory) -> None:
    """What was known of a project before it had a remote would stay behind under the name by its path."""
    old = await tell(memory, "Water boils.")
    await label_store(memory.ports, USER, old, "The app")
    new = origin(memory, ORIGIN)
    assert await tell(memory, "Ice floats.") == new
    assert await texts(memory, new) == ["Ice floats.", "Water boils."]
    assert not (memory.tree / old.folder).exists()
    store = await show_store(memory.ports, new)
    assert (store.label, store.remote, store.project_root) == ("The app", REMOTE, str(memory.project))
    assert store.merged_identities == (old.project_id,)
    assert await memory.ports.state.roots() == {new.name: str(memory.project)}
    assert memory.log()[:2] == ["remember: Ice floats.", f"adopt: {REMOTE}, known by its path so far"]
    assert await tell(memory, "Steam rises.") == new
    assert [line for line in memory.log() if line.startswith("adopt")] == memory.log()[2:3]


@pytest.mark.parametrize("way", ["rule", "journal", "handoff", "by the old name"])
async def test_every_kind_of_write_moves_it(memory: Memory, way: str) -> None:
    """A rule or a handoff would start a second store of the project, and the facts stay in the first."""
    old = await tell(memory, "Water boils.")
    new = origin(memory, ORIGIN)
    here, caller, ports = await project(memory), memory.caller(), memory.ports
    if way == "rule":
        await add_rule(ports, USER, here.store, "Be kind.", here)
    elif way == "journal":
        await JournalService(ports).append(str(memory.project), "It happened.", "agent")
    elif way == "handoff":
        await set_handoff(ports, caller, "Half done.")
    else:
        await remember(ports, caller, old, NewFact("Ice floats."), here)
    assert "Water boils." in await texts(memory, new)
    assert not (memory.tree / old.folder).exists()


async def test_both_stores_are_searched_until_they_are_one(memory: Memory) -> None:
    """A store that came from another machine would hide what is known here."""
    old = await tell(memory, "Water boils.")
    new = origin(memory, ORIGIN)
    first = (await remember(memory.ports, USER, new, NewFact("Water freezes."))).fact
    assert sorted(await found(memory, "water")) == ["Water boils.", "Water freezes."]
    assert await tell(memory, "Water evaporates.") == new
    assert await texts(memory, new) == ["Water boils.", "Water evaporates.", "Water freezes."]
    assert first.store == new.name and not (memory.tree / old.folder).exists()


async def test_the_start_moves_it_too(memory: Memory) -> None:
    """A project that is only read would keep its memory under the old name, apart from that of other machines."""
    old = await tell(memory, "Water boils.")
    assert not await consolidate(memory.ports)
    new = origin(memory, ORIGIN)
    assert await consolidate(memory.ports)
    assert await texts(memory, new) == ["Water boils."]
    assert not (memory.tree / old.folder).exists()
    assert not await consolidate(memory.ports)


async def test_a_root_that_is_gone_moves_nothing(memory: Memory) -> None:
    """The memory of a removed checkout would go to whatever repository lies around it."""
    old = await tell(memory, "Water boils.")
    memory.git("init", "-q", folder=memory.project.parent)
    memory.git("remote", "add", "origin", ORIGIN, folder=memory.project.parent)
    memory.project.rename(memory.project.with_name("moved"))
    assert not await consolidate(memory.ports)
    assert await texts(memory, old) == ["Water boils."]


async def test_damaged_settings_of_the_old_store_lose_no_new_fact(memory: Memory) -> None:
    """Nothing could be remembered until somebody finds and mends a file that nobody looks at."""
    old = await tell(memory, "Water boils.")
    (memory.tree / old.folder / "store.yaml").write_text("label: [\n")
    new = origin(memory, ORIGIN)
    assert await tell(memory, "Ice floats.") == new
    assert sorted(await found(memory, "water ice")) == ["Ice floats.", "Water boils."]


@pytest.mark.report("B68")
async def test_an_origin_that_moved_finds_the_old_memory(memory: Memory) -> None:
    """A repository that moves to another host would forget everything, without a word."""
    old = origin(memory, ORIGIN)
    assert await tell(memory, "Water boils.") == old
    new = origin(memory, "git@elsewhere.example.org:team/app.git")
    assert await found(memory, "water") == ["Water boils."]
    [finding] = [one for one in await diagnose(memory.ports) if one.name == "store"]
    assert f"coffer memory merge {old.name} {new.name}" in (finding.action or "")
    assert "first fact" in (finding.action or "")
    assert await tell(memory, "Ice floats.") == new
    assert sorted(await found(memory, "water ice")) == ["Ice floats.", "Water boils."]
    [finding] = [one for one in await diagnose(memory.ports) if one.name == "store"]
    assert "first fact" not in (finding.action or "")
    [proposal] = (await merge_scan(memory.ports)).proposals
    assert {proposal.source, proposal.target} == {old.name, new.name}
    assert proposal.confidence == "certain"
    await merge_stores(memory.ports, USER, old, new)
    assert [one for one in await diagnose(memory.ports) if one.name == "store"] == []
    assert await found(memory, "water") == ["Water boils."]


@pytest.mark.report("B68")
async def test_a_fact_of_the_old_store_can_be_replaced(memory: Memory) -> None:
    """An agent would be offered a fact that it then can't replace by a better one."""
    old = origin(memory, ORIGIN)
    await tell(memory, "Water boils at 90.")
    [fact] = (await list_facts(memory.ports, old))[0]
    new = origin(memory, "git@elsewhere.example.org:team/app.git")
    better = NewFact("Water boils at 100.", supersedes=[fact.id])
    await remember(memory.ports, memory.caller(), new, better, await project(memory))
    assert await found(memory, "water") == ["Water boils at 100."]


async def test_no_project_is_not_another(memory: Memory, tmp_path: Path) -> None:
    """One project's memory would be searched in another."""
    await tell(memory, "Water boils.")
    other = tmp_path / "other"
    other.mkdir()
    memory.git("init", "-q", folder=other)
    memory.git("remote", "add", "origin", ORIGIN, folder=other)
    there = replace(memory, project=other)
    assert await found(there, "water") == []
    assert await stores_in_scope(memory.ports, there.caller(), "both") == [
        (await project(there)).store,
        GLOBAL,
    ]


class Judge:
    """A model that says what a test tells it to."""

    def __init__(self, *verdicts: Verdict | None) -> None:
        self.verdicts = list(verdicts)
        self.asked: list[tuple[Evidence, Evidence]] = []

    async def available(self) -> bool:
        return True

    async def same_project(self, one: Evidence, other: Evidence) -> Verdict | None:
        self.asked.append((one, other))
        return self.verdicts.pop(0) if self.verdicts else Verdict(False, "low", "Nothing in common.")


async def test_the_scan_proves_pairs_by_their_remote_and_leaves_the_others_to_the_model(
    memory: Memory,
) -> None:
    """A person would have to find out by themselves which stores belong together."""
    ports = memory.ports
    origin(memory, ORIGIN)
    here = await tell(memory, "Water boils.")
    synced, plausible, strange = (StoreRef(project_id(f"/elsewhere/{name}")) for name in ("app", "b", "c"))
    for store in (synced, plausible, strange):
        for number in range(2):
            await remember(ports, USER, store, NewFact(f"Fact {number} of {store.name}. " + "x" * 300))
    (memory.tree / synced.folder / "store.yaml").write_text(f"remote: {REMOTE}\n")
    judge = Judge(None, Verdict(True, "high", "Both are about water."))
    with memory.nothing_written():
        scan = await merge_scan(replace(ports, engine=judge))
    assert (scan.engine, scan.truncated) == ("ok", False)
    certain, judged = scan.proposals
    assert (certain.source, certain.target) == (synced.name, here.name)
    assert (certain.confidence, certain.judged_by) == ("certain", "remote")
    assert certain.target_evidence.root == str(memory.project) and certain.source_evidence.root is None
    assert (judged.confidence, judged.judged_by, judged.reason) == ("high", "engine", "Both are about water.")
    assert len(judge.asked) == 5
    assert all(len(title) <= 100 for one, _ in judge.asked for title in one.titles)


async def test_a_scan_without_a_model_still_proves(memory: Memory) -> None:
    """Without a model not even what is certain would be told."""
    stores = [StoreRef(project_id(f"/elsewhere/{name}")) for name in "abc"]
    for store in stores:
        await remember(memory.ports, USER, store, NewFact(f"Fact of {store.name}."))
    for store in stores[:2]:
        (memory.tree / store.folder / "store.yaml").write_text(f"remote: {REMOTE}\n")
    await remember(memory.ports, USER, stores[1], NewFact("One more."))
    scan = await merge_scan(memory.ports)
    assert (scan.engine, scan.truncated) == ("no_model", False)
    assert [(one.source, one.target) for one in scan.proposals] == [(stores[0].name, stores[1].name)]


async def test_a_scan_asks_a_model_for_a_limited_number_of_pairs(memory: Memory) -> None:
    """With many stores a scan would cost a fortune and never end."""
    for number in range(11):
        store = StoreRef(project_id(f"/elsewhere/{number}"))
        await remember(memory.ports, USER, store, NewFact(f"Fact {number}."))
    judge = Judge()
    scan = await merge_scan(replace(memory.ports, engine=judge))
    assert scan.truncated and len(judge.asked) == MAX_JUDGED and scan.proposals == ()


async def test_roots_of_merged_stores_outlive_a_restart(tmp_path: Path, memory: Memory) -> None:
    """After a restart the old name would have a root again, and the scan propose what is done."""
    origin(memory, ORIGIN)
    old = await tell(memory, "Water boils.")
    new = StoreRef(project_id("/elsewhere/app"))
    await remember(memory.ports, USER, new, NewFact("Ice floats."))
    assert (await merge_stores(memory.ports, USER, old, new)).root_moved
    await memory.ports.state.audit_events(1, None, None, None)  # writes what is queued
    home = tmp_path / "again"
    home.mkdir()
    (home / "state.sqlite").write_bytes((tmp_path / "home" / "state.sqlite").read_bytes())
    for ending in ("-wal", "-shm"):
        if (log := tmp_path / "home" / f"state.sqlite{ending}").exists():
            (home / f"state.sqlite{ending}").write_bytes(log.read_bytes())
    async with restarted(memory, home) as again:
        assert await again.ports.state.roots() == {new.name: str(memory.project)}
