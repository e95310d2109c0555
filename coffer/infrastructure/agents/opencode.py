"""OpenCode: MCP servers in `opencode.json` or `opencode.jsonc`. It has plugins, and no hooks."""

from __future__ import annotations

import os

from coffer.domain.agents import AgentType, Budget, Commands, FileChange, HookEvent, HookStatus, McpStatus
from coffer.domain.errors import UnsupportedAgentType
from coffer.infrastructure.agents.server_entry import ServerEntry
from coffer.infrastructure.settings.files import in_folder
from coffer.infrastructure.settings.json_edit import JsonDocument

_SERVERS = ServerEntry("mcp", JsonDocument.read)
# What the later ones say counts, where several are there.
_FILES = ("opencode.json", "opencode.jsonc")


class OpenCode:
    """What Coffer knows of OpenCode."""

    type: AgentType = "opencode"
    title = "OpenCode"
    places = ("$XDG_CONFIG_HOME/opencode", "~/.config/opencode")
    events: tuple[HookEvent, ...] = ()
    budget = Budget(0)
    advice: str | None = (
        "OpenCode has no hooks, so no memory arrives by itself: ask it to call coffer__recall or coffer__resume."
    )

    def mcp(self, config_dir: str) -> McpStatus:
        return _SERVERS.status(_config(config_dir))

    def connect(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]:
        in_folder(config_dir, _FILES[0])
        wanted = {"type": "local", "command": [commands.shim, "--agent", name], "enabled": True}
        return _SERVERS.connect(_config(config_dir), wanted)

    def disconnect(self, config_dir: str) -> list[FileChange]:
        return _SERVERS.disconnect(_config(config_dir))

    def hooks(self, config_dir: str) -> list[HookStatus]:
        return []

    def install_hooks(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]:
        return []

    def uninstall_hooks(self, config_dir: str) -> list[FileChange]:
        return []

    def blocked(self, config_dir: str) -> str | None:
        return None

    def native_memory_off(self, config_dir: str) -> tuple[list[FileChange], str]:
        raise UnsupportedAgentType(self.type, "OpenCode has no memory of its own.")

    def native_memory_restored(self, config_dir: str, prior: str) -> list[FileChange]:
        raise UnsupportedAgentType(self.type, "OpenCode has no memory of its own.")

    def envelope(self, event: str, context: str) -> bytes:
        return b""


def _config(config_dir: str) -> str:
    """Return the file that has our entry, else the one that counts, else the one that would be made."""
    paths = [os.path.join(config_dir, name) for name in _FILES]
    there = [path for path in reversed(paths) if os.path.exists(path)]
    holding = (path for path in there if _SERVERS.held(path))
    return next(holding, there[0]) if there else paths[0]
