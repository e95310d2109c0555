"""Agents are found, registered, changed and removed; what was in their files before Coffer is there after it."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
import trio

from coffer.application.agent_entries import (
    connect_mcp,
    disconnect_mcp,
    hooks_status,
    install_hooks,
    mcp_status,
    uninstall_hooks,
)
from coffer.application.agents import (
    NewAgent,
    candidates,
    change_agent,
    find_agent,
    native_memory,
    register_agent,
    remove_agent,
)
from coffer.domain.agents import Agent, FileChange
from coffer.domain.errors import (
    AgentExists,
    AgentNotFound,
    ConfigInvalid,
    SettingsChanged,
    SettingsUnparsable,
    UnsupportedAgentType,
)
from coffer.domain.facts import Caller
from tests.coffer.application.conftest import Memory
from tests.coffer.application.machine import CLAUDE, CODEX, CODEX_HOOKS, edit, move_in, settings

USER = Caller()


@pytest.fixture
def home(memory: Memory) -> Path:
    """The home of a person who uses all four agents."""
    home = Path(memory.environ["HOME"])
    move_in(home)
    return home


async def register(memory: Memory, type: str, **more: str) -> Agent:
    return await register_agent(memory.ports, USER, NewAgent(type, **more))


async def switch(memory: Memory, name: str, off: bool) -> Agent:
    return await change_agent(memory.ports, USER, name, off, None)


# ── the registry ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_found_agent_is_registered_by_its_type(memory: Memory, home: Path) -> None:
    """A person would have to look up where an agent keeps its settings, or find them changed by looking."""
    before = settings(home)
    agent = await register(memory, "codex")
    assert agent == Agent("codex", "codex", str(home / ".codex"))
    assert await memory.ports.agents.all() == [agent]
    found = {each.type: known.name if known else None for each, known in await candidates(memory.ports)}
    assert found == {"claude_code": None, "codex": "codex", "opencode": None, "cursor": None}
    assert settings(home) == before
    assert await memory.events() == ["agent_registered"]


async def test_one_agent_for_each_name_and_folder(memory: Memory, home: Path) -> None:
    """Two agents would fight over one file, or a hook's calls would be counted for the wrong one."""
    await register(memory, "codex")
    other, link = home / "other", home / "link"
    other.mkdir()
    link.symlink_to(home / ".codex")
    for more in ({}, {"config_dir": str(other)}, {"config_dir": str(link), "name": "second"}):
        with pytest.raises(AgentExists):
            await register(memory, "codex", **more)
    await register(memory, "codex", config_dir=str(other), name="second")
    assert [agent.name for agent in await memory.ports.agents.all()] == ["codex", "second"]


@pytest.mark.parametrize(
    "name", ["", "a b", "a;b", "../x", "-x", "candidates", "ä", "x" * 65, "x\n", "$(x)", "'"], ids=repr
)
async def test_names_that_no_command_line_can_hold(memory: Memory, home: Path, name: str) -> None:
    """What stands in an agent's hook would run something else than Coffer."""
    with pytest.raises(ConfigInvalid, match="name"):
        await register(memory, "codex", name=name)
    assert await memory.ports.agents.all() == []


async def test_an_agent_that_isnt_there_is_not_made(memory: Memory, tmp_path: Path) -> None:
    """A person would find settings of an agent that they don't have."""
    with pytest.raises(ConfigInvalid, match="Codex isn't on this machine"):
        await register(memory, "codex")
    with pytest.raises(ConfigInvalid, match="config_dir"):
        await register(memory, "codex", config_dir=str(tmp_path / "nowhere"))
    with pytest.raises(UnsupportedAgentType, match="claude_code"):
        await register(memory, "emacs")
    with pytest.raises(AgentNotFound):
        await find_agent(memory.ports, "codex")
    assert not (tmp_path / "nowhere").exists()


async def test_a_folder_of_anothers_is_never_stored(memory: Memory, home: Path) -> None:
    """One refused row would hold up every later record of what happened."""
    await register(memory, "codex")
    await memory.ports.agents.save(Agent("second", "codex", str(home / ".codex")), None)
    assert [agent.name for agent in await memory.ports.agents.all()] == ["codex"]


