"""Every type of agent that Coffer knows, and those that are on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping

from coffer.domain.agents import AgentKind, AgentType, Candidate
from coffer.domain.errors import UnsupportedAgentType
from coffer.infrastructure.agents.claude_code import ClaudeCode
from coffer.infrastructure.agents.codex import Codex
from coffer.infrastructure.agents.cursor import Cursor
from coffer.infrastructure.agents.opencode import OpenCode


class KnownAgents:
    """The types of agents, for a person with this environment and home folder."""

    def __init__(self, environ: Mapping[str, str], home: str) -> None:
        self._environ, self._home = environ, home
        chosen = self._resolved(ClaudeCode.places[0])
        self._kinds = {kind.type: kind for kind in (ClaudeCode(home, chosen), Codex(), OpenCode(), Cursor())}

    def kind(self, type: AgentType) -> AgentKind:
        if found := self._kinds.get(type):
            return found
        raise UnsupportedAgentType(type, f"Coffer knows {', '.join(self._kinds)}.")

    def candidates(self) -> list[Candidate]:
        found: dict[tuple[AgentType, str], Candidate] = {}
        for kind in self._kinds.values():
            for place in kind.places:
                path = self._resolved(place)
                if path and (real := self.folder(path)):
                    because = place if place.startswith("~") else place[1:].partition("/")[0]
                    found.setdefault((kind.type, real), Candidate(kind.type, path, because))
        return list(found.values())

    def folder(self, path: str) -> str | None:
        return os.path.realpath(path) if os.path.isdir(path) else None

    def _resolved(self, place: str) -> str | None:
        """Return the path of a place below the home, or below the folder that a variable names.

        None when it isn't set, or not to an absolute path: who runs the agent elsewhere has another folder.
        """
        first, _, below = place.partition("/")
        base = self._home if first == "~" else self._environ.get(first[1:], "")
        base = os.path.join(self._home, base[2:]) if base.startswith("~/") else base
        return os.path.normpath(os.path.join(base, below)) if os.path.isabs(base) else None
