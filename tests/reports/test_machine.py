"""Reports of memories that the machine they ran on didn't suit, or that ran it hot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from coffer.application.curate import list_facts
from coffer.application.recall import recall
from coffer.application.remember import NewFact, remember
from coffer.domain.facts import Caller
from coffer.domain.stores import GLOBAL
from coffer.infrastructure.index import reconcile
from coffer.infrastructure.index.mirror import SearchIndex, StoreFiles
from coffer.infrastructure.sqlite import sqlite3
from tests.reports.conftest import Memory

SHIP = NewFact("Deploys go through make ship.")


@pytest.mark.report("B38")
async def test_a_file_system_without_shared_memory_serves(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a network mount, where SQLite can't keep its log, nothing would start or the index would break."""
    connect = sqlite3.connect

    def without_shared_memory(path: str, **options: Any) -> Any:
        if path == ":memory:":
            return connect(path, **options)
        uri = path if path.startswith("file:") else f"file:{path}"
        joint = "&" if "?" in uri else "?"
        return connect(f"{uri}{joint}vfs=unix-dotfile", **{**options, "uri": True})

    monkeypatch.setattr(sqlite3, "connect", without_shared_memory)
    for expected in (1, 1):
        async with memory() as ports:
            await remember(ports, Caller(), GLOBAL, SHIP)
            assert len(await recall(ports, [GLOBAL], "ship")) == expected
            (finding,) = await ports.index.findings()
            assert finding.status == "ok"
            assert await ports.state.audit_events(50, None, None, None)
    home = tmp_path / "home"
    for name in ("index.sqlite", "state.sqlite"):
        assert (home / name).read_bytes()[18:20] == b"\1\1", (
            "it isn't the journal mode that needs shared memory"
        )
    assert not list(home.glob("*-wal"))


class Steps(trio.abc.Instrument):
    """Counts what the event loop does."""

    count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += 1


@pytest.mark.report("B41")
async def test_an_idle_hour_has_nothing_to_do(memory: Memory, autojump_clock: trio.testing.MockClock) -> None:
    """A laptop would run hot and its battery empty although nobody asks anything."""
    async with memory() as ports:
        await remember(ports, Caller(), GLOBAL, SHIP)
        await recall(ports, [GLOBAL], "ship")
        await ports.state.audit_events(1, None, None, None)
        await trio.testing.wait_all_tasks_blocked()
        steps = Steps()
        trio.lowlevel.add_instrument(steps)
        await trio.sleep(3600)
        trio.lowlevel.remove_instrument(steps)
        assert steps.count <= 2, "one to begin the sleep, one to end it"


@pytest.mark.report("B42")
def test_a_start_reads_no_file_that_it_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each start would read the whole memory again, and the larger it is the longer nothing answers."""
    folder = tmp_path / "global"
    (folder / "knowledge").mkdir(parents=True)
    for number in range(50):
        (folder / "knowledge" / f"{number}.md").write_text(f"Fact {number} of many.\n")
    later = max(file.stat().st_ctime_ns for file in folder.rglob("*.md")) + 10_000_000_000
    stores = [StoreFiles("global", str(folder))]

    def start() -> SearchIndex:
        index = SearchIndex(os.path.join(tmp_path, "index.sqlite"), now=lambda: later)
        index.reconcile(stores)
        return index

    start().close()
    read: list[str] = []
    read_files = reconcile.read_files

    def counted(root: str, folder: str, names: Sequence[str]) -> Iterator[Any]:
        read.extend(names)
        return read_files(root, folder, names)

    monkeypatch.setattr(reconcile, "read_files", counted)
    index = start()
    assert read == []
    assert len(index.search("fact of many", ["global"], 100)) == 50
    (folder / "knowledge" / "7.md").write_text("Fact 7 is another one.\n")
    index.reconcile(stores)
    assert read == ["7.md"]
    index.close()


@pytest.mark.report("B82")
async def test_times_of_any_zone_are_ordered_by_their_moment(memory: Memory) -> None:
    """Notes would be listed in the wrong order, or under the wrong day, around midnight and summer time."""
    moments = {  # in the order of time; Europe's clocks went from 02:00 to 03:00 that night
        "first": "2026-03-29T00:30:00+01:00",
        "second": "2026-03-28T23:45:00Z",
        "third": "2026-03-29T01:59:59+01:00",
        "fourth": "2026-03-29T03:00:00+02:00",
        "fifth": "2026-03-28T22:30:00-03:30",
    }
    async with memory() as ports:
        folder = Path(ports.tree.root, "global/knowledge")
        folder.mkdir(parents=True)
        for name, moment in moments.items():
            (folder / f"{name}.md").write_text(f'---\nupdated_at: "{moment}"\n---\n\nThe {name} note.\n')
        facts, _ = await list_facts(ports, GLOBAL)
    assert [Path(fact.path).stem for fact in reversed(facts)] == list(moments)
    assert [fact.updated_at for fact in reversed(facts)] == [
        "2026-03-28T23:30:00Z",
        "2026-03-28T23:45:00Z",
        "2026-03-29T00:59:59Z",
        "2026-03-29T01:00:00Z",
        "2026-03-29T02:00:00Z",
    ]
