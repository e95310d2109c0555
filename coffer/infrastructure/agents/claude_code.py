"""Claude Code: hooks and settings in `settings.json`, MCP servers in `.claude.json`."""

from __future__ import annotations

import json
import os

from coffer.domain.agents import AgentType, Budget, Commands, FileChange, HookEvent, HookStatus, McpStatus
from coffer.infrastructure.agents.hook_entries import HookEntries, envelope
from coffer.infrastructure.agents.native_memory import restored, switched_off
from coffer.infrastructure.agents.server_entry import ServerEntry
from coffer.infrastructure.settings.files import change, in_folder, read
from coffer.infrastructure.settings.json_edit import JsonDocument

_EVENTS: tuple[HookEvent, ...] = ("SessionStart", "UserPromptSubmit", "SessionEnd")
_SERVERS = ServerEntry("mcpServers", JsonDocument.read)
_HOOKS = HookEntries({event: event for event in _EVENTS})


class ClaudeCode:
    """What Coffer knows of Claude Code; `chosen` is the folder that CLAUDE_CONFIG_DIR names, if it does."""

    type: AgentType = "claude_code"
    title = "Claude Code"
    places = ("$CLAUDE_CONFIG_DIR", "~/.claude")
    events = _EVENTS
    budget = Budget(9_500)
    advice: str | None = None

    def __init__(self, home: str, chosen: str | None) -> None:
        self._default, self._chosen = os.path.join(home, ".claude"), chosen

    def mcp(self, config_dir: str) -> McpStatus:
        return _SERVERS.status(self._servers(config_dir))

    def connect(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]:
        in_folder(config_dir, "settings.json")
        wanted = {"type": "stdio", "command": commands.shim, "args": ["--agent", name]}
        return _SERVERS.connect(self._servers(config_dir), wanted)

    def disconnect(self, config_dir: str) -> list[FileChange]:
        return _SERVERS.disconnect(self._servers(config_dir))

    def hooks(self, config_dir: str) -> list[HookStatus]:
        return _HOOKS.status(_settings(config_dir))

    def install_hooks(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]:
        return _HOOKS.install(in_folder(config_dir, "settings.json"), commands, name)

    def uninstall_hooks(self, config_dir: str) -> list[FileChange]:
        return _HOOKS.uninstall(_settings(config_dir))

    def blocked(self, config_dir: str) -> str | None:
        path = _settings(config_dir)
        off = JsonDocument.read(path, read(path)).get(["disableAllHooks"])
        return f"`disableAllHooks` is true in {path}." if off is True else None

    def native_memory_off(self, config_dir: str) -> tuple[list[FileChange], str]:
        path = in_folder(config_dir, "settings.json")
        before = read(path)
        document, prior = switched_off(JsonDocument.read(path, before), ["autoMemoryEnabled"])
        return change(before, document, "switch auto memory off"), json.dumps(prior)

    def native_memory_restored(self, config_dir: str, prior: str) -> list[FileChange]:
        path = _settings(config_dir)
        before = read(path)
        document = restored(JsonDocument.read(path, before), json.loads(prior))
        return change(before, document, "restore auto memory")

    def envelope(self, event: str, context: str) -> bytes:
        return envelope(event, context)

    def _servers(self, config_dir: str) -> str:
        """Return where the servers are: beside `.claude` in the home, inside any folder that is chosen."""
        inside, beside = os.path.join(config_dir, ".claude.json"), self._default + ".json"
        here = os.path.realpath(config_dir)
        if here != os.path.realpath(self._default) or (
            self._chosen and here == os.path.realpath(self._chosen)
        ):
            return inside
        # The folder may be chosen for the agent and not for this process.
        return inside if os.path.exists(inside) and not os.path.exists(beside) else beside


def _settings(config_dir: str) -> str:
    return os.path.join(config_dir, "settings.json")
