"""Two stores of one project become one, and nothing that was in either is lost."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from coffer.application.combine import consolidate, merge_stores
from coffer.application.curate import delete_fact, list_facts
from coffer.application.handoff import resume, set_handoff
from coffer.application.history import restore_fact
from coffer.application.journal import append_to, recent_entries
from coffer.application.recall import recall
from coffer.application.remember import NewFact, remember
from coffer.application.rules import accept_learned, add_rule, rules_files
from coffer.application.scope import project_of, project_store
from coffer.application.stores import label_store, list_stores, show_store
from coffer.application.undo import undo
from coffer.bootstrap import open_ports
from coffer.domain.errors import MemoryNotFound, StoreMergeInvalid, StoreNotFound
from coffer.domain.facts import Caller
from coffer.domain.merges import survivor_of
from coffer.domain.ports import Ports
from coffer.domain.stores import GLOBAL, StoreRef, project_id
from lanes.store_config import update_config
from tests.coffer.application.conftest import Memory

USER = Caller("user")
A, B, C = sorted((StoreRef(project_id(f"/{name}")) for name in "abc"), key=lambda store: store.name)


async def texts(ports: Ports, store: StoreRef) -> list[str]:
    facts, _ = await list_facts(ports, store, limit=200)
    return sorted(fact.text for fact in facts)


async def tell(ports: Ports, store: StoreRef, *said: str) -> None:
    for text in said:
        await remember(ports, USER, store, NewFact(text))


def put(memory: Memory, store: StoreRef, path: str, content: str) -> Path:
    """Write a file as a person does, in an editor."""
    file = memory.tree / store.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, "utf-8")
    return file


def aliases(memory: Memory, store: StoreRef, *held: StoreRef) -> None:
    """Write by hand, or as another machine's sync does, which ids lead to a store."""
    data = update_config(None, {"merged_identities": [one.project_id for one in held]})
    put(memory, store, "store.yaml", data.decode())


def inside(memory: Memory, store: StoreRef) -> dict[str, str]:
    folder = memory.tree / store.folder
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def test_everything_of_both_stores_is_in_the_one_that_stays(memory: Memory) -> None:
    """What one of two stores of a project knew would be gone once they are made one."""
    ports = memory.ports
    for store, word in ((A, "alpha"), (B, "beta")):
        await tell(ports, store, f"The {word} fact.")
        await append_to(ports, USER, store, f"The {word} entry.", "test")
        await append_to(ports, USER, store, "An entry of both.", "test")
        await add_rule(ports, USER, store, f"The {word} rule.")
        put(memory, store, "knowledge/deploy.md", f"How {word} is deployed.\n")
        put(memory, store, "knowledge/same.md", "The same in both.\n")
        put(memory, store, "superseded/old.md", f"What {word} was.\n")
        put(memory, store, "consolidation-log.md", f"- {word} was organized\n")
        put(memory, store, "knowledge/INDEX.md", f"# {word}\n")
        put(memory, store, "sketch.txt", f"A sketch of {word}.\n")
    put(memory, A, "journal/2026-01-01.md", "<!-- entry 2026-01-01T10:00:00Z user test -->\nOnly alpha's.\n")
    put(memory, A, "handoff/main.md", "---\nupdated_at: 2026-01-02T00:00:00Z\n---\nAlpha's newer scene.\n")
    put(memory, B, "handoff/main.md", "---\nupdated_at: 2026-01-01T00:00:00Z\n---\nBeta's older scene.\n")
    await label_store(ports, USER, A, "The shop")

    done = await merge_stores(ports, USER, A, B)

    assert (done.target, done.label_moved, done.root_moved) == (B.name, True, False)
    assert done.aliases == (A.project_id,) and done.reorg_status == "no_model"
    assert done.merged_files == 10
    assert not (memory.tree / A.folder).exists() and A not in await ports.tree.stores()
    kept = "\n".join(inside(memory, B).values())
    for word in ("alpha", "beta"):
        for sentence in ("The {} fact", "The {} entry", "The {} rule", "How {} is deployed", "What {} was"):
            assert kept.count(sentence.format(word)) >= 1, (sentence, word)
        assert f"- {word} was organized" in kept and f"A sketch of {word}." in kept
    for sentence in ("Only alpha's", "Alpha's newer scene", "Beta's older scene", "The same in both"):
        assert sentence in kept, sentence
    assert kept.count("An entry of both.") == 1
    files = inside(memory, B)
    assert "newer" in files["handoff/main.md"]
    assert "older" in next(text for path, text in files.items() if path.startswith("superseded/main."))
    assert "deploy.md" in files["knowledge/INDEX.md"] and "same.md" in files["knowledge/INDEX.md"]
    assert files["consolidation-log.md"] == "- beta was organized\n- alpha was organized\n"
    assert (await show_store(ports, B)).label == "The shop"
    assert (await recall(ports, [B], "alpha fact"))[0].text == "The alpha fact."
    assert await recall(ports, [A], "alpha fact") == []
    uncommitted = memory.git("status", "--porcelain", folder=memory.tree).splitlines()
    # What was a person's own in the target before is theirs to commit; loose files aren't in git at all.
    assert [line.rpartition("/")[2].partition(".")[0] for line in uncommitted] == ["same", "sketch", "sketch"]
    assert memory.log()[0].startswith("merge: The shop into project-")
    event = (await ports.state.audit_events(1, None, "memory_stores_merged", None))[0]
    assert (event.store, event.details) == (B.name, {"source": A.name, "files": 10, "aliases": 1})


