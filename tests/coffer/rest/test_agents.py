"""The routes of agents and of setup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from coffer.domain.ports import Ports
from coffer.infrastructure.agents.kinds import KnownAgents
from coffer.infrastructure.settings.files import DiskSettings
from tests.coffer.application.machine import CLAUDE, move_in, settings
from tests.coffer.rest.doors import Client
from tests.coffer.rest.memory_ports import MemoryAgents, MemoryState, memory_ports


@pytest.fixture
def ports(tmp_path: Path) -> Ports:
    """An empty memory on a machine with four agents."""
    move_in(tmp_path)
    disk = DiskSettings(lambda: "2026-06-03T10:00:00Z")
    return replace(memory_ports(), kinds=KnownAgents({}, str(tmp_path)), settings=disk)


async def test_an_agents_life(client: Client, ports: Ports, tmp_path: Path) -> None:
    """What the documents promise of an agent couldn't be done by a program."""
    before = settings(tmp_path)
    made = await client.ask("POST", "/agents", {"type": "claude_code", "name": "ada"})
    agent = {
        "name": "ada",
        "type": "claude_code",
        "config_dir": str(tmp_path / ".claude"),
        "disable_native_memory": False,
        "prompt_notes": True,
        "native_memory": "on",
    }
    assert (made.status, made.json) == (201, agent)
    assert (await client.ask("GET", "/agents")).json == {"agents": [agent]}
    assert (await client.ask("GET", "/agents/ada")).json == agent

    changed = await client.ask("PATCH", "/agents/ada", {"disable_native_memory": True, "prompt_notes": False})
    off = {"disable_native_memory": True, "prompt_notes": False, "native_memory": "off"}
    assert changed.json == agent | off
    assert (await client.ask("PATCH", "/agents/ada", {})).json == agent | off

    told = (await client.ask("POST", "/agents/ada/mcp")).json
    assert told == {
        "installed": True,
        "path": str(tmp_path / ".claude.json"),
        "command": "/opt/coffer-mcp-shim --agent ada",
    }
    assert (await client.ask("GET", "/agents/ada/mcp")).json == told
    assert isinstance(ports.agents, MemoryAgents)
    ports.agents.fired("ada", "SessionStart", "2026-06-03T10:00:00Z", None)
    hooks = (await client.ask("POST", "/agents/ada/hooks")).json
    assert hooks["advice"] is None
    assert hooks["hooks"][0] == {
        "event": "SessionStart",
        "installed": True,
        "command": '"/opt/coffer-hook" --agent ada --event SessionStart',
        "trusted": None,
        "last_fired": "2026-06-03T10:00:00Z",
        "last_error": None,
    }
    assert (await client.ask("GET", "/agents/ada/hooks")).json == hooks
    gone = (await client.ask("DELETE", "/agents/ada/hooks")).json
    assert [hook["installed"] for hook in gone["hooks"]] == [False] * 3
    assert not (await client.ask("DELETE", "/agents/ada/mcp")).json["installed"]

    removed = await client.ask("DELETE", "/agents/ada")
    assert (removed.status, removed.body) == (204, b"")
    assert settings(tmp_path) == before
    assert (await client.ask("GET", "/agents/ada")).code == "AGENT_NOT_FOUND"


async def test_candidates(client: Client, tmp_path: Path) -> None:
    """A person couldn't see which of their agents Coffer finds, and by what."""
    await client.ask("POST", "/agents", {"type": "codex"})
    found = (await client.ask("GET", "/agents/candidates")).json["candidates"]
    assert {each["type"]: each["registered"] for each in found} == {
        "claude_code": None,
        "codex": "codex",
        "opencode": None,
        "cursor": None,
    }
    assert found[0]["config_dir"] == str(tmp_path / ".claude") and found[0]["because"] == "~/.claude"


async def test_refusals(client: Client, tmp_path: Path) -> None:
    """A program couldn't tell one mistake from another."""
    await client.ask("POST", "/agents", {"type": "claude_code"})
    again = await client.ask("POST", "/agents", {"type": "claude_code"})
    assert (again.status, again.code) == (409, "AGENT_EXISTS")
    assert (await client.ask("POST", "/agents", {"type": "emacs"})).code == "UNSUPPORTED_AGENT_TYPE"
    relative = await client.ask("POST", "/agents", {"type": "codex", "config_dir": ".codex"})
    assert relative.code == "CONFIG_INVALID"
    await client.ask("POST", "/agents", {"type": "opencode"})
    assert (await client.ask("POST", "/agents/opencode/hooks")).code == "UNSUPPORTED_AGENT_TYPE"
    (tmp_path / CLAUDE).write_text('{"model": }')
    broken = await client.ask("POST", "/agents/claude_code/hooks")
    assert (broken.status, broken.code) == (409, "SETTINGS_UNPARSABLE")
    assert broken.json["error"]["details"] == {"path": str(tmp_path / CLAUDE), "line": 1, "column": 11}
    assert (await client.ask("GET", "/agents")).json["agents"][0]["native_memory"] == "unknown"


async def test_setup(client: Client, ports: Ports, tmp_path: Path) -> None:
    """The command line couldn't show what it is about to change, or would change it unasked."""
    before = settings(tmp_path)
    plan = (await client.ask("POST", "/setup", {})).json
    assert plan["applied"] is False and settings(tmp_path) == before
    assert [agent["name"] for agent in plan["agents"]] == ["claude_code", "codex", "cursor", "opencode"]
    cursor = plan["agents"][2]
    assert (cursor["title"], cursor["registered"], cursor["problem"]) == ("Cursor", False, None)
    assert cursor["changes"][0]["path"] == str(tmp_path / ".cursor/mcp.json")
    assert '-       "command": "another-coffer",' in cursor["changes"][0]["diff"].splitlines()

    done = (await client.ask("POST", "/setup", {"apply": True})).json
    assert done["applied"] and settings(tmp_path) != before
    assert [agent["changes"] for agent in done["agents"]] == [agent["changes"] for agent in plan["agents"]]
    assert (await client.ask("POST", "/setup/undo", {"agents": ["codex"]})).json["applied"] is False
    undone = (await client.ask("POST", "/setup/undo", {"apply": True})).json
    assert all(agent["registered"] for agent in undone["agents"])
    assert settings(tmp_path) == before
    assert (await client.ask("POST", "/setup", {"agents": ["emacs"]})).code == "CONFIG_INVALID"
    assert isinstance(ports.state, MemoryState)
    assert ports.state.events[0].event == "agent_removed"