# ── its own memory ────────────────────────────────────────────────────────────────────────────────────────

PRIORS = {
    "absent": "",
    "on": '\n  "autoMemoryEnabled" :  true,',
    "off": '\n  "autoMemoryEnabled": false,',
    "odd": '\n  "autoMemoryEnabled": "sometimes",',
}


@pytest.mark.report("B51")
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
async def test_claudes_memory_is_off_and_then_what_it_was(memory: Memory, home: Path, prior: str) -> None:
    """An agent's own memory would stay off after Coffer, or be on where it had been off."""
    path = home / CLAUDE
    edit(path, '{\n  "model"', "{" + prior + '\n  "model"')
    before = settings(home)
    await register(memory, "claude_code")
    assert settings(home) == before

    agent = await switch(memory, "claude_code", off=True)
    assert agent.disable_native_memory and await native_memory(memory.ports, agent) == "off"
    assert json.loads(path.read_bytes())["autoMemoryEnabled"] is False
    off = path.read_bytes()
    await switch(memory, "claude_code", off=True)
    assert path.read_bytes() == off

    agent = await switch(memory, "claude_code", off=False)
    assert not agent.disable_native_memory
    assert settings(home) == before
    await switch(memory, "claude_code", off=False)
    assert await memory.events() == [
        "agent_registered",
        "agent_native_memory_disabled",
        "agent_native_memory_restored",
    ]


@pytest.mark.report("B51")
async def test_codexs_memories_are_off_and_then_what_they_were(memory: Memory, home: Path) -> None:
    """Two keys in two tables, one of which wasn't there, would come back as something else."""
    edit(home / CODEX, "multi_agent = true\n", "multi_agent = true\nmemories = true # since May\n")
    before = settings(home)
    await register(memory, "codex")
    await switch(memory, "codex", off=True)
    told = tomllib.loads((home / CODEX).read_text())
    assert told["features"] == {"multi_agent": True, "memories": False}
    assert told["memories"] == {"generate_memories": False}
    await switch(memory, "codex", off=False)
    assert settings(home) == before


async def test_a_person_who_edits_meanwhile_keeps_both(memory: Memory, home: Path) -> None:
    """Restoring would throw away what the person changed in the same file, or the value they chose since."""
    await register(memory, "claude_code")
    await switch(memory, "claude_code", off=True)
    edit(home / CLAUDE, '"sonnet"', '"opus"')
    await switch(memory, "claude_code", off=False)
    told = json.loads((home / CLAUDE).read_bytes())
    assert told["model"] == "opus" and "autoMemoryEnabled" not in told

    await switch(memory, "claude_code", off=True)
    edit(home / CLAUDE, '"autoMemoryEnabled": false', '"autoMemoryEnabled": true')
    assert await native_memory(memory.ports, await find_agent(memory.ports, "claude_code")) == "on"
    await switch(memory, "claude_code", off=True)
    assert json.loads((home / CLAUDE).read_bytes())["autoMemoryEnabled"] is False
    await switch(memory, "claude_code", off=False)
    assert json.loads((home / CLAUDE).read_bytes())["autoMemoryEnabled"] is True


async def test_a_file_that_cant_be_read_is_left_alone(memory: Memory, home: Path) -> None:
    """A half-saved file would be overwritten, or the agent be shown as switched off when it isn't."""
    agent = await register(memory, "claude_code")
    (home / CLAUDE).write_text('{\n  "model": "opus",,\n}')
    before = settings(home)
    with pytest.raises(SettingsUnparsable) as refused:
        await switch(memory, "claude_code", off=True)
    assert (refused.value.details["line"], refused.value.details["column"]) == (2, 19)
    assert settings(home) == before
    assert await find_agent(memory.ports, "claude_code") == agent
    assert await native_memory(memory.ports, agent) == "unknown"


