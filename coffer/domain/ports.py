"""What the use cases need from the outside world, each as few methods as they call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from coffer.domain.activity import AuditEvent, Finding, Invocation
from coffer.domain.agents import AgentKinds, Agents, Commands, SettingsFiles
from coffer.domain.changes import Plan, Written
from coffer.domain.facts import CommitInfo, Fact, Hit
from coffer.domain.history import BlamedLine, FileDiff, Moment, Operation
from coffer.domain.merges import Evidence, Verdict
from coffer.domain.stores import Project, StoreRef
from coffer.domain.sync import Exchange, Kept, RemoteSettings, SyncRun
from lanes.merging import MergeLines

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

    async def present(self, paths: Sequence[str]) -> list[str]:
        """Return those of some paths at which there is a file, without reading it."""

    async def contents(self, folder: str) -> list[tuple[str, bytes]]:
        """Return path and bytes of every file below `folder` that can be read, sorted by path."""

    async def stores(self) -> list[StoreRef]:
        """Return the stores that have a folder in the tree."""

    async def named(self, part: str) -> list[str]:
        """Return the tree-relative paths of all files whose name has `part` in it, sorted."""

    async def files(self, folder: str) -> list[tuple[str, int]]:
        """Return tree-relative path and size of every file below `folder`."""

    async def written(self) -> None:
        """Wait until something was written since the last call."""

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

    async def moment(self, commit: str) -> Moment:
        """Return a commit, given by its id or the unique beginning of it."""

    async def moment_at(self, time: str) -> Moment | None:
        """Return the newest commit not later than a time, None when there was none yet."""

    async def differences(self, old: str | None, new: str | None, folder: str) -> tuple[list[FileDiff], int]:
        """Return how files below `folder` differ between two commits, and how many do; None is before the first.

        No more than can be shown are returned.
        """

    async def operation(self, commit: str) -> Operation:
        """Return what one commit changed."""

    async def blame(self, path: str) -> list[BlamedLine] | None:
        """Return who wrote each line of a file, as last committed; None when it isn't committed."""


class Past(Protocol):
    """What the index would have answered when a commit was the newest."""

    async def search(self, commit: str, query: str, stores: Sequence[StoreRef], limit: int) -> list[Hit]:
        """Return the best passages of then, one a document, best first."""

    async def facts(
        self, commit: str, store: StoreRef, lane: str | None, limit: int, offset: int
    ) -> tuple[list[Fact], int]:
        """Return a page of the facts of then, newest first, and how many there were."""


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

    def forget_root(self, store: str) -> None:
        """Forget where a store's project lives."""


class Remote(Protocol):
    """The memory tree on another machine or a host, reached by git."""

    async def check(self, url: str) -> str:
        """Return an address that can be synced with; raises ConfigInvalid."""

    async def exchange(self, url: str, accepted: Collection[tuple[str, str]]) -> Exchange:
        """Make both sides the same; raises SyncPaused where a person has to be asked, and SyncFailed."""

    async def tip(self) -> str | None:
        """Return the newest commit of this machine."""

    async def kept_since(self, commit: str | None) -> list[tuple[str, str]]:
        """Return path and time of each file that a merge after `commit` kept although one side had removed it."""

    async def distance(self, url: str) -> tuple[int, int]:
        """Return how many commits this machine is ahead of the remote as last seen, and behind it."""


class Serving(Protocol):
    """The memory tree as a repository that the user's own git reads from and may push to."""

    async def refs(self, protocol: str, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Write what a reader is offered."""

    async def upload(self, request: bytes, protocol: str, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Write the answer to a reader's request."""

    async def push_refs(self) -> bytes:
        """Return what somebody who wants to push is offered."""

    async def push(self, request: bytes) -> bytes:
        """Land a push, and return what whoever pushed is told."""


class SyncState(Protocol):
    """What this machine knows of its remote, kept across restarts."""

    async def settings(self) -> RemoteSettings | None:
        """Return where the memory is synced to, None while sync is off."""

    async def save_settings(self, settings: RemoteSettings | None) -> None:
        """Set the remote, or with None: forget it, its last run, and every yes."""

    async def runs(self) -> tuple[SyncRun | None, str | None]:
        """Return the last run, and when one last succeeded."""

    async def note_run(self, run: SyncRun) -> None:
        """Record a run."""

    async def accepted(self) -> Collection[tuple[str, str]]:
        """Return what a person has said yes to: the reason and the subject."""

    async def accept(self, reason: str, subjects: Collection[str]) -> None:
        """Record a person's yes."""

    async def push_allowed(self) -> bool:
        """Tell whether the user's own git may push to the tree that is served."""

    async def allow_push(self, allowed: bool) -> None:
        """Allow or forbid that."""

    async def kept(self) -> list[Kept]:
        """Return the files that stayed although another machine had removed them."""

    async def keep(self, kept: Kept) -> None:
        """Record such a file."""

    async def settle(self, path: str) -> None:
        """Forget such a file: somebody has decided about it."""


class Identity(Protocol):
    """Which project a folder is part of."""

    async def project(self, folder: str) -> Project | None:
        """Return the project of a folder, None outside every project. Never raises."""

    async def commits_since(self, root: str, commit: str, head: str) -> int | None:
        """Return how many commits of a project lead from `commit` to `head`; None when they can't be counted."""


class Engine(Protocol):
    """The language model that Coffer itself may ask."""

    async def available(self) -> bool:
        """Tell whether there is one."""

    async def same_project(self, one: Evidence, other: Evidence) -> Verdict | None:
        """Judge whether two stores are one project's; None for an answer that can't be used."""


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
    past: Past
    index: Index
    state: State
    identity: Identity
    clock: Clock
    agents: Agents
    kinds: AgentKinds
    settings: SettingsFiles
    commands: Commands
    remote: Remote
    sync_state: SyncState
    serving: Serving
    engine: Engine
    machine: str
    """This machine's name, as people know it."""
    merge_lines: MergeLines
    """How two versions of a text become one, line by line; None where both changed the same lines."""
