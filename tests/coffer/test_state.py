"""state.sqlite: nothing that was recorded is lost, and a newer file is never touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from coffer.domain.activity import AuditEvent, Invocation
from coffer.domain.errors import StateTooNew
from coffer.domain.facts import Caller
from coffer.infrastructure.sqlite import sqlite3
from coffer.infrastructure.state import SqliteState


async def opened(path: Path) -> SqliteState:
    state = SqliteState(str(path / "state.sqlite"), lambda: "2026-11-30T00:00:00Z")
    await state.open()
    return state


def event(store: str) -> AuditEvent:
    return AuditEvent("memory_added", Caller("agent", "codex", "s1"), store, {"chars": 4})


async def test_events_are_in_the_next_answer(tmp_path: Path) -> None:
    """The audit would miss what was just done."""
    state = await opened(tmp_path)
    state.audit(event("global"))
    state.audit(event("project-X"))
    newest, older = await state.audit_events(50, None, None, None)
    assert (newest.store, older.store) == ("project-X", "global")
    assert older.caller == Caller("agent", "codex", "s1")
    assert older.details == {"chars": 4}
    assert [e.store for e in await state.audit_events(50, None, None, "global")] == ["global"]
    await state.close()


async def test_an_orderly_end_keeps_everything(tmp_path: Path) -> None:
    """Stopping the daemon would lose the last tool calls and where projects live."""
    state = await opened(tmp_path)
    call = Invocation("2026-11-30T00:00:00Z", "coffer__recall", "codex", None, 1.5, "ok")
    state.invoked(call)
    state.found_root("project-X", "/work/x")
    await state.close()
    again = await opened(tmp_path)
    assert await again.invocations(50, None, None, None) == [call]
    assert await again.roots() == {"project-X": "/work/x"}
    await again.close()


async def test_rows_reach_the_disk_while_running(tmp_path: Path) -> None:
    """A crash would lose events although the daemon was idle."""
    state = await opened(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(state.run)
        state.audit(event("global"))
        reader = sqlite3.connect(tmp_path / "state.sqlite")
        with trio.fail_after(5):
            while not reader.execute("SELECT count(*) FROM audit").fetchone()[0]:
                await trio.lowlevel.checkpoint()
        reader.close()
        nursery.cancel_scope.cancel()
    await state.close()


async def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Going back a version would destroy what the newer one keeps."""
    connection = sqlite3.connect(tmp_path / "state.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = (tmp_path / "state.sqlite").read_bytes()
    with pytest.raises(StateTooNew):
        await opened(tmp_path)
    assert (tmp_path / "state.sqlite").read_bytes()[:100] == before[:100]


async def test_the_file_is_private(tmp_path: Path) -> None:
    """Another user of the machine could read who worked on what."""
    state = await opened(tmp_path)
    assert os.stat(tmp_path / "state.sqlite").st_mode & 0o777 == 0o600
    await state.close()
