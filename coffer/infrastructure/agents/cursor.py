"""Cursor: hooks in `hooks.json`, in a format of its own, MCP servers in `mcp.json`."""

from __future__ import annotations

import os

from coffer.domain.agents import AgentType, Budget, Commands, FileChange, HookEvent, HookStatus, McpStatus
from coffer.domain.errors import UnsupportedAgentType
from coffer.infrastructure.agents.hook_entries import HookEntries, spoken
from coffer.infrastructure.agents.server_entry import ServerEntry
from coffer.infrastructure.settings.files import in_folder
from coffer.infrastructure.settings.json_edit import JsonDocument

_EVENTS: tuple[HookEvent, ...] = ("SessionStart",)
_SERVERS = ServerEntry("mcpServers", JsonDocument.read)
_HOOKS = HookEntries({"SessionStart": "sessionStart"}, grouped=False)


class Cursor:
    """What Coffer knows of Cursor."""

    type: AgentType = "cursor"
    title = "Cursor"
    places = ("~/.cursor",)
    events = _EVENTS
    budget = Budget(9_500)
    advice: str | None = (
        "Start a new Cursor session. Some versions of the editor call hooks and drop what they say, which "
        "Coffer can't see; ask the agent whether it was told of Coffer's memory."
    )

    def mcp(self, config_dir: str) -> McpStatus:
        return _SERVERS.status(os.path.join(config_dir, "mcp.json"))

    def connect(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]:
        wanted = {"command": commands.shim, "args": ["--agent", name]}
        return _SERVERS.connect(in_folder(config_dir, "mcp.json"), wanted)

    def disconnect(self, config_dir: str) -> list[FileChange]:
        return _SERVERS.disconnect(os.path.join(config_dir, "mcp.json"))

    def hooks(self, config_dir: str) -> list[HookStatus]:
        return _HOOKS.status(os.path.join(config_dir, "hooks.json"))

    def install_hooks(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]:
        return _HOOKS.install(in_folder(config_dir, "hooks.json"), commands, name)

    def uninstall_hooks(self, config_dir: str) -> list[FileChange]:
        return _HOOKS.uninstall(os.path.join(config_dir, "hooks.json"))

    def blocked(self, config_dir: str) -> str | None:
        return None

    def native_memory_off(self, config_dir: str) -> tuple[list[FileChange], str]:
        raise UnsupportedAgentType(
            self.type, "Cursor has no memory of its own that a settings file switches."
        )

    def native_memory_restored(self, config_dir: str, prior: str) -> list[FileChange]:
        raise UnsupportedAgentType(
            self.type, "Cursor has no memory of its own that a settings file switches."
        )

    def envelope(self, event: str, context: str) -> bytes:
        return spoken({"additional_context": context}) if context and event in _EVENTS else b""