@pytest.mark.parametrize(
    ("source", "target"),
    [(A, A), (GLOBAL, A), (A, GLOBAL), (GLOBAL, GLOBAL)],
    ids=lambda store: store.name[:9],
)
async def test_what_cannot_be_merged_is_refused(memory: Memory, source: StoreRef, target: StoreRef) -> None:
    """The memory for all projects would end up in one of them."""
    await tell(memory.ports, A, "A fact.")
    await tell(memory.ports, GLOBAL, "A fact for everywhere.")
    with memory.nothing_written(), pytest.raises(StoreMergeInvalid):
        await merge_stores(memory.ports, USER, source, target)


async def test_a_store_that_is_not_there_is_refused(memory: Memory) -> None:
    """A slip of the keyboard would move a project's memory to a name that nobody knows."""
    await tell(memory.ports, A, "A fact.")
    for pair in ((A, B), (B, A)):
        with memory.nothing_written(), pytest.raises(StoreNotFound):
            await merge_stores(memory.ports, USER, *pair)


async def test_a_label_and_limits_of_the_target_stay(memory: Memory) -> None:
    """The store that stays would be called something else from one day to the next."""
    await tell(memory.ports, A, "A fact.")
    await tell(memory.ports, B, "Another.")
    await label_store(memory.ports, USER, A, "Old")
    await label_store(memory.ports, USER, B, "New")
    done = await merge_stores(memory.ports, USER, A, B, organize=False)
    assert not done.label_moved and done.reorg_status == "skipped"
    assert (await show_store(memory.ports, B)).label == "New"


async def test_a_cleared_label_leaves_no_key(memory: Memory) -> None:
    """Another machine couldn't tell that the label was cleared, and would bring it back."""
    await tell(memory.ports, A, "A fact.")
    await label_store(memory.ports, USER, A, "Old")
    await label_store(memory.ports, USER, A, " ")
    assert "label" not in inside(memory, A)["store.yaml"]


async def test_what_is_no_file_stays_where_it_is(memory: Memory) -> None:
    """One link or giant in a folder would keep its whole store from being merged, or be moved somewhere it breaks."""
    await tell(memory.ports, A, "A fact.")
    await tell(memory.ports, B, "Another.")
    huge = put(memory, A, "knowledge/huge.md", "x" * (9 << 20))
    link = memory.tree / A.folder / "knowledge" / "link.md"
    link.symlink_to("/etc/hostname")
    (memory.tree / B.folder / "knowledge" / "blocked.md").mkdir()
    blocked = put(memory, A, "knowledge/blocked.md", "A folder is in the way.\n")
    await merge_stores(memory.ports, USER, A, B)
    assert set(await texts(memory.ports, B)) == {"A fact.", "Another."}
    assert huge.exists() and link.is_symlink() and blocked.exists()
    head = memory.git("rev-parse", "HEAD", folder=memory.tree)
    assert not await consolidate(memory.ports)
    assert memory.git("rev-parse", "HEAD", folder=memory.tree) == head


async def test_a_second_version_never_replaces_an_edited_one(memory: Memory) -> None:
    """What somebody wrote into a kept second version would be overwritten by the next merge of the same texts."""
    put(memory, A, "knowledge/deploy.md", "How alpha is deployed.\n")
    put(memory, B, "knowledge/deploy.md", "How beta is deployed.\n")
    await merge_stores(memory.ports, USER, A, B)
    [copy] = [path for path in inside(memory, B) if ".conflict-" in path]
    second = put(memory, C, "knowledge/deploy.md", inside(memory, B)[copy])
    text = second.read_text()
    put(memory, B, copy, "Edited by hand.\n")
    await merge_stores(memory.ports, USER, C, B)
    assert inside(memory, B)[copy] == "Edited by hand.\n"
    assert text in [kept for path, kept in inside(memory, B).items() if ".conflict-" in path]


