"""Undo on a real memory: one commit's work goes, everything else stays."""

from __future__ import annotations

import pytest

from coffer.application.curate import Edit, clear_store, delete_fact, edit_fact, get_fact, list_facts
from coffer.application.handoff import saved_scene, set_handoff
from coffer.application.history import whole_history
from coffer.application.journal import append_to
from coffer.application.past import blame_fact, facts_at
from coffer.application.recall import recall
from coffer.application.remember import NewFact, remember
from coffer.application.rules import add_rule
from coffer.application.undo import undo
from coffer.domain.errors import ConfigInvalid, UndoConflict
from coffer.domain.facts import Caller
from coffer.domain.history import Undone
from coffer.domain.stores import GLOBAL
from tests.coffer.application.conftest import Memory

USER = Caller()
TOPIC = "global/knowledge/deploy.md"


async def newest(memory: Memory) -> str:
    return (await whole_history(memory.ports, 1))[0].commit


async def take_back(memory: Memory, commit: str | None = None) -> Undone:
    return await undo(memory.ports, USER, commit or await newest(memory))


async def texts(memory: Memory) -> list[str]:
    return sorted(fact.text for fact in (await list_facts(memory.ports, GLOBAL))[0])


@pytest.fixture
async def facts(memory: Memory) -> list[str]:
    """Two facts in the global store."""
    told = [await remember(memory.ports, USER, GLOBAL, NewFact(text)) for text in ("one", "two")]
    return [one.fact.id for one in told]


async def test_undo_of_a_deletion_and_of_the_undo(memory: Memory, facts: list[str]) -> None:
    """A fact deleted by mistake would stay away, or an undo couldn't be taken back."""
    await delete_fact(memory.ports, USER, GLOBAL, facts[0])
    undone = await take_back(memory)
    assert undone.commit == await newest(memory) and undone.pending_reason is None
    assert memory.log()[0] == "undo: delete: one"
    assert await texts(memory) == ["one", "two"]
    await take_back(memory)
    assert await texts(memory) == ["two"]
    assert (await memory.events())[-3:] == ["memory_deleted", "memory_updated", "memory_updated"]


async def test_undo_beside_later_work(memory: Memory, facts: list[str]) -> None:
    """Undoing would take with it what was written elsewhere since."""
    await clear_store(memory.ports, USER, GLOBAL)
    cleared = await newest(memory)
    await remember(memory.ports, USER, GLOBAL, NewFact("three"))
    await take_back(memory, cleared[:12])
    assert await texts(memory) == ["one", "three", "two"]
    same = await remember(memory.ports, USER, GLOBAL, NewFact("two"))
    assert same.status == "exists"


async def test_undo_of_lines_in_a_text_that_grew(memory: Memory, facts: list[str]) -> None:
    """A mended line couldn't be taken back once somebody had written another one."""
    long = "\n\n".join(f"paragraph {number}" for number in range(6))
    fact = (await remember(memory.ports, USER, GLOBAL, NewFact(long, title="Six"))).fact
    path = memory.tree / fact.path
    path.write_text(path.read_text().replace("paragraph 1", "wrong"))
    memory.git("commit", "-qam", "wrong", folder=memory.tree)
    wrong = await newest(memory)
    path.write_text(path.read_text().replace("paragraph 5", "right"))
    undone = await take_back(memory, wrong)
    assert undone.paths == (fact.path,)
    text = (await get_fact(memory.ports, GLOBAL, fact.id)).text
    assert text == long.replace("paragraph 5", "right")
    assert memory.log()[:2] == ["undo: wrong", f"edit: {fact.path} by hand"]


async def test_undo_is_refused_where_later_work_stands_on_it(memory: Memory, facts: list[str]) -> None:
    """What somebody wrote afterwards would be thrown away."""
    added = await newest(memory)
    await edit_fact(memory.ports, USER, GLOBAL, facts[1], Edit("two, mended"))
    edited = await newest(memory)
    with memory.nothing_written(), pytest.raises(UndoConflict) as refused:
        await take_back(memory, added)
    told = refused.value.details
    assert isinstance(told["later"], list) and isinstance(told["paths"], list)
    assert [later["commit"] for later in told["later"]] == [edited]
    assert "edit: two, mended" in refused.value.message and len(told["paths"]) == 1


