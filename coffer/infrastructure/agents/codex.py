"""Codex: hooks in `hooks.json`, everything else in `config.toml`.

Codex runs a hook only after a person has approved it with `/hooks`. It keeps that in config.toml, under the
hook's place in hooks.json, together with a hash that only Codex should write.
"""

from __future__ import annotations

import json
import os

from coffer.domain.agents import AgentType, Budget, Commands, FileChange, HookEvent, HookStatus, McpStatus
from coffer.infrastructure.agents.hook_entries import Found, HookEntries, envelope
from coffer.infrastructure.agents.native_memory import restored, switched_off
from coffer.infrastructure.agents.server_entry import ServerEntry
from coffer.infrastructure.settings.files import change, in_folder, read
from coffer.infrastructure.settings.toml_edit import TomlDocument

_EVENTS: tuple[HookEvent, ...] = ("SessionStart", "UserPromptSubmit")
_SERVERS = ServerEntry("mcp_servers", TomlDocument.read)
_HOOKS = HookEntries({event: event for event in _EVENTS})
_IN_STATE: dict[str, str] = {"SessionStart": "session_start", "UserPromptSubmit": "user_prompt_submit"}
_MEMORY = ("features.memories", "memories.generate_memories")


class Codex:
    """What Coffer knows of Codex."""

    type: AgentType = "codex"
    title = "Codex"
    places = ("$CODEX_HOME", "~/.codex")
    events = _EVENTS
    budget = Budget(9_500, 2_400)
    advice: str | None = (
        "Open Codex and approve Coffer's hooks with /hooks; until then it skips them silently."
    )

    def mcp(self, config_dir: str) -> McpStatus:
        return _SERVERS.status(_config(config_dir))

    def connect(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]:
        wanted = {"command": commands.shim, "args": ["--agent", name]}
        return _SERVERS.connect(in_folder(config_dir, "config.toml"), wanted)

    def disconnect(self, config_dir: str) -> list[FileChange]:
        return _SERVERS.disconnect(_config(config_dir))

    def hooks(self, config_dir: str) -> list[HookStatus]:
        path = os.path.join(config_dir, "hooks.json")
        approved = _approved(config_dir, path)

        def trusted(hook: Found) -> bool:
            _, _, group, _, handler = hook.handler
            return f"{_IN_STATE[hook.key]}:{group}:{handler}" in approved

        return _HOOKS.status(path, trusted)

    def install_hooks(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]:
        return _HOOKS.install(in_folder(config_dir, "hooks.json"), commands, name)

    def uninstall_hooks(self, config_dir: str) -> list[FileChange]:
        return _HOOKS.uninstall(os.path.join(config_dir, "hooks.json"))

    def blocked(self, config_dir: str) -> str | None:
        config = _config(config_dir)
        document = TomlDocument.read(config, read(config))
        for switch in ("hooks", "codex_hooks"):  # the second is what it was called earlier
            if document.get(["features", switch]) is False:
                return f"`features.{switch}` is false in {config}."
        return None

    def native_memory_off(self, config_dir: str) -> tuple[list[FileChange], str]:
        path = in_folder(config_dir, "config.toml")
        before = read(path)
        was = TomlDocument.read(path, before)
        document, prior = switched_off(was, _MEMORY)
        for table in ("features", "memories"):
            if document.headed([table]) and not was.headed([table]):
                prior[f"[{table}]"] = None
        return change(before, document, "switch memories off"), json.dumps(prior)

    def native_memory_restored(self, config_dir: str, prior: str) -> list[FileChange]:
        path = _config(config_dir)
        before = read(path)
        keys = json.loads(prior)
        document = restored(TomlDocument.read(path, before), keys)
        for table in ("features", "memories"):
            if f"[{table}]" in keys:
                document = document.unheaded([table])
        return change(before, document, "restore memories")

    def envelope(self, event: str, context: str) -> bytes:
        return envelope(event, context)


def _config(config_dir: str) -> str:
    return os.path.join(config_dir, "config.toml")


def _approved(config_dir: str, hooks: str) -> set[str]:
    """Return event, group and handler of each hook in this file that a person has approved."""
    config = _config(config_dir)
    state = TomlDocument.read(config, read(config)).get(["hooks", "state"])
    here = {hooks, os.path.realpath(hooks)}
    return {
        place.removeprefix(f"{path}:")
        for place, told in (state.items() if isinstance(state, dict) else ())
        for path in here
        if place.startswith(f"{path}:") and isinstance(told, dict) and told.get("trusted_hash")
    }
