"""One command connects every agent of a machine, each gets its memory as it takes it, and another takes it back."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import mcp
import pytest

from tests.acceptance.house import ROOT, House
from tests.coffer.agents.samples import FIXTURES, FOLDERS, REAL
from tests.coffer.application.machine import CLAUDE, CODEX, CODEX_HOOKS, SERVERS, edit, move_in, settings

DEPLOY = "Deploys of the shop to production go through make release."
RULE = "Run the tests before every push."
OPENCODE = ("opencode.json", "opencode.jsonc")
PROGRAMS = {"coffer": "cli", "coffer-hook": "hook", "coffer-mcp-shim": "shim"}

# Files that people really have, one of each; they are stored beside the repository.
REAL_HOME = {
    CLAUDE: "hooks-settings/08-user-settings-env-redacted.json",
    SERVERS: "hooks-settings/10-claude.json-first-run.json",
    CODEX: "codex/config/03-0.146-windows-config.toml",
    CODEX_HOOKS: "hooks-settings/05-mem0-codex-hooks.json",
    ".cursor/hooks.json": "cursor/02-mem0-cursor-hooks.json",
    ".cursor/mcp.json": "cursor/08-mcp.json",
    ".config/opencode/opencode.json": "opencode/config/01-free5ty1e-opencode.json",
}
CAPTURED = {
    ("claude_code", "SessionStart"): "hooks-settings/stdin/claude-2.1.205-session-start.real.json",
    ("codex", "SessionStart"): "hooks-settings/codex-capture/v0.144.6/exec/session-start.input.json",
    ("codex", "UserPromptSubmit"): "hooks-settings/codex-capture/v0.144.6/exec/user-prompt-submit.input.json",
    ("cursor", "SessionStart"): "cursor/07-session-start.stdin.json",
}
SCHEMAS = {
    "SessionStart": "hooks-settings/codex-capture/v0.144.6/schema/session-start.command.output.schema.json",
    "UserPromptSubmit": "hooks-settings/codex-capture/v0.144.6/schema/user-prompt-submit.command.output.schema.json",
}


class Installed(House):
    """A house in which Coffer is installed as people have it: programs in one folder, beside their Python."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        place = root / "with a blank"
        venv.create(place, symlinks=True)
        [packages] = place.glob("lib/*/site-packages")
        (packages / "these.pth").write_text(
            "\n".join([ROOT, *(path for path in sys.path if "-packages" in path)])
        )
        self.bin = place / "bin"
        for name, module in PROGRAMS.items():
            text = f"import sys\nfrom coffer.surfaces.{module} import main\nsys.exit(main())\n"
            # The way of installers where a path has a blank in it, which a `#!` line can't.
            (self.bin / name).write_text(
                f"#!/bin/sh\n'''exec' \"{self.bin / 'python'}\" \"$0\" \"$@\"\n' '''\n{text}"
            )
            (self.bin / name).chmod(0o755)
        self.command = (str(self.bin / "coffer"),)

    def runs(self, line: str, stdin: bytes) -> bytes:
        """Run a command line as an agent's shell does, and return what it prints; it must end well and soon."""
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            input=stdin,
            cwd=self.user_home,
            env=self.environ,
            capture_output=True,
            timeout=10,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Installed]:
    house = Installed(tmp_path)
    try:
        yield house
    finally:
        house.stop()


def hook_lines(home: Path) -> dict[tuple[str, str], str]:
    """Return the command lines of Coffer's that stand in the agents' own files, read as the agents do."""
    lines = {}
    for type, path in (("claude_code", CLAUDE), ("codex", CODEX_HOOKS)):
        for event, groups in json.loads((home / path).read_bytes())["hooks"].items():
            for group in groups:
                for handler in group["hooks"]:
                    if "coffer-hook" in handler["command"]:
                        assert handler["type"] == "command" and 0 < handler["timeout"] <= 60
                        lines[type, event] = handler["command"]
    for event, handlers in json.loads((home / ".cursor/hooks.json").read_bytes())["hooks"].items():
        for handler in handlers:
            if "coffer-hook" in handler["command"]:
                assert event == "sessionStart"
                lines["cursor", "SessionStart"] = handler["command"]
    return lines