async def test_writes_to_a_retired_name_go_to_the_survivor(memory: Memory) -> None:
    """A program that still uses the old name would start a second, empty memory of the project."""
    ports = memory.ports
    old = (await remember(ports, USER, A, NewFact("Water boils."))).fact
    before = memory.git("rev-parse", "HEAD", folder=memory.tree)
    put(memory, A, "rules/rules.md", "- Be kind. <!-- learned 2026-11-30 by organizer -->\n")
    await tell(ports, B, "Another.")
    await merge_stores(ports, USER, A, B)

    said = (await remember(ports, USER, A, NewFact("Ice floats.", supersedes=[old.id]))).fact
    assert said.store == B.name
    await add_rule(ports, USER, A, "Be brief.")
    await accept_learned(ports, USER, A, "Be kind.")
    await append_to(ports, USER, A, "It happened.", "test")
    assert [entry.body for entry in await recent_entries(ports, B, 5)] == ["It happened."]
    rules = {rule.text: rule.learned for file in await rules_files(ports, B) for rule in file.rules}
    assert rules == {"Be kind.": False, "Be brief.": False}
    with pytest.raises(MemoryNotFound):
        await restore_fact(ports, USER, A, "0" * 26, before)
    await delete_fact(ports, USER, B, said.id)
    again = await restore_fact(ports, USER, A, said.id, memory.git("rev-parse", "HEAD~1", folder=memory.tree))
    assert again.store == B.name
    assert not (memory.tree / A.folder).exists()


async def test_a_fact_goes_back_to_what_it_was_before_the_merge(memory: Memory) -> None:
    """What a fact said under the old name could be seen in git, but not be brought back."""
    ports = memory.ports
    fact = (await remember(ports, USER, A, NewFact("Water boils."))).fact
    before = memory.git("rev-parse", "HEAD", folder=memory.tree)
    (memory.tree / fact.path).write_text(
        (memory.tree / fact.path).read_text().replace("boils.", "boils, or so they say.")
    )
    await tell(ports, B, "Another.")
    await merge_stores(ports, USER, A, B)
    assert "Water boils, or so they say." in await texts(ports, B)
    assert (await restore_fact(ports, USER, B, fact.id, before)).text == "Water boils."


async def test_a_checkout_of_the_retired_project_reads_and_writes_the_survivor(memory: Memory) -> None:
    """An agent in the old checkout would find nothing, and begin anew."""
    ports, caller = memory.ports, memory.caller()
    project = await project_of(ports, caller)
    await remember(ports, caller, project.store, NewFact("Water boils."), project)
    await tell(ports, B, "Another.")
    done = await merge_stores(ports, USER, project.store, B)
    assert done.root_moved
    assert await project_store(ports, project) == B
    await set_handoff(ports, caller, "Half done.")
    assert (await resume(ports, caller)).body == "Half done."
    assert [store.name for store in await list_stores(ports)] == [B.name]
    assert (await show_store(ports, B)).project_root == str(memory.project)


async def test_aliases_go_along_and_are_held_once(memory: Memory) -> None:
    """After two merges the first name would lead nowhere, or to two stores."""
    for store in (A, B, C):
        await tell(memory.ports, store, f"Fact of {store.name}.")
    await merge_stores(memory.ports, USER, A, B)
    done = await merge_stores(memory.ports, USER, B, C)
    assert done.aliases == tuple(sorted((A.project_id, B.project_id)))
    assert (await remember(memory.ports, USER, A, NewFact("Late."))).fact.store == C.name
    assert await texts(memory.ports, C) == sorted(["Late.", *(f"Fact of {one.name}." for one in (A, B, C))])


async def test_a_fact_told_while_stores_are_merged_is_kept(memory: Memory) -> None:
    """A fact that comes in just then would be written to a store that is on its way out, and be lost with it."""
    ports = memory.ports
    for number in range(15):
        source, target = (StoreRef(project_id(f"/{name}/{number}")) for name in ("source", "target"))
        said = [f"Fact {fact} of round {number}." for fact in range(8)]
        await tell(ports, source, said[0])
        await tell(ports, target, said[1])
        async with trio.open_nursery() as nursery:
            for place, text in enumerate(said[2:]):
                nursery.start_soon(tell, ports, source, text)
                if place == number % 6:
                    nursery.start_soon(merge_stores, ports, USER, source, target)
                    nursery.start_soon(append_to, ports, USER, source, "It is noted.", "test")
                if number % 2:
                    await trio.lowlevel.checkpoint()
        assert source not in await ports.tree.stores()
        assert await texts(ports, target) == said
        assert [entry.body for entry in await recent_entries(ports, target, 5)] == ["It is noted."]


