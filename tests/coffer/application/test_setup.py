"""Setup connects every agent that is found, and its undoing leaves each file as it was."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from coffer.application.agents import NewAgent, change_agent, register_agent
from coffer.application.setup import AgentSetup, setup, undo_setup
from coffer.domain.errors import ConfigInvalid
from coffer.domain.facts import Caller
from coffer.domain.short_diff import short_diff
from tests.coffer.agents.samples import REAL, Sample, samples
from tests.coffer.application.conftest import Memory
from tests.coffer.application.machine import CLAUDE, CODEX, CODEX_HOOKS, SERVERS, edit, move_in, settings

USER = Caller()
ALL = ["claude_code", "codex", "cursor", "opencode"]
EVERY_FILE = {
    ".claude.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".config/opencode/opencode.jsonc",
}


@pytest.fixture
def home(memory: Memory) -> Path:
    """The home of a person who uses all four agents."""
    home = Path(memory.environ["HOME"])
    move_in(home)
    return home


async def done(memory: Memory, *names: str) -> list[AgentSetup]:
    return await setup(memory.ports, USER, names, apply=True)


async def undone(memory: Memory, *names: str) -> list[AgentSetup]:
    return await undo_setup(memory.ports, USER, names, apply=True)


def paths(home: Path, told: list[AgentSetup]) -> set[str]:
    return {str(Path(change.path).relative_to(home)) for each in told for change in each.changes}


async def test_a_plan_tells_everything_and_changes_nothing(memory: Memory, home: Path) -> None:
    """A person would say yes to something else than what is then done."""
    before = settings(home)
    plan = await setup(memory.ports, USER, [], apply=False)
    assert [each.agent.name for each in plan] == ALL
    assert paths(home, plan) == EVERY_FILE
    assert not any(each.registered or each.problem for each in plan)
    assert settings(home) == before and await memory.events() == []
    assert await memory.ports.agents.all() == []

    told = await done(memory)
    assert [each.changes for each in told] == [each.changes for each in plan]
    after = settings(home)
    for each in told:
        for change in each.changes:
            assert after[str(Path(change.path).relative_to(home))] == change.after
            assert "coffer-" in short_diff(change.before, change.after)


@pytest.mark.report("B50")
async def test_setup_connects_all_and_undo_leaves_every_byte(memory: Memory, home: Path) -> None:
    """An agent would be forgotten, or a file be left that isn't what its owner wrote."""
    before = settings(home)
    await done(memory)
    assert [agent.name for agent in await memory.ports.agents.all()] == ALL
    assert sorted(await memory.events()) == ["agent_hook_installed"] * 3 + ["agent_registered"] * 4
    entry = json.loads((home / SERVERS).read_bytes())["mcpServers"]["coffer"]
    assert entry["command"] == memory.ports.commands.shim and entry["args"] == ["--agent", "claude_code"]
    assert tomllib.loads((home / CODEX).read_text())["mcp_servers"]["coffer"]["args"] == ["--agent", "codex"]

    changed = settings(home)
    again = await done(memory)
    assert [each.changes for each in again] == [()] * 4 and all(each.registered for each in again)
    assert settings(home) == changed

    plan = await undo_setup(memory.ports, USER, [], apply=False)
    assert settings(home) == changed and paths(home, plan) == EVERY_FILE
    assert [each.changes for each in await undone(memory)] == [each.changes for each in plan]
    assert settings(home) == before
    assert await memory.ports.agents.all() == [] and await memory.ports.agents.originals() == {}
    assert [each.changes for each in await undone(memory)] == [()] * 4
    assert settings(home) == before


@pytest.mark.report("B50", "B51")
async def test_undo_restores_the_agents_own_memory(memory: Memory, home: Path) -> None:
    """An agent's own memory would stay off although Coffer is gone."""
    before = settings(home)
    await done(memory)
    for name in ("claude_code", "codex"):
        await change_agent(memory.ports, USER, name, True, None)
    assert settings(home) != before
    await undone(memory)
    assert settings(home) == before
    assert (await memory.events()).count("agent_native_memory_restored") == 2


@pytest.mark.report("B50")
async def test_what_the_owner_wrote_meanwhile_stays(memory: Memory, home: Path) -> None:
    """Undoing would take away what a person, or the agent itself, wrote since."""
    await done(memory)
    edit(home / CLAUDE, '"sonnet"', '"opus"')
    edit(home / CODEX, "# mine\n", "# mine, all mine\n")
    edit(home / SERVERS, '"numStartups": 41', '"numStartups": 42')
    await undone(memory)
    now = settings(home)
    assert not any(b"coffer-" in content for path, content in now.items() if not path.endswith(".bak"))
    move_in(home)
    edit(home / CLAUDE, '"sonnet"', '"opus"')
    edit(home / CODEX, "# mine\n", "# mine, all mine\n")
    edit(home / SERVERS, '"numStartups": 41', '"numStartups": 42')
    expected = settings(home)
    # An empty table is all of it that can't be told from one that was made for the entry.
    assert json.loads(now.pop(SERVERS)) | {"mcpServers": {}} == json.loads(expected.pop(SERVERS))
    assert now == expected


