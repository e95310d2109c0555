"""The MCP server: in the file that the agent reads, once, and told truly."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from coffer.domain.agents import Commands
from coffer.infrastructure.agents.kinds import KnownAgents
from tests.coffer.agents.samples import COMMANDS, DISK, Home

LINE = "'/opt/cof fer/bin/coffer-mcp-shim' --agent ada"


@pytest.mark.parametrize(
    ("type", "name", "told"),
    [
        (
            "claude_code",
            "../.claude.json",
            {"type": "stdio", "command": COMMANDS.shim, "args": ["--agent", "ada"]},
        ),
        ("codex", "config.toml", {"command": COMMANDS.shim, "args": ["--agent", "ada"]}),
        (
            "opencode",
            "opencode.json",
            {"type": "local", "command": [COMMANDS.shim, "--agent", "ada"], "enabled": True},
        ),
        ("cursor", "mcp.json", {"command": COMMANDS.shim, "args": ["--agent", "ada"]}),
    ],
)
def test_each_agent_is_told_in_its_own_words(
    tmp_path: Path, type: Any, name: str, told: dict[str, Any]
) -> None:
    """The agent wouldn't start the tools."""
    home = Home.make(tmp_path, type)
    assert not home.kind.mcp(home.folder).installed
    DISK.apply(home.kind.connect(home.folder, COMMANDS, "ada"))
    file = Path(home.folder, name)
    [servers] = (tomllib.loads if name.endswith("toml") else json.loads)(file.read_text()).values()
    assert servers == {"coffer": told}
    status = home.kind.mcp(home.folder)
    assert (status.installed, Path(status.path).resolve(), status.command) == (True, file.resolve(), LINE)


@pytest.mark.parametrize("servers", ["", '"mcpServers": {}, ', '"mcpServers": null, ', '"mcpServers": { }, '])
def test_claudes_own_file_may_have_no_servers_yet(tmp_path: Path, servers: str) -> None:
    """A fresh installation of Claude Code couldn't be connected, or not be left as it was."""
    home = Home.make(tmp_path, "claude_code")
    text = f'{{{servers}"oauthAccount": {{"id": "x"}}}}'
    file = tmp_path / ".claude.json"
    file.write_text(text)
    file.chmod(0o600)
    DISK.apply(home.kind.connect(home.folder, COMMANDS, "ada"))
    assert json.loads(file.read_text())["mcpServers"]["coffer"]["command"] == COMMANDS.shim
    assert file.stat().st_mode & 0o777 == 0o600
    DISK.apply(home.kind.disconnect(home.folder))
    assert file.read_text() == text


def test_claudes_own_file_is_inside_a_folder_that_was_chosen(tmp_path: Path) -> None:
    """The tools would be entered where Claude Code doesn't look."""
    default, other = tmp_path / ".claude", tmp_path / "work"
    default.mkdir()
    other.mkdir()

    def place(folder: Path, environ: dict[str, str]) -> str:
        return KnownAgents(environ, str(tmp_path)).kind("claude_code").mcp(f"{folder}/").path

    assert place(default, {}) == str(tmp_path / ".claude.json")
    assert Path(place(other, {})) == other / ".claude.json"
    assert Path(place(default, {"CLAUDE_CONFIG_DIR": str(default)})) == default / ".claude.json"
    (default / ".claude.json").write_text("{}")
    assert Path(place(default, {})) == default / ".claude.json"
    (tmp_path / ".claude.json").write_text("{}")
    assert place(default, {}) == str(tmp_path / ".claude.json")


@pytest.mark.parametrize("type", ["claude_code", "codex", "opencode", "cursor"])
def test_an_entry_of_ours_is_updated_and_what_was_added_to_it_stays(tmp_path: Path, type: Any) -> None:
    """A person's own settings for the server would be lost by an upgrade, or the old program be started."""
    home = Home.make(tmp_path, type)
    DISK.apply(
        home.kind.connect(home.folder, Commands("/old/coffer-mcp-shim", "/old/coffer-hook"), "earlier")
    )
    file = Path(home.kind.mcp(home.folder).path)
    text = file.read_text()
    if type == "codex":
        text += "startup_timeout_sec = 5\nenabled = false\n"
    else:
        text = text.replace('"command"', '"timeout": 5,\n  "enabled": false,\n  "command"').replace(
            '"enabled": true', '"x": 1'
        )
    file.write_text(text)
    assert not home.kind.mcp(home.folder).installed, "it is switched off"
    DISK.apply(home.kind.connect(home.folder, COMMANDS, "ada"))
    assert home.kind.mcp(home.folder).command == LINE
    assert home.kind.mcp(home.folder).installed
    assert "timeout" in file.read_text()
    DISK.apply(home.kind.disconnect(home.folder))
    assert "coffer" not in (file.read_text() if file.exists() else "")


