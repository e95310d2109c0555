"""The command lines that agents are given. They stay the same in every version: Codex trusts them by hash."""

from __future__ import annotations

import re
import shlex

HOOK, SHIM = "coffer-hook", "coffer-mcp-shim"
_FIRST_WORD = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+))""", re.DOTALL)
_SPECIAL = re.compile(r'([\\"$`])')


def hook_line(hook: str, name: str, event: str) -> str:
    """Return what an agent's shell has to run when an event comes."""
    quoted = _SPECIAL.sub(r"\\\1", hook)
    return f'"{quoted}" --agent {shlex.quote(name)} --event {event}'


def runs_hook(line: object) -> bool:
    """Return whether a shell's command line is one of ours, wherever the program is."""
    found = _FIRST_WORD.match(line) if isinstance(line, str) else None
    return found is not None and _named(HOOK, found[1] or found[2] or found[3] or "")


def runs_shim(program: object) -> bool:
    """Return whether a program is the one that speaks MCP for us, wherever it is."""
    return isinstance(program, str) and _named(SHIM, program)


def _named(name: str, program: str) -> bool:
    return re.split(r"[\\/]", program)[-1].removesuffix(".exe") == name