def servers(home: Path) -> dict[str, list[str]]:
    """Return the commands by which the agents start Coffer's tools, from their own files."""
    [opencode] = [path for name in OPENCODE if (path := home / ".config/opencode" / name).exists()]
    lines = [line for line in opencode.read_text().splitlines() if not line.lstrip().startswith("//")]
    told = json.loads(re.sub(r",(\s*[}\]])", r"\1", "\n".join(lines)))["mcp"]["coffer"]
    assert told["type"] == "local" and told["enabled"]
    found = {
        "claude_code": json.loads((home / SERVERS).read_bytes())["mcpServers"]["coffer"],
        "codex": tomllib.loads((home / CODEX).read_text())["mcp_servers"]["coffer"],
        "cursor": json.loads((home / ".cursor/mcp.json").read_bytes())["mcpServers"]["coffer"],
    }
    return {type: [each["command"], *each["args"]] for type, each in found.items()} | {
        "opencode": told["command"]
    }


def context(type: str, event: str, printed: bytes) -> str:
    """Return what an agent takes from a hook's output, which must be exactly in the form that it accepts."""
    told: Any = json.loads(printed)
    if type == "cursor":
        assert list(told) == ["additional_context"]
        return str(told["additional_context"])
    if type == "codex" and REAL.exists():
        jsonschema.validate(told, json.loads((REAL / SCHEMAS[event]).read_bytes()))
    assert list(told) == ["hookSpecificOutput"]
    assert sorted(told["hookSpecificOutput"]) == ["additionalContext", "hookEventName"]
    assert told["hookSpecificOutput"]["hookEventName"] == event
    return str(told["hookSpecificOutput"]["additionalContext"])


def stdin(type: str, event: str, project: Path) -> bytes:
    """Return what an agent of that type gives its hook, working in a project."""
    given = (FIXTURES / "stdin" / f"{type}.{event}.json").read_text()
    return given.replace("/home/ada/shop", str(project)).encode()


def move_in_for_real(home: Path) -> None:
    for path, source in REAL_HOME.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REAL / source, home / path)


HOMES = [
    pytest.param(move_in, id="ours"),
    pytest.param(
        move_in_for_real,
        id="real",
        marks=pytest.mark.skipif(not REAL.exists(), reason="no real files beside the repository"),
    ),
]


@pytest.mark.report("B50")
@pytest.mark.parametrize("moves_in", HOMES)
async def test_setup_brings_memory_to_every_agent_and_undo_takes_it_back(
    house: Installed, moves_in: Any
) -> None:
    """One of the agents would get no memory, or in a form that it doesn't take, or keep something of Coffer's."""
    home, project = house.user_home, house.project("shop")
    moves_in(home)
    before = settings(home)
    assert "Nothing was changed; say --yes" in house.coffer("setup", status=1)
    assert settings(home) == before

    told = house.coffer("setup", "--yes")
    assert all(f"{title}, as " in told for title in ("Claude Code", "Codex", "Cursor", "OpenCode"))
    assert "Codex: Open Codex and approve Coffer's hooks with /hooks" in told
    after = settings(home)
    assert "nothing to change" in house.coffer("setup", "--yes") and settings(home) == after
    doctor = house.coffer("doctor")
    assert "agent claude_code: Its hooks are installed and were never called." in doctor
    assert "agent codex: It doesn't call Coffer's hooks before you approve them." in doctor
    assert "agent opencode: Connected; OpenCode has no hooks" in doctor

    house.coffer("memory", "rules-add", ".", RULE, folder=project)
    house.coffer("memory", "add", ".", DEPLOY, folder=project)
    lines = hook_lines(home)
    assert sorted(lines) == [
        ("claude_code", "SessionEnd"),
        ("claude_code", "SessionStart"),
        ("claude_code", "UserPromptSubmit"),
        ("codex", "SessionStart"),
        ("codex", "UserPromptSubmit"),
        ("cursor", "SessionStart"),
    ]
    for (type, event), line in lines.items():
        assert line == f'"{house.bin}/coffer-hook" --agent {type} --event {event}'
        printed = house.runs(line, stdin(type, event, project))
        if event == "SessionEnd":
            assert printed == b""
            continue
        arrived = context(type, event, printed)
        assert (RULE if event == "SessionStart" else DEPLOY) in arrived
        assert len(arrived.encode()) <= 9500
        if event == "SessionStart":
            assert "coffer__resume" in arrived and "coffer__remember" in arrived
        else:
            assert house.runs(line, stdin(type, event, project)) == b"", "the same note twice in a session"
    for (type, event), source in CAPTURED.items():
        if REAL.exists():
            printed = house.runs(lines[type, event], (REAL / source).read_bytes())
            assert event == "UserPromptSubmit" or "coffer__resume" in context(type, event, printed)
    assert "Connected; memory last reached it by itself" in house.coffer("doctor")
    assert "never" not in house.coffer("agent", "hooks", "claude_code")

    for type, words in servers(home).items():
        assert words == [f"{house.bin}/coffer-mcp-shim", "--agent", type]
        server = mcp.StdioServerParameters(
            command=words[0], args=words[1:], env=house.environ, cwd=str(project)
        )
        async with mcp.Client(server) as client:
            found = await client.call_tool("coffer__recall", {"query": "how do we deploy the shop"})
            assert found.structured_content is not None
            assert found.structured_content["hits"][0]["text"] == DEPLOY

    assert settings(home) == after
    house.coffer("setup", "--undo", "--yes")
    assert settings(home) == before
    assert house.get("/agents").done() == {"agents": []}
    events = [event["event"] for event in house.get("/audit?limit=500").done()["events"]]
    assert events.count("agent_registered") == events.count("agent_removed") == 4
    assert events.count("agent_hook_installed") == events.count("agent_hook_uninstalled") == 3