def test_a_server_of_our_name_that_is_not_ours_is_told_before_it_is_replaced(tmp_path: Path) -> None:
    """A person would say yes without knowing that another server goes."""
    home = Home.make(tmp_path, "codex")
    file = Path(home.folder, "config.toml")
    file.write_text(
        '[mcp_servers.coffer]\ncommand = "theirs"\nargs = ["mcp"]\n[mcp_servers.coffer.env]\nA = "b"\n'
    )
    status = home.kind.mcp(home.folder)
    assert (status.installed, status.command) == (False, "theirs mcp")
    assert home.kind.disconnect(home.folder) == []
    [change] = home.kind.connect(home.folder, COMMANDS, "ada")
    assert "theirs mcp" in change.says
    DISK.apply([change])
    assert tomllib.loads(file.read_text())["mcp_servers"]["coffer"] == {
        "command": COMMANDS.shim,
        "args": ["--agent", "ada"],
    }


def test_opencodes_commented_file_is_used_when_there_is_one(tmp_path: Path) -> None:
    """A second file would be made beside a person's own, and later shadow it."""
    home = Home.make(tmp_path, "opencode")
    commented = Path(home.folder, "opencode.jsonc")
    commented.write_text('{\n  // mine\n  "model": "x",\n}\n')
    [change] = home.kind.connect(home.folder, COMMANDS, "ada")
    assert change.path == str(commented)
    DISK.apply([change])
    Path(home.folder, "opencode.json").write_text("{}")
    assert home.kind.mcp(home.folder).installed
    DISK.apply(home.kind.disconnect(home.folder))
    assert commented.read_text() == '{\n  // mine\n  "model": "x",\n}\n'


@pytest.mark.report("B51")
def test_a_persons_later_choice_for_native_memory_stays(tmp_path: Path) -> None:
    """Restoring would overrule what a person has set since."""
    home = Home.make(tmp_path, "claude_code")
    file = Path(home.folder, "settings.json")
    file.write_text('{"autoMemoryEnabled": true}')
    changes, prior = home.kind.native_memory_off(home.folder)
    DISK.apply(changes)
    assert json.loads(prior) == {"autoMemoryEnabled": "true"}
    file.write_text('{"autoMemoryEnabled": "sometimes"}')
    assert home.kind.native_memory_restored(home.folder, prior) == []
    file.write_text("{}")
    assert home.kind.native_memory_restored(home.folder, prior) == []


@pytest.mark.report("B51")
def test_codex_gets_back_tables_that_were_not_there(tmp_path: Path) -> None:
    """A table that Coffer made would stay for ever, or one that a person uses by now would go."""
    home = Home.make(tmp_path, "codex")
    file = Path(home.folder, "config.toml")
    file.write_text("[memories]\nuse_memories = true")
    changes, prior = home.kind.native_memory_off(home.folder)
    DISK.apply(changes)
    assert tomllib.loads(file.read_text()) == {
        "memories": {"use_memories": True, "generate_memories": False},
        "features": {"memories": False},
    }
    assert json.loads(prior) == {
        "features.memories": None,
        "memories.generate_memories": None,
        "[features]": None,
    }
    with_more = file.read_text() + "\nhooks = true\n"
    DISK.apply(home.kind.native_memory_restored(home.folder, prior))
    assert file.read_text() == "[memories]\nuse_memories = true"
    file.write_text(with_more)
    DISK.apply(home.kind.native_memory_restored(home.folder, prior))
    assert tomllib.loads(file.read_text()) == {
        "memories": {"use_memories": True},
        "features": {"hooks": True},
    }