async def test_another_coffer_of_the_owners_comes_back(memory: Memory, home: Path) -> None:
    """The server that had our name before would be lost."""
    before = (home / ".cursor/mcp.json").read_bytes()
    [told] = await done(memory, "cursor")
    assert any("replace" in change.says and "another-coffer" in change.says for change in told.changes)
    assert b"another-coffer" not in (home / ".cursor/mcp.json").read_bytes()
    await undone(memory)
    assert (home / ".cursor/mcp.json").read_bytes() == before


async def test_a_broken_file_harms_only_its_agent(memory: Memory, home: Path) -> None:
    """One half-saved file would keep the memory from every agent, or be overwritten."""
    (home / CODEX_HOOKS).write_text('{"hooks": [}')
    before = {path: content for path, content in settings(home).items() if path.startswith(".codex/")}
    told = {each.agent.name: each.problem for each in await done(memory)}
    assert told.pop("codex") == (
        f"{home / CODEX_HOOKS}, line 1, column 12: a value is missing; "
        "it was left as it is. Mend it, then try again."
    )
    assert set(told.values()) == {None}
    assert {path: settings(home)[path] for path in before} == before
    assert "codex" not in [agent.name for agent in await memory.ports.agents.all()]


async def test_only_the_chosen_agents(memory: Memory, home: Path) -> None:
    """A person who wants one agent connected would get all of them."""
    before = settings(home)
    assert [each.agent.name for each in await done(memory, "codex")] == ["codex"]
    after = settings(home)
    assert {path for path in after if after[path] != before.get(path) and not path.endswith(".bak")} == {
        CODEX,
        CODEX_HOOKS,
    }
    for go in (done, undone):
        with pytest.raises(ConfigInvalid, match="'emacs'"):
            await go(memory, "emacs")
    await undone(memory, "codex")
    assert settings(home) == before


async def test_one_that_was_added_by_hand_is_set_up_too(memory: Memory, home: Path) -> None:
    """An agent in a folder that nobody would guess could be registered and never be connected."""
    folder = home / "work" / "claude"
    folder.mkdir(parents=True)
    await register_agent(memory.ports, USER, NewAgent("claude_code", str(folder), "work"))
    await done(memory)
    assert [agent.name for agent in await memory.ports.agents.all()] == [*ALL, "work"]
    assert b'"work"' in (folder / ".claude.json").read_bytes()
    await undone(memory)
    assert list(folder.iterdir()) == []


async def test_a_second_folder_of_the_same_type_gets_a_name(memory: Memory, home: Path) -> None:
    """Two folders of one agent would be told apart by nobody."""
    (home / "chosen").mkdir()
    await register_agent(memory.ports, USER, NewAgent("codex", str(home / "chosen")))
    assert [each.agent.name for each in await done(memory)] == ["claude_code", "codex", "codex-2", *ALL[2:]]


async def test_no_agent_at_all(memory: Memory) -> None:
    """A machine without agents would be answered with an error, or get settings of agents that it hasn't."""
    home = Path(memory.environ["HOME"])
    before = settings(home)
    assert await done(memory) == [] and await undone(memory) == []
    assert settings(home) == before


async def test_what_is_left_to_do_is_said_until_it_is_done(memory: Memory, home: Path) -> None:
    """Codex would skip hooks in silence, and nobody would know that they had to be approved."""
    told = {each.agent.name: each.advice for each in await done(memory)}
    assert told["codex"] is not None and "/hooks" in told["codex"]
    assert told["opencode"] is not None and "no hooks" in told["opencode"]
    memory.ports.agents.fired("codex", "SessionStart", "2026-11-30T12:00:00Z", None)
    assert {each.agent.name: each.advice for each in await done(memory)}["codex"] is None


@pytest.mark.report("B50", "B51")
@pytest.mark.skipif(not REAL.exists(), reason="no real settings files are stored beside the repository")
async def test_real_files(memory: Memory) -> None:
    """What works on our own samples would spoil the files that people really have."""
    home = Path(memory.environ["HOME"])
    waiting = samples(REAL)
    while waiting:
        # One of each file, so that every agent has all of its own.
        there = {sample.path: sample for sample in waiting}
        waiting = [sample for sample in waiting if there[sample.path] is not sample]
        await _comes_and_goes(memory, home, list(there.values()))


async def _comes_and_goes(memory: Memory, home: Path, there: list[Sample]) -> None:
    for sample in there:
        (home / sample.path).parent.mkdir(parents=True, exist_ok=True)
        (home / sample.path).write_bytes(sample.content)
    before = settings(home)
    told = await done(memory)
    assert [each.problem for each in told] == [None] * len(told)
    for each in told:
        if each.agent.type in ("claude_code", "codex"):
            await change_agent(memory.ports, USER, each.agent.name, True, None)
    await done(memory)
    await undone(memory)
    assert settings(home) == before, [sample.name for sample in there]
    for sample in there:
        (home / sample.path).unlink()
