"""Doctor says for each agent what keeps memory from arriving, in words that a person can act on."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from coffer.application.agent_entries import connect_mcp
from coffer.application.agent_findings import agent_findings
from coffer.application.agents import NewAgent, change_agent, register_agent
from coffer.application.doctor import diagnose
from coffer.application.setup import setup
from coffer.domain.activity import Finding
from coffer.domain.agents import Commands
from coffer.domain.facts import Caller
from tests.coffer.application.conftest import Memory
from tests.coffer.application.machine import CLAUDE, CODEX, edit, move_in

USER = Caller()
THEN = "2026-11-30T12:00:00Z"


@pytest.fixture
def home(memory: Memory) -> Path:
    """The home of a person who uses all four agents."""
    home = Path(memory.environ["HOME"])
    move_in(home)
    return home


async def finding(memory: Memory, name: str) -> Finding:
    """Return the one finding on an agent."""
    [found] = [each for each in await agent_findings(memory.ports) if each.name == f"agent {name}"]
    return found


async def test_an_agent_that_isnt_connected(memory: Memory, home: Path) -> None:
    """A person wouldn't learn that one of their agents has no part in the memory."""
    found = {each.name: each for each in await agent_findings(memory.ports)}
    assert sorted(found) == ["agent claude_code", "agent codex", "agent cursor", "agent opencode"]
    codex = found["agent codex"]
    assert codex.status == "warning" and codex.action == "Run `coffer setup --agent codex`."
    assert codex.message == f"Codex is on this machine ({home}/.codex) and isn't connected."
    assert found["agent codex"] in await diagnose(memory.ports)


async def test_hooks_that_never_called_and_then_do(memory: Memory, home: Path) -> None:
    """Installed and working would look the same; that is how memory goes missing unnoticed."""
    await setup(memory.ports, USER, [], apply=True)
    claude = await finding(memory, "claude_code")
    assert claude.status == "warning" and claude.message == "Its hooks are installed and were never called."
    assert claude.action == "Start a new session in Claude Code."
    codex = await finding(memory, "codex")
    assert codex.message == "It doesn't call Coffer's hooks before you approve them."
    assert codex.action is not None and codex.action.startswith("Open Codex and approve")
    opencode = await finding(memory, "opencode")
    assert opencode.status == "ok" and "has no hooks" in opencode.message

    memory.ports.agents.fired("claude_code", "SessionStart", THEN, None)
    claude = await finding(memory, "claude_code")
    assert (claude.status, claude.action) == ("ok", None)
    assert claude.message == f"Connected; memory last reached it by itself {THEN}; its own memory is on."
    memory.ports.agents.fired("claude_code", "UserPromptSubmit", THEN, "No.")
    claude = await finding(memory, "claude_code")
    assert claude.status == "warning"
    assert claude.message == f"Its hook UserPromptSubmit failed when it was last called, {THEN}: No."


async def test_approved_hooks_of_codex(memory: Memory, home: Path) -> None:
    """A person who approved the hooks would be told to do it again."""
    await setup(memory.ports, USER, ["codex"], apply=True)
    approved = "".join(
        f'\n[hooks.state."{home}/.codex/hooks.json:{event}:{group}:0"]\ntrusted_hash = "sha256:0"\n'
        for event, group in (("session_start", 1), ("user_prompt_submit", 0))
    )
    (home / CODEX).write_text((home / CODEX).read_text() + "\n" + approved)
    assert "never called" in (await finding(memory, "codex")).message
    memory.ports.agents.fired("codex", "SessionStart", THEN, None)
    assert (await finding(memory, "codex")).status == "ok"


async def test_what_is_missing_is_named(memory: Memory, home: Path) -> None:
    """A person would know that something is wrong and not what to do."""
    await register_agent(memory.ports, USER, NewAgent("claude_code"))
    tools, hooks = [each for each in await agent_findings(memory.ports) if each.name == "agent claude_code"]
    assert "can neither recall nor remember" in tools.message
    assert tools.action == "Run `coffer agent mcp claude_code --install`."
    assert hooks.message == (
        "No memory arrives by itself: hooks are missing for SessionStart, UserPromptSubmit, SessionEnd."
    )
    assert hooks.action == "Run `coffer agent hooks claude_code --install`."
    await connect_mcp(memory.ports, "claude_code")
    assert await finding(memory, "claude_code") == hooks


async def test_another_coffer_is_named(memory: Memory, home: Path) -> None:
    """An agent would start a Coffer that was moved or removed, and get nothing, without anybody knowing."""
    await setup(memory.ports, USER, ["codex"], apply=True)
    moved = replace(memory.ports, commands=Commands("/new/coffer-mcp-shim", "/new/coffer-hook"))
    tools, hooks = [each for each in await agent_findings(moved) if each.name == "agent codex"]
    assert tools.message.startswith(f"{home / CODEX} names another Coffer than this one: /")
    assert hooks.message.startswith('Its hooks call another Coffer than this one: "/')


async def test_settings_that_keep_hooks_from_being_called(memory: Memory, home: Path) -> None:
    """Everything would look installed while the agent was told to call nothing."""
    edit(home / CLAUDE, '"model": "sonnet"', '"disableAllHooks": true')
    await setup(memory.ports, USER, ["claude_code"], apply=True)
    memory.ports.agents.fired("claude_code", "SessionStart", THEN, None)
    found = await finding(memory, "claude_code")
    assert found.message == f"It calls no hooks at all: `disableAllHooks` is true in {home / CLAUDE}."
    assert found.action is not None


async def test_own_memory_that_came_back(memory: Memory, home: Path) -> None:
    """A person would believe their agent's own memory to be off while it fills up beside Coffer's."""
    await setup(memory.ports, USER, ["claude_code"], apply=True)
    memory.ports.agents.fired("claude_code", "SessionStart", THEN, None)
    await change_agent(memory.ports, USER, "claude_code", True, None)
    assert (await finding(memory, "claude_code")).message.endswith("its own memory is off.")
    told = json.loads((home / CLAUDE).read_bytes()) | {"autoMemoryEnabled": True}
    (home / CLAUDE).write_text(json.dumps(told))
    found = await finding(memory, "claude_code")
    assert found.message == "Its own memory was to be off, and its settings have it on."
    assert found.action == "Run `coffer agent set claude_code disable_native_memory true`."


async def test_a_broken_or_vanished_file(memory: Memory, home: Path) -> None:
    """One agent's broken settings would keep doctor from telling of all the others."""
    await setup(memory.ports, USER, [], apply=True)
    (home / ".claude.json").write_text("{")
    (home / CODEX).write_text("[")
    shutil.rmtree(home / ".cursor")
    found = await agent_findings(memory.ports)
    told = {each.name: [one.message for one in found if one.name == each.name] for each in found}
    assert f"{home}/.claude.json, line 1, column 2" in told["agent claude_code"][0]
    [codex] = told["agent codex"]
    assert codex.startswith(f"{home / CODEX}, line 1")
    assert told["agent cursor"] == [f"Its folder {home}/.cursor is gone."]
    assert len(told["agent opencode"]) == 1
