"""Coffer's MCP server among the others in an agent's settings."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from coffer.domain.agents import FileChange, McpStatus
from coffer.infrastructure.agents.commands import runs_shim
from coffer.infrastructure.settings.document import Document
from coffer.infrastructure.settings.files import change, read

NAME = "coffer"


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """The entry `coffer` in the table of servers that an agent calls `servers`.

    An entry of that name which runs something else is replaced: an agent can't have two, and it was asked for.
    """

    servers: str
    document: Callable[[str, bytes | None], Document]

    def status(self, path: str) -> McpStatus:
        """Return what an agent that reads this file knows of Coffer."""
        entry = self.document(path, read(path)).get((self.servers, NAME))
        words = _words(entry)
        enabled = isinstance(entry, dict) and entry.get("enabled") is not False
        return McpStatus(_ours(entry) and enabled, path, shlex.join(words) if words else None)

    def held(self, path: str) -> bool:
        """Return whether a file has our entry, be it switched on or off."""
        return _ours(self.document(path, read(path)).get((self.servers, NAME)))

    def connect(self, path: str, wanted: Mapping[str, object]) -> list[FileChange]:
        """Return the change that makes the entry hold what is wanted; what a person added to ours stays."""
        before = read(path)
        document = self.document(path, before)
        at = (self.servers, NAME)
        entry = document.get(at)
        says = f"add the MCP server `{NAME}`"
        if _ours(entry):
            if document.get((*at, "enabled")) is False:
                wanted = {**wanted, "enabled": True}
            for key, value in wanted.items():
                document = document.set((*at, key), value)
            says = f"bring the MCP server `{NAME}` up to date"
        else:
            if words := _words(entry):
                says = f"replace the MCP server `{NAME}`, which runs `{shlex.join(words)}`"
            document = document.set(at, dict(wanted))
        return change(before, document, says)

    def disconnect(self, path: str) -> list[FileChange]:
        """Return the change that removes the entry if it is ours."""
        before = read(path)
        document = self.document(path, before)
        if _ours(document.get((self.servers, NAME))):
            document = document.remove((self.servers, NAME))
        return change(before, document, f"remove the MCP server `{NAME}`")


def _ours(entry: object) -> bool:
    return runs_shim(next(iter(_words(entry)), None))


def _words(entry: object) -> list[str]:
    """Return the command of a server, which some agents have in one list and others in two pieces."""
    if not isinstance(entry, dict):
        return []
    command, rest = entry.get("command"), entry.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(rest if isinstance(rest, list) else []),
    ]
    return [word for word in words if isinstance(word, str)]
