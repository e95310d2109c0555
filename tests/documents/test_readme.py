"""The README's examples do what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.house import ROOT, House
from tests.documents.pages import blocks, quoted, read, rows, section

README = read("README.md")
COMMAND = "coffer-mcp-shim"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    try:
        yield house
    finally:
        house.stop()


def path_with_the_shim(folder: Path) -> str:
    """Return a PATH on which the shim is found, also where Coffer isn't installed."""
    folder.mkdir()
    script = folder / COMMAND
    script.write_text(f"#!{sys.executable}\nfrom coffer.surfaces.shim import main\nmain()\n")
    script.chmod(0o755)
    return f"{os.path.dirname(sys.executable)}:{folder}:{os.environ['PATH']}"


def test_one_agent_remembers_and_another_one_recalls(house: House, tmp_path: Path) -> None:
    """The first thing that a newcomer tries wouldn't work."""
    [snippet] = blocks(README, "python")
    (tmp_path / "two_agents.py").write_text(snippet)
    project = house.project()
    worktree = house.folder("worktrees") / "fix"
    house.git("worktree", "add", "-q", str(worktree), folder=project)

    ran = subprocess.run(
        [sys.executable, "two_agents.py", str(project), str(worktree)],
        cwd=tmp_path,
        env={**house.environ, "PATH": path_with_the_shim(tmp_path / "bin")},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert ran.returncode == 0, ran.stderr
    said, recalled = ran.stdout.splitlines()
    assert "'status': 'created'" in said and "'commit': 'committed'" in said
    text, _, source = recalled.partition(" in ")
    path = Path(source.removeprefix("project:"))
    assert text in snippet and text in path.read_text("utf-8")
    assert path.parent.parent.name == "inbox" and path.is_relative_to(house.tree)
    assert house.git("log", "-1", "--format=%s").startswith("remember: Deploys")
    assert house.git("status", "--porcelain") == ""

    told = {quoted(row[0])[0].rstrip("/") for row in rows(section(read("settings.md"), "## Coffer's home"))}
    there = {name.removesuffix("-wal").removesuffix("-shm") for name in os.listdir(house.home)}
    assert there <= told, "settings.md doesn't tell every file of Coffer's home"


def test_agents_configurations_start_the_shim() -> None:
    """A person would paste a configuration that their agent can't read or that starts nothing."""
    found = [tomllib.loads(block)["mcp_servers"] for block in blocks(README, "toml")]
    for block in blocks(README, "json"):
        configuration = json.loads(block)
        found.append(configuration.get("mcpServers") or configuration["mcp"])
    assert len(found) == 3
    for servers in found:
        server = servers["coffer"]
        command = server["command"]
        words = command if isinstance(command, list) else [command, *server["args"]]
        assert words[0].startswith("/") and words[0].endswith(f"/{COMMAND}")
        assert words[1] == "--agent" and len(words) == 3


def test_the_two_commands_come_first() -> None:
    """A newcomer would have to search for how to begin."""
    assert [line.split("#")[0].strip() for line in blocks(README)[0].splitlines()] == [
        "make run",
        "make test",
    ]
    assert Path(ROOT, "README.md").read_text("utf-8").index("make run") < 400
