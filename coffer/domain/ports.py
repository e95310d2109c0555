"""What the use cases need from the outside world, each as few methods as they call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from coffer.domain.activity import AuditEvent, Finding, Invocation
from coffer.domain.agents import AgentKinds, Agents, Commands, SettingsFiles
from coffer.domain.changes import Plan, Written
from coffer.domain.facts import CommitInfo, Fact, Hit
from coffer.domain.stores import Project, StoreRef

T = TypeVar("T")


class Tree(Protocol):
    """The memory tree: plain files in one git repository, and the only way to write them."""

    @property
    def root(self) -> str:
        """The tree's absolute folder."""

    async def write(self, plan: Plan[T]) -> tuple[T, Written]:
        """Run `plan` and make its changes durable before answering.

        Either every file of the change set is in place and flushed, or none is changed.
        The change is committed too, unless `pending_reason` says why not yet.
        Cancelling the caller doesn't stop a write that has begun.
        Raises what the plan raises, and StoreReadOnly or DiskFull.
        """

    async def read(self, path: str) -> bytes | None:
        """Return a file's bytes, None when there is none that can be read."""

    async def contents(self, folder: str) -> list[tuple[str, bytes]]:
        """Return path and bytes of every file below `folder` that can be read, sorted by path."""

    async def stores(self) -> list[StoreRef]:
        """Return the stores that have a folder in the tree."""

    async def files(self, folder: str) -> list[tuple[str, int]]:
        """Return tree-relative path and size of every file below `folder`."""

    async def pending(self) -> dict[str, str]:
        """Return the paths that are saved but not committed, with the reason."""

    async def findings(self) -> list[Finding]:
        """Say for doctor how the repository is."""


class History(Protocol):
    """The tree's past, from its git commits. Unknown commits raise MemoryNotFound."""

    async def commits(self, prefix: str, limit: int, before: str | None) -> list[CommitInfo]:
        """Return the commits that touched `prefix` (a file or folder), newest first."""

    async def read_at(self, commit: str, path: str) -> bytes | None:
        """Return a file's bytes as of `commit`, None when it had no such file."""

    async def deleted_path(self, prefix: str, suffix: str) -> str | None:
        """Return the newest path in history below `prefix` that ends in `suffix`."""


class Index(Protocol):
    """The rebuildable mirror of the files. Every reading method first brings the stores it reads up to date."""

    async def search(self, query: str, stores: Sequence[StoreRef], limit: int) -> list[Hit]:
        """Return the best passages, one a document, best first. Any query gets an answer."""

    async def search_each(
        self, queries: Sequence[str], stores: Sequence[StoreRef], limit: int
    ) -> list[list[Hit]]:
        """Return what `search` finds for each query, with one look at the files for all of them."""

    def terms(self, text: str) -> int:
        """Count the words of a text that a search would go by; a Chinese sentence has many."""

    async def facts(
        self, store: StoreRef, lane: str | None, limit: int, offset: int
    ) -> tuple[list[Fact], int]:
        """Return a page of facts, newest first, and how many there are."""

    async def fact(self, store: StoreRef, fact_id: str) -> Fact | None:
        """Return one fact."""

    async def counts(self, store: StoreRef) -> Mapping[str, int]:
        """Return the number of documents in each lane."""

    async def refresh(self, store: StoreRef) -> None:
        """Bring one store up to date."""

    async def prepare(self, store: StoreRef) -> None:
        """Make `holders` know what the store held when this process first met it; free from then on."""

    def holders(self, store: StoreRef, text: str) -> list[str]:
        """Return tree-relative paths that probably hold exactly `text`; called on the writer's thread."""

    def note(self, store: StoreRef, text: str, path: str) -> None:
        """Make `holders` know a text that is being written; called on the writer's thread."""

    async def findings(self) -> list[Finding]:
        """Say for doctor how the index is, and which files it can't read."""


class State(Protocol):
    """What this machine keeps beside the tree and can't rebuild."""

    def audit(self, event: AuditEvent) -> None:
        """Record an event soon; it is in every later answer of `audit_events`."""

    def invoked(self, invocation: Invocation) -> None:
        """Record a tool call soon; it is in every later answer of `invocations`."""

    async def audit_events(
        self, limit: int, before: str | None, event: str | None, store: str | None
    ) -> list[AuditEvent]:
        """Return recorded events, newest first."""

    async def invocations(
        self, limit: int, before: str | None, tool: str | None, agent: str | None
    ) -> list[Invocation]:
        """Return recorded tool calls, newest first."""

    async def roots(self) -> Mapping[str, str]:
        """Return the project root known on this machine for each store name."""

    def found_root(self, store: str, root: str) -> None:
        """Record where a project lives on this machine."""


class Identity(Protocol):
    """Which project a folder is part of."""

    async def project(self, folder: str) -> Project | None:
        """Return the project of a folder, None outside every project. Never raises."""

    async def commits_since(self, root: str, commit: str, head: str) -> int | None:
        """Return how many commits of a project lead from `commit` to `head`; None when they can't be counted."""


class Clock(Protocol):
    """Time and chance, passed in so that nothing else reads them."""

    def now(self) -> str:
        """Return the time as ISO 8601 UTC in whole seconds with `Z`."""

    def milliseconds(self) -> int:
        """Return milliseconds since the epoch; never earlier than an answer given before."""

    def elapsed(self) -> float:
        """Return seconds of a clock that only moves forward."""

    def new_id(self) -> str:
        """Return a fresh ULID, later than every one before it in this process."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside world, as one argument to every use case."""

    tree: Tree
    history: History
    index: Index
    state: State
    identity: Identity
    clock: Clock
    agents: Agents
    kinds: AgentKinds
    settings: SettingsFiles
    commands: Commands
    machine: str
    """This machine's name, as people know it."""
