"""Agents are found where they are, by what their own programs go by, and never made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coffer.domain.agents import Candidate
from coffer.domain.errors import UnsupportedAgentType
from coffer.infrastructure.agents.kinds import KnownAgents


def test_nothing_is_found_in_an_empty_home_and_nothing_is_made(tmp_path: Path) -> None:
    """Coffer would connect agents that a person doesn't have."""
    environ = {"CODEX_HOME": str(tmp_path / "codex"), "XDG_CONFIG_HOME": str(tmp_path)}
    assert KnownAgents(environ, str(tmp_path)).candidates() == []
    assert list(tmp_path.iterdir()) == []


def test_the_usual_folders_are_found(tmp_path: Path) -> None:
    """A person who never set a variable would have to name each folder."""
    for folder in (".claude", ".codex", ".config/opencode", ".cursor"):
        (tmp_path / folder).mkdir(parents=True)
    assert KnownAgents({}, str(tmp_path)).candidates() == [
        Candidate("claude_code", f"{tmp_path}/.claude", "~/.claude"),
        Candidate("codex", f"{tmp_path}/.codex", "~/.codex"),
        Candidate("opencode", f"{tmp_path}/.config/opencode", "~/.config/opencode"),
        Candidate("cursor", f"{tmp_path}/.cursor", "~/.cursor"),
    ]


def test_what_the_environment_says_comes_first(tmp_path: Path) -> None:
    """Coffer would change the settings in a folder that the agent doesn't read."""
    for folder in (".claude", "work/claude", "xdg/opencode"):
        (tmp_path / folder).mkdir(parents=True)
    environ = {
        "CLAUDE_CONFIG_DIR": f"{tmp_path}/work/claude/",
        "CODEX_HOME": "relative",
        "XDG_CONFIG_HOME": "~/xdg",
    }
    assert KnownAgents(environ, str(tmp_path)).candidates() == [
        Candidate("claude_code", f"{tmp_path}/work/claude", "CLAUDE_CONFIG_DIR"),
        Candidate("claude_code", f"{tmp_path}/.claude", "~/.claude"),
        Candidate("opencode", f"{tmp_path}/xdg/opencode", "XDG_CONFIG_HOME"),
    ]


def test_a_folder_that_is_reached_twice_is_one_agent(tmp_path: Path) -> None:
    """An agent would be registered twice, and its hooks run twice."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".claude").symlink_to("dotfiles")
    agents = KnownAgents({"CLAUDE_CONFIG_DIR": f"{tmp_path}/dotfiles"}, str(tmp_path))
    assert [each.because for each in agents.candidates()] == ["CLAUDE_CONFIG_DIR"]
    assert (
        agents.folder(f"{tmp_path}/.claude")
        == agents.folder(f"{tmp_path}/dotfiles")
        == f"{tmp_path}/dotfiles"
    )
    assert agents.folder(f"{tmp_path}/nowhere") is None


def test_a_type_that_is_not_known_is_refused(tmp_path: Path) -> None:
    """A misspelt type would fail later with something nobody understands."""
    unknown: Any = "emacs"
    with pytest.raises(UnsupportedAgentType, match="claude_code, codex, opencode, cursor"):
        KnownAgents({}, str(tmp_path)).kind(unknown)