async def test_agents_without_a_switch(memory: Memory, home: Path) -> None:
    """A person would believe a memory to be off that nobody can switch."""
    for type in ("cursor", "opencode"):
        agent = await register(memory, type)
        assert await native_memory(memory.ports, agent) == "none"
        with pytest.raises(UnsupportedAgentType):
            await switch(memory, type, off=True)
        assert await find_agent(memory.ports, type) == agent


async def test_notes_are_switched_without_forgetting_the_way_back(memory: Memory, home: Path) -> None:
    """Changing another setting would lose what the agent's own memory was."""
    before = settings(home)
    agent = await register_agent(
        memory.ports, USER, NewAgent("claude_code", disable_native_memory=True, prompt_notes=False)
    )
    assert agent.disable_native_memory and not agent.prompt_notes
    agent = await change_agent(memory.ports, USER, "claude_code", None, True)
    assert agent.disable_native_memory and agent.prompt_notes
    await switch(memory, "claude_code", off=False)
    assert settings(home) == before


# ── tools and hooks ───────────────────────────────────────────────────────────────────────────────────────


async def test_hooks_are_told_with_their_last_call(memory: Memory, home: Path) -> None:
    """Nobody could tell a hook that works from one that the agent never runs."""
    agent = await register(memory, "claude_code")
    assert [hook.installed for hook in await hooks_status(memory.ports, agent)] == [False] * 3
    await install_hooks(memory.ports, USER, "claude_code")
    installed = settings(home)
    await install_hooks(memory.ports, USER, "claude_code")
    assert settings(home) == installed
    memory.ports.agents.fired("claude_code", "SessionStart", "2026-11-30T12:00:00Z", None)
    memory.ports.agents.fired("claude_code", "SessionEnd", "2026-11-30T13:00:00Z", "no")
    start, prompt, end = await hooks_status(memory.ports, agent)
    assert start.installed and (start.last_fired, start.last_error) == ("2026-11-30T12:00:00Z", None)
    assert prompt.installed and prompt.last_fired is None
    assert end.installed and end.last_error == "no"
    assert start.command is not None
    assert start.command.endswith('coffer-hook" --agent claude_code --event SessionStart')

    await uninstall_hooks(memory.ports, USER, "claude_code")
    await uninstall_hooks(memory.ports, USER, "claude_code")
    assert await memory.events() == ["agent_registered", "agent_hook_installed", "agent_hook_uninstalled"]


async def test_an_agent_without_hooks_says_so(memory: Memory, home: Path) -> None:
    """A person would wait for memory that can't arrive."""
    agent = await register(memory, "opencode")
    with pytest.raises(UnsupportedAgentType, match="no hooks"):
        await install_hooks(memory.ports, USER, "opencode")
    assert await hooks_status(memory.ports, agent) == []
    await connect_mcp(memory.ports, "opencode")
    assert (await mcp_status(memory.ports, agent)).installed


@pytest.mark.report("B50", "B51")
@pytest.mark.parametrize("type", ["claude_code", "codex"])
async def test_pieces_come_and_go_in_any_order(memory: Memory, home: Path, type: str) -> None:
    """Whoever takes out tools, hooks and switch one by one would be left with another file than before."""
    await register(memory, type)
    ports, before = memory.ports, settings(home)

    async def put(piece: str) -> None:
        match piece:
            case "mcp":
                await connect_mcp(ports, type)
            case "hooks":
                await install_hooks(ports, USER, type)
            case _:
                await switch(memory, type, off=True)

    async def take(piece: str) -> None:
        match piece:
            case "mcp":
                await disconnect_mcp(ports, type)
            case "hooks":
                await uninstall_hooks(ports, USER, type)
            case _:
                await switch(memory, type, off=False)

    orders = list(permutations(("mcp", "hooks", "native memory")))
    for coming, going in zip(orders * 2, orders + orders[::-1]):
        for piece in coming:
            await put(piece)
        assert settings(home) != before
        for piece in going:
            await take(piece)
        assert settings(home) == before, (coming, going)
    assert await ports.agents.originals() == {}


