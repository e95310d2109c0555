"""What hooks left while no daemon ran: taken once, in order, whatever else lies there."""

from __future__ import annotations

import os
from pathlib import Path

from coffer.application.spool import drain
from coffer.domain.agents import Agent
from coffer.infrastructure.spool import take
from tests.coffer.rest.memory_ports import MemoryAgents, memory_ports


def test_each_is_taken_once_in_the_order_of_their_names(tmp_path: Path) -> None:
    """A session would be distilled at every start, or the spool grow for ever."""
    spool = tmp_path / "spool"
    spool.mkdir()
    for name, content in (("2-1", b"b\n{}\n"), ("1-9", b"a\nx\ny"), ("3-1", b""), (".4-1", b"half\n{")):
        (spool / name).write_bytes(content)
    (spool / "5-1").mkdir()
    (spool / "6-1").symlink_to("/etc/passwd")
    os.mkfifo(spool / "7-1")
    (spool / "8-1").write_bytes(b"\xff\n\xff")
    assert list(take(str(tmp_path))) == [
        ("a", b"x\ny"),
        ("b", b"{}\n"),
        ("", b""),
        ("", b""),
        ("\ufffd", b"\xff"),
    ]
    assert {path.name for path in spool.iterdir()} == {".4-1", "5-1", "6-1"}


def test_a_spool_that_isnt_there_is_empty(tmp_path: Path) -> None:
    """A daemon wouldn't start in a home that no hook was in."""
    assert list(take(str(tmp_path))) == []
    (tmp_path / "spool").write_bytes(b"")
    assert list(take(str(tmp_path))) == []


async def test_only_registered_agents_have_ended_sessions() -> None:
    """A session of an agent that was removed would be read all the same."""
    ports = memory_ports()
    await ports.agents.save(Agent("claude", "claude_code", "/claude"), None)
    await drain(ports, [("nobody", b"{}"), ("claude", b"\xff"), ("claude", b'{"cwd": "/w"}')])
    assert isinstance(ports.agents, MemoryAgents)
    assert {name: list(calls) for name, calls in ports.agents.calls.items()} == {"claude": ["SessionEnd"]}
