"""A machine on which all four agents are, with settings as people have them."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.coffer.agents.samples import FIXTURES

CLAUDE, CODEX = ".claude/settings.json", ".codex/config.toml"
SERVERS, CODEX_HOOKS = ".claude.json", ".codex/hooks.json"


def move_in(home: Path) -> None:
    """Put the agents' folders and settings into a home."""
    shutil.copytree(FIXTURES / "home", home, dirs_exist_ok=True)


def settings(home: Path) -> dict[str, bytes]:
    """Return every file of the agents in a home, backups and leftovers too."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.relative_to(home).parts[0].startswith((".c", ".o"))
    }


def edit(path: Path, old: str, new: str) -> None:
    """Change a file as its owner does, in an editor."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")
