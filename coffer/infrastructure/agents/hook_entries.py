"""Coffer's hooks among the others in an agent's settings, and what a hook says to the agent.

Ours are known by the program they run. A new one goes last, one that is there stays where it is: Codex trusts a
hook by its place and its text. What others put there is neither moved nor changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from coffer.domain.agents import Commands, FileChange, HookEvent, HookStatus
from coffer.infrastructure.agents.commands import hook_line, runs_hook
from coffer.infrastructure.settings.document import Step
from coffer.infrastructure.settings.files import change, read
from coffer.infrastructure.settings.json_edit import JsonDocument

TIMEOUT_SECONDS = 10  # The hook itself gives up earlier; this is for a machine that is slow to start it.
SESSION_STARTS = "startup|resume|clear|compact"


@dataclass(frozen=True, slots=True)
class Found:
    """One hook of ours: the event it is under, where it is, and where what holds nothing else is."""

    key: str
    handler: tuple[Step, ...]
    whole: tuple[Step, ...]
    command: str


def _no_gate(found: Found) -> None:
    """Tell nothing of an agent that runs every hook."""


@dataclass(frozen=True, slots=True)
class HookEntries:
    """The hooks of one type of agent: `keys` are its names of the events.

    `grouped` agents have handlers in groups, each with a matcher; the others have a flat list, in a file that
    begins with its version.
    """

    keys: Mapping[HookEvent, str]
    grouped: bool = True

    def status(self, path: str, trusted: Callable[[Found], bool | None] = _no_gate) -> list[HookStatus]:
        """Return the state of each event; `trusted` tells whether the agent would run a hook that is there."""
        found = list(self.found(JsonDocument.read(path, read(path)).value))
        first = {each.key: each for each in reversed(found)}
        return [
            HookStatus(event, True, first[key].command, trusted(first[key]))
            if key in first
            else HookStatus(event, False, None)
            for event, key in self.keys.items()
        ]

    def install(self, path: str, commands: Commands, name: str) -> list[FileChange]:
        """Return the change that leaves exactly one hook of ours under each event."""
        before = read(path)
        document = JsonDocument.read(path, before)
        bare = not document.value
        for event, key in self.keys.items():
            line = hook_line(commands.hook, name, event)
            present = [each for each in self.found(document.value) if each.key == key]
            for extra in reversed(present[1:]):
                document = document.remove(extra.whole)
            if present:
                document = document.set((*present[0].handler, "command"), line)
            else:
                document = document.append(("hooks", key), self._entry(event, line))
        if bare and not self.grouped:
            document = document.set(("version",), 1)
        return change(before, document, f"add hooks for {_listed(list(self.keys.values()))}")

    def uninstall(self, path: str) -> list[FileChange]:
        """Return the change that removes every hook of ours, also under events that aren't used any more."""
        before = read(path)
        document = JsonDocument.read(path, before)
        # A version that comes after the hooks was added with them.
        ours = (
            not self.grouped
            and isinstance(document.value, dict)
            and [*document.value] == ["hooks", "version"]
        )
        removed = set()
        while found := list(self.found(document.value)):
            document = document.remove(found[-1].whole)
            removed.add(found[-1].key)
        if ours and removed and document.value == {"version": 1}:
            document = document.remove(("version",))
        return change(before, document, f"remove hooks for {_listed(sorted(removed))}")

    def found(self, settings: object) -> Iterator[Found]:
        """Yield our hooks in the order in which they are written."""
        hooks = settings.get("hooks") if isinstance(settings, dict) else None
        for key, groups in hooks.items() if isinstance(hooks, dict) else ():
            for number, group in enumerate(groups if isinstance(groups, list) else ()):
                at: tuple[Step, ...] = ("hooks", key, number)
                if not isinstance(group, dict):
                    continue
                if not self.grouped:
                    if runs_hook(group.get("command")):
                        yield Found(key, at, at, group["command"])
                    continue
                handlers = group.get("hooks")
                handlers = handlers if isinstance(handlers, list) else []
                for place, handler in enumerate(handlers):
                    if isinstance(handler, dict) and runs_hook(handler.get("command")):
                        here = (*at, "hooks", place)
                        yield Found(key, here, at if len(handlers) == 1 else here, handler["command"])

    def _entry(self, event: HookEvent, line: str) -> dict[str, object]:
        if not self.grouped:
            return {"command": line, "timeout": TIMEOUT_SECONDS}
        handler = {"type": "command", "command": line, "timeout": TIMEOUT_SECONDS}
        matcher = {"matcher": SESSION_STARTS} if event == "SessionStart" else {}
        return {**matcher, "hooks": [handler]}


def envelope(event: str, context: str) -> bytes:
    """Return context as Claude Code and Codex take it, at the two events at which they do, and nothing beside it."""
    if not context or event not in ("SessionStart", "UserPromptSubmit"):
        return b""
    return spoken({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def spoken(message: Mapping[str, object]) -> bytes:
    """Return a message as a hook prints it."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else "nothing"
