"""Agents: the coding agents on this machine, what Coffer may change for each, and what it saw of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from coffer.domain.originals import Original

AgentType = Literal["claude_code", "codex", "opencode", "cursor"]
HookEvent = Literal["SessionStart", "UserPromptSubmit", "SessionEnd"]


@dataclass(frozen=True, slots=True)
class Agent:
    """One registered agent: its settings are in `config_dir`, which no other agent shares."""

    name: str
    type: AgentType
    config_dir: str
    disable_native_memory: bool = False
    prompt_notes: bool = True


@dataclass(frozen=True, slots=True)
class Candidate:
    """An agent found on this machine; `because` says by what (an environment variable, a default folder)."""

    type: AgentType
    config_dir: str
    because: str


@dataclass(frozen=True, slots=True)
class Commands:
    """What the agent is told to run: absolute, and the same in every version of Coffer."""

    shim: str
    hook: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """New bytes for another program's file; None for `before` means that there is none, for `after` that it goes.

    It may only be applied while the file still holds `before`.
    """

    path: str
    before: bytes | None
    after: bytes | None
    says: str


@dataclass(frozen=True, slots=True)
class HookStatus:
    """One hook event: `trusted` is None where the agent has no such gate or doesn't tell."""

    event: str
    installed: bool
    command: str | None
    trusted: bool | None = None
    last_fired: str | None = None
    last_error: str | None = None


@dataclass(frozen=True, slots=True)
class Firing:
    """When a hook last called, and what went wrong then."""

    time: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class McpStatus:
    """Whether the agent is told of Coffer's tools, where, and by which command."""

    installed: bool
    path: str
    command: str | None


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a session may be told: UTF-8 bytes, and tokens by estimate where the agent counts those."""

    bytes: int
    tokens: int | None = None


class AgentKind(Protocol):
    """What Coffer knows of one type of agent. Reads files of the agent's, never writes any.

    Methods that return changes raise SettingsUnparsable for a file that can't be edited safely, naming line
    and column. Installing what is installed, and removing what isn't there, is no change.
    """

    type: AgentType
    title: str
    events: tuple[HookEvent, ...]
    budget: Budget
    advice: str | None
    """What a person still has to do after an installation, or None."""

    def mcp(self, config_dir: str) -> McpStatus: ...

    def connect(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]: ...

    def disconnect(self, config_dir: str) -> list[FileChange]: ...

    def hooks(self, config_dir: str) -> list[HookStatus]: ...

    def install_hooks(self, config_dir: str, commands: Commands, name: str) -> list[FileChange]: ...

    def uninstall_hooks(self, config_dir: str) -> list[FileChange]: ...

    def blocked(self, config_dir: str) -> str | None:
        """Say which of its settings keeps the agent from calling any hook, None when none does."""
        ...

    def native_memory_off(self, config_dir: str) -> tuple[list[FileChange], str]:
        """Return the changes that switch the agent's own memory off, and what it takes to restore it.

        The second is a JSON text that names each key with its earlier value, or that it was absent.
        Raises UnsupportedAgentType for an agent that has no memory of its own to switch.
        """
        ...

    def native_memory_restored(self, config_dir: str, prior: str) -> list[FileChange]: ...

    def envelope(self, event: str, context: str) -> bytes:
        """Return exactly what the hook has to print to hand `context` to the agent; nothing for no context."""
        ...


class AgentKinds(Protocol):
    """Every type of agent that Coffer knows, and those that are on this machine."""

    def kind(self, type: AgentType) -> AgentKind: ...

    def candidates(self) -> list[Candidate]: ...

    def folder(self, path: str) -> str | None:
        """Return the real path of a folder, None when there is no such folder."""
        ...


class SettingsFiles(Protocol):
    """Writes other programs' files."""

    def apply(self, changes: list[FileChange]) -> None:
        """Replace each file provided it still holds what the change was made from.

        A dated backup, readable by its owner alone, is kept beside each file before its first change. Mode,
        owner and symlinks stay. Raises SettingsChanged when somebody edited a file meanwhile; then no file of
        the list is left changed.
        """
        ...


class Agents(Protocol):
    """The registered agents of this machine, and what was seen of them."""

    async def all(self) -> list[Agent]:
        """Return every registered agent, by name."""
        ...

    async def find(self, name: str) -> Agent | None: ...

    async def save(self, agent: Agent, native_prior: str | None) -> None:
        """Add an agent, or change its settings; `native_prior` is what restores its own memory, if it is off."""
        ...

    async def remove(self, name: str) -> None: ...

    async def native_prior(self, name: str) -> str | None: ...

    def fired(self, agent: str, event: str, time: str, error: str | None) -> None:
        """Record that a hook called."""
        ...

    async def firings(self, agent: str) -> Mapping[str, Firing]:
        """Return the last firing of each event."""
        ...

    async def shown(self, session: str) -> frozenset[str]:
        """Return the notes that a session was shown."""
        ...

    def show(self, session: str, notes: Collection[str], time: str) -> None:
        """Record notes as shown in a session."""
        ...

    async def originals(self) -> Mapping[str, Original]:
        """Return for each file that Coffer changed, and that it can put back, the way back."""
        ...

    def keep_original(self, path: str, way_back: Original | None) -> None:
        """Record the way back for a file, or that there is none any more."""
        ...
