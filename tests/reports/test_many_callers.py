"""Reports of memories that lost, doubled or blocked what several callers did at once."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import trio
import trio.testing

from coffer.application.curate import Edit, clear_store, delete_fact, edit_fact, list_facts
from coffer.application.history import restore_fact, store_history
from coffer.application.recall import recall
from coffer.application.remember import NewFact, remember
from coffer.application.stores import label_store
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import GLOBAL, StoreRef
from coffer.infrastructure import failpoints
from coffer.infrastructure.sqlite import sqlite3
from tests.reports.conftest import Memory

OTHER = StoreRef("7" * 26)


async def say(ports: Ports, text: str, store: StoreRef = GLOBAL) -> str:
    """Remember a text and return the fact's id."""
    return (await remember(ports, Caller("agent", "codex"), store, NewFact(text))).fact.id


@pytest.mark.report("B08", "B19")
async def test_the_same_text_is_kept_once_however_often_it_comes(memory: Memory) -> None:
    """A text that is said twice would be there twice, or not at all."""
    ids: set[str] = set()

    async def tell(ports: Ports) -> None:
        ids.add(await say(ports, "The staging database is reset every night."))

    async with memory() as ports:
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(tell, ports)
        await tell(ports)
        facts, total = await list_facts(ports, GLOBAL)
        assert ({fact.id for fact in facts}, total) == (ids, 1)


@pytest.mark.report("B32")
async def test_whatever_writes_is_done_one_after_the_other(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two ways to write, each with a lock of its own, would overwrite each other."""
    points: list[tuple[str, int]] = []

    def reached(point: str) -> None:
        if not point.startswith("sql"):
            points.append((point, threading.get_ident()))

    monkeypatch.setattr(failpoints, "from_setting", lambda setting: reached)
    you = Caller()
    async with memory() as ports:
        edited, deleted = [await say(ports, text) for text in ("Monday.", "Tuesday.")]
        commit = (await store_history(ports, GLOBAL))[0].commit
        await say(ports, "Elsewhere.", OTHER)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(edit_fact, ports, you, GLOBAL, edited, Edit(text="Wednesday."))
            nursery.start_soon(delete_fact, ports, you, GLOBAL, deleted)
            nursery.start_soon(clear_store, ports, you, OTHER)
            nursery.start_soon(label_store, ports, you, OTHER, "elsewhere")
            nursery.start_soon(say, ports, "Thursday.")
        await restore_fact(ports, you, GLOBAL, deleted, commit)
        facts, _ = await list_facts(ports, GLOBAL)
        assert sorted(fact.text for fact in facts) == ["Thursday.", "Tuesday.", "Wednesday."]
        assert await list_facts(ports, OTHER) == ([], 0)
        done = [info.op for store in (GLOBAL, OTHER) for info in await store_history(ports, store)]
        assert sorted(map(str, done)) == sorted(
            ["remember"] * 4 + ["edit", "delete", "clear", "label", "restore"]
        )
    writer = None
    for point, thread in points:
        assert writer in (None, thread), f"{point} amid the work of another thread"
        writer = None if point == "acked" else thread


@pytest.mark.report("B36")
async def test_others_are_served_while_one_waits_for_a_lock(memory: Memory, tmp_path: Path) -> None:
    """One agent's recall that waits for a locked index would stop every agent, and every write."""
    async with memory() as ports:
        await say(ports, "The lock is red.")
        await recall(ports, [GLOBAL], "lock")
        by_hand = Path(ports.tree.root, "global/knowledge/door.md")
        by_hand.write_text("The lock of the door is green.\n")
        recalled = trio.Event()

        async def look() -> None:
            hits = await recall(ports, [GLOBAL], "door")
            assert [hit.text for hit in hits][:1] == ["The lock of the door is green."]
            recalled.set()

        foreign = sqlite3.connect(os.path.join(tmp_path, "home", "index.sqlite"), isolation_level=None)
        foreign.execute("BEGIN IMMEDIATE")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            await trio.testing.wait_all_tasks_blocked()
            await say(ports, "The key is under the mat.")
            assert await ports.tree.read("global/knowledge/door.md")
            assert not recalled.is_set()
            foreign.execute("ROLLBACK")
        foreign.close()
        assert recalled.is_set()