SWITCHED = {
    "claude_code": (CLAUDE, lambda text: json.loads(text)["autoMemoryEnabled"]),
    "codex": (
        CODEX,
        lambda text: (
            (told := tomllib.loads(text))["features"]["memories"] or told["memories"]["generate_memories"]
        ),
    ),
}


@pytest.mark.acceptance(
    spec="007-memory", scenario="disable_native_memory turns native memory off and restores it"
)
@pytest.mark.report("B51")
@pytest.mark.parametrize("way_back", ["off again", "removed", "undone"])
@pytest.mark.parametrize("prior", ["absent", "on"])
def test_native_memory_is_off_and_then_as_it_was(house: Installed, prior: str, way_back: str) -> None:
    """An agent's own memory would go on although it was switched off, or stay off after Coffer is gone."""
    home = house.user_home
    move_in(home)
    if prior == "on":
        edit(home / CLAUDE, '"model"', '"autoMemoryEnabled": true, "model"')
        edit(home / CODEX, "multi_agent", "memories = true\nmulti_agent")
    before = settings(home)
    house.start()
    for name, (path, is_on) in SWITCHED.items():
        agent = house.ask("POST", "/agents", {"type": name}).done(201)
        assert (agent["disable_native_memory"], agent["native_memory"]) == (False, "on")
        assert settings(home) == before, "registered and touched"

        house.coffer("agent", "set", name, "disable_native_memory", "true")
        assert is_on((home / path).read_text()) is False
        agent = house.get(f"/agents/{name}").done()
        assert (agent["disable_native_memory"], agent["native_memory"]) == (True, "off")

        if way_back == "off again":
            house.coffer("agent", "set", name, "disable_native_memory", "false")
            assert house.get(f"/agents/{name}").done()["native_memory"] == "on"
        elif way_back == "removed":
            house.coffer("agent", "remove", name)
        else:
            house.coffer("setup", "--undo", "--yes", "--agent", name)
        assert settings(home) == before
    events = [event["event"] for event in house.get("/audit").done()["events"]]
    assert events.count("agent_native_memory_disabled") == events.count("agent_native_memory_restored") == 2


def test_no_agent_is_made_where_there_is_none(house: Installed) -> None:
    """Folders of agents that a person doesn't have would appear in their home."""
    there = sorted(house.user_home.iterdir())
    assert "No agent was found" in house.coffer("setup", "--yes")
    assert house.get("/agents/candidates").done() == {"candidates": []}
    for type in FOLDERS:
        refusal = house.ask("POST", "/agents", {"type": type}).refusal(422, "CONFIG_INVALID")
        assert "isn't on this machine" in refusal["message"]
    assert sorted(house.user_home.iterdir()) == there
