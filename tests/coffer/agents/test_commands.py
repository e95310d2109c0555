"""Command lines are what a shell takes as one program, and are known again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from coffer.infrastructure.agents.commands import hook_line, runs_hook, runs_shim


def test_the_line_is_the_one_that_codex_trusts() -> None:
    """Codex would ask for a new approval after every upgrade, and skip the hooks until then."""
    assert hook_line("/opt/coffer/bin/coffer-hook", "codex", "SessionStart") == (
        '"/opt/coffer/bin/coffer-hook" --agent codex --event SessionStart'
    )


@pytest.mark.parametrize("folder", ["plain", "with space", 'q"u`o$te', "back\\slash", "'single'", "记忆"])
def test_a_shell_runs_the_program_wherever_it_is(tmp_path: Path, folder: str) -> None:
    """Hooks would fail for everybody whose home has a space in it."""
    program = tmp_path / folder / "coffer-hook"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
    program.chmod(0o700)
    line = hook_line(str(program), "my agent", "SessionStart")
    assert runs_hook(line)
    said = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["--agent", "my agent", "--event", "SessionStart"]


@pytest.mark.parametrize(
    "line",
    [
        "coffer-hook --agent x",
        "/a/coffer-hook",
        "'/a b/coffer-hook' --x",
        r'"C:\\a\\coffer-hook.exe" --agent x',
    ],
)
def test_other_installations_of_ours_are_known(line: str) -> None:
    """A hook of an earlier installation would stay, and run beside the new one."""
    assert runs_hook(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        None,
        3,
        ["coffer-hook"],
        "/a/coffer-hook-of-mine",
        "sh /a/coffer-hook",
        "my-coffer-hook",
        '"',
        "/coffer-hook/run",
    ],
)
def test_what_others_run_is_not_ours(line: object) -> None:
    """Coffer would remove somebody else's hook."""
    assert not runs_hook(line)
    assert not runs_shim(line)