async def test_an_entry_of_that_name_comes_back(memory: Memory, home: Path) -> None:
    """What a person had connected under our name before would be gone for good."""
    before = settings(home)
    agent = await register(memory, "cursor")
    await connect_mcp(memory.ports, "cursor")
    assert (await mcp_status(memory.ports, agent)).installed
    await install_hooks(memory.ports, USER, "cursor")
    await disconnect_mcp(memory.ports, "cursor")
    await uninstall_hooks(memory.ports, USER, "cursor")
    assert settings(home) == before


# ── the end ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.report("B50", "B51")
async def test_a_removed_agent_leaves_nothing(memory: Memory, home: Path) -> None:
    """An agent would go on calling hooks of a Coffer that doesn't know it, with its own memory still off."""
    before = settings(home)
    await register(memory, "codex")
    await switch(memory, "codex", off=True)
    await connect_mcp(memory.ports, "codex")
    await install_hooks(memory.ports, USER, "codex")
    memory.ports.agents.fired("codex", "SessionStart", "2026-11-30T12:00:00Z", None)
    await remove_agent(memory.ports, USER, "codex")
    assert settings(home) == before
    assert await memory.ports.agents.all() == [] and await memory.ports.agents.firings("codex") == {}
    assert sorted((await memory.events())[-3:]) == [
        "agent_hook_uninstalled",
        "agent_native_memory_restored",
        "agent_removed",
    ]


async def test_an_agent_whose_file_is_broken_isnt_forgotten(memory: Memory, home: Path) -> None:
    """Coffer would forget an agent whose files it still is in."""
    await register(memory, "codex")
    await connect_mcp(memory.ports, "codex")
    await install_hooks(memory.ports, USER, "codex")
    (home / CODEX_HOOKS).write_text("{")
    before = settings(home)
    with pytest.raises(SettingsUnparsable):
        await remove_agent(memory.ports, USER, "codex")
    assert settings(home) == before
    assert [agent.name for agent in await memory.ports.agents.all()] == ["codex"]


# ── at the same time ──────────────────────────────────────────────────────────────────────────────────────


async def test_several_at_once(memory: Memory, home: Path) -> None:
    """Two windows that do the same would lose what the file was before, or refuse each other."""
    before = settings(home)
    await register(memory, "codex")
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(switch, memory, "codex", True)
            nursery.start_soon(connect_mcp, memory.ports, "codex")
            nursery.start_soon(install_hooks, memory.ports, USER, "codex")
    assert (await memory.events()).count("agent_native_memory_disabled") == 1
    await remove_agent(memory.ports, USER, "codex")
    assert settings(home) == before


async def test_whoever_goes_away_leaves_nothing_half_done(memory: Memory, home: Path) -> None:
    """The file would be changed, and how to put it back be forgotten."""
    before = settings(home)
    await register(memory, "codex")

    class Leaving:
        """Settings whose reader leaves while they are written."""

        def apply(self, changes: list[FileChange]) -> None:
            trio.from_thread.run_sync(leaving.cancel)
            memory.ports.settings.apply(changes)

    with trio.CancelScope() as leaving:
        await change_agent(replace(memory.ports, settings=Leaving()), USER, "codex", True, None)
    assert settings(home) != before
    assert (await find_agent(memory.ports, "codex")).disable_native_memory
    await switch(memory, "codex", off=False)
    assert settings(home) == before


async def test_an_edit_in_the_same_moment_wins(memory: Memory, home: Path) -> None:
    """What the agent or its owner saved would be overwritten, or the agent be shown as switched off."""
    agent = await register(memory, "codex")

    class Crossed:
        """Settings that somebody edits after they were read."""

        def apply(self, changes: list[FileChange]) -> None:
            edit(home / CODEX, "# mine\n", "# yours\n")
            memory.ports.settings.apply(changes)

    with pytest.raises(SettingsChanged):
        await change_agent(replace(memory.ports, settings=Crossed()), USER, "codex", True, None)
    assert (home / CODEX).read_text().startswith("# yours\n") and "memories" not in (home / CODEX).read_text()
    assert await find_agent(memory.ports, "codex") == agent