async def test_a_merge_can_be_taken_back(memory: Memory) -> None:
    """A slip would join two projects for good."""
    await tell(memory.ports, A, "Of A.")
    await tell(memory.ports, B, "Of B.")
    await merge_stores(memory.ports, USER, A, B)
    await undo(memory.ports, USER, memory.git("rev-parse", "HEAD", folder=memory.tree))
    assert not await consolidate(memory.ports)
    assert (await texts(memory.ports, A), await texts(memory.ports, B)) == (["Of A."], ["Of B."])


async def test_late_facts_of_a_retired_store_are_brought_along(memory: Memory) -> None:
    """A fact that another machine wrote under the old name would never be found again."""
    await tell(memory.ports, A, "Early.")
    await tell(memory.ports, B, "There.")
    await merge_stores(memory.ports, USER, A, B)
    put(memory, A, "knowledge/inbox/2026-11/late.md", "Late.\n")
    assert await consolidate(memory.ports)
    assert await texts(memory.ports, B) == ["Early.", "Late.", "There."]
    assert not (memory.tree / A.folder).exists()
    assert not await consolidate(memory.ports)


async def test_opposite_merges_end_in_the_smaller_name(memory: Memory) -> None:
    """Two machines that merged the same two stores in opposite directions would move them to and fro for ever."""
    aliases(memory, A, B)
    aliases(memory, B, A, C)
    put(memory, A, "knowledge/a.md", "Of A.\n")
    put(memory, B, "knowledge/b.md", "Of B.\n")
    assert await consolidate(memory.ports)
    assert await texts(memory.ports, A) == ["Of A.", "Of B."]
    assert not (memory.tree / B.folder).exists()
    store = await show_store(memory.ports, A)
    assert set(store.merged_identities) == {B.project_id, C.project_id}
    assert not await consolidate(memory.ports)


async def test_an_id_given_to_two_stores_leads_to_one(memory: Memory) -> None:
    """Which memory a retired name means would depend on who asks."""
    aliases(memory, A, C)
    aliases(memory, B, C)
    assert await consolidate(memory.ports)
    assert (await show_store(memory.ports, A)).merged_identities == (C.project_id,)
    assert (await show_store(memory.ports, B)).merged_identities == ()
    assert not await consolidate(memory.ports)


async def test_damaged_settings_hold_up_nothing_else(memory: Memory) -> None:
    """One store.yaml that can't be read would keep all others from being put in order."""
    put(memory, C, "store.yaml", "merged_identities: [\n")
    aliases(memory, B, A)
    put(memory, A, "knowledge/a.md", "Of A.\n")
    assert await consolidate(memory.ports)
    assert await texts(memory.ports, B) == ["Of A."]


async def test_every_machine_gets_the_same_files(memory: Memory, tmp_path: Path) -> None:
    """Machines that put the same stores in order would disagree, and conflict at the next sync."""
    aliases(memory, A, B)
    aliases(memory, B, A)
    for store, word in ((A, "alpha"), (B, "beta")):
        put(memory, store, "knowledge/deploy.md", f"How {word} is deployed.\n")
        put(memory, store, "rules/rules.md", f"- The {word} rule.\n")
        put(memory, store, "handoff/main.md", f"The scene of {word}.\n")
        put(memory, store, "superseded/old.md", f"What {word} was.\n")
    home = tmp_path / "other"
    shutil.copytree(memory.tree, home / "memory")
    async with open_ports(str(home), memory.environ) as there:
        assert await consolidate(there)
        other = replace(memory, ports=there)
        assert await consolidate(memory.ports)
        assert inside(other, A) == inside(memory, A)
        assert {path.partition(".conflict-")[0] for path in inside(memory, A) if "conflict" in path} == {
            "knowledge/deploy",
            "superseded/old",
            "superseded/main",
        }


NAMES = st.sampled_from("ABCDEF")


@given(st.dictionaries(NAMES, st.sets(NAMES)), NAMES)
def test_every_chain_ends_and_every_name_on_it_ends_there_too(
    aliases: dict[str, set[str]], name: str
) -> None:
    """A retired name would lead round in circles, or two names of one store to different ones."""
    end = survivor_of(name, aliases)
    assert survivor_of(end, aliases) == end
    assert end == name or end in aliases
    if not any(name in held for held in aliases.values()):
        assert end == name