async def test_undo_of_an_entry_among_later_ones(memory: Memory, facts: list[str]) -> None:
    """A wrong entry of the journal could only be removed with all that followed."""
    store = await memory.store()
    await append_to(memory.ports, USER, store, "wrong entry", "api")
    wrong = await newest(memory)
    await append_to(memory.ports, USER, store, "right entry", "api")
    await take_back(memory, wrong)
    (day,) = (await memory.file("journal")).iterdir()
    assert "right entry" in day.read_text() and "wrong entry" not in day.read_text()


async def test_undo_of_a_handoff_that_was_saved_again(memory: Memory) -> None:
    """Undo would say that it was done while the later handoff stays, or bring an old one back over it."""
    store = await memory.store()
    await add_rule(memory.ports, USER, store, "a rule")
    await set_handoff(memory.ports, memory.caller(), "half done")
    half = await newest(memory)
    await set_handoff(memory.ports, memory.caller(), "all done")
    with memory.nothing_written(), pytest.raises(UndoConflict):
        await take_back(memory, half)
    await take_back(memory)
    scene = await saved_scene(memory.ports, store, "main")
    assert scene and scene.scene.body == "half done"


async def test_index_of_topics_follows(memory: Memory, facts: list[str]) -> None:
    """The list of topics would lack one that is there again."""
    (memory.tree / TOPIC).write_text("Deploys go through make release.\n")
    topic = (await list_facts(memory.ports, GLOBAL, "topic"))[0][0]
    await delete_fact(memory.ports, USER, GLOBAL, topic.id)
    assert not (memory.tree / "global/knowledge/INDEX.md").exists()
    await take_back(memory)
    assert "deploy.md" in (memory.tree / "global/knowledge/INDEX.md").read_text()


async def test_what_cant_be_undone(memory: Memory, facts: list[str]) -> None:
    """Undo would do half of it, or something that nobody can foresee."""
    first = (await whole_history(memory.ports))[-1].commit
    memory.git("checkout", "-qb", "side", folder=memory.tree)
    (memory.tree / "notes.txt").write_text("mine")
    memory.git("add", "notes.txt", folder=memory.tree)
    memory.git("commit", "-qm", "notes", folder=memory.tree)
    notes = memory.git("rev-parse", "HEAD", folder=memory.tree)
    memory.git("checkout", "-q", "main", folder=memory.tree)
    memory.git("merge", "-q", "--no-ff", "-m", "both", "side", folder=memory.tree)
    both = memory.git("rev-parse", "HEAD", folder=memory.tree)
    with memory.nothing_written():
        for commit, why in ((first, "first"), (both, "joins"), (notes, "notes.txt")):
            with pytest.raises(ConfigInvalid, match=why):
                await take_back(memory, commit)


async def test_the_past_is_told_with_agents_and_sessions(memory: Memory, facts: list[str]) -> None:
    """Nobody could find the session in which an agent wrote something wrong."""
    agent = Caller("agent", "codex", "session-7", str(memory.project))
    fact = (await remember(memory.ports, agent, GLOBAL, NewFact("by an agent"))).fact
    assert (await whole_history(memory.ports, 1))[0].session == "session-7"
    told = {
        (line.actor, line.agent, line.session) for line in await blame_fact(memory.ports, GLOBAL, fact.id)
    }
    assert told == {("agent", "codex", "session-7")}


async def test_recall_and_facts_at_a_commit(memory: Memory, facts: list[str]) -> None:
    """The past would be answered with the present."""
    then = await newest(memory)
    await edit_fact(memory.ports, USER, GLOBAL, facts[0], Edit("one became three"))
    moment, found, total = await facts_at(memory.ports, GLOBAL, then)
    assert moment and moment.commit == then and total == 2
    assert sorted(fact.text for fact in found) == ["one", "two"]
    assert [hit.text for hit in await recall(memory.ports, [GLOBAL], "one", 5, then)] == ["one"]
    assert [hit.text for hit in await recall(memory.ports, [GLOBAL], "three", 5)] == ["one became three"]
    assert await recall(memory.ports, [GLOBAL], "three", 5, then) == []
