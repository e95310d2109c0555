"""Ports that live in memory: a tree of bytes with a past, read afresh for every question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import cast

import trio

from coffer.application.remember import fact_from
from coffer.domain.activity import AuditEvent, Finding, Invocation
from coffer.domain.agents import Agent, Commands, Firing
from coffer.domain.changes import Plan, T, Written
from coffer.domain.errors import CofferError, ConfigInvalid, MemoryNotFound
from coffer.domain.facts import CommitInfo, Fact, Hit
from coffer.domain.history import BlamedLine, FileChange, FileDiff, Moment, Operation
from coffer.domain.originals import Original
from coffer.domain.ports import Ports, Serving
from coffer.domain.stores import GLOBAL, Project, StoreRef
from coffer.domain.sync import Exchange, Kept, RemoteSettings, SyncRun
from coffer.infrastructure.agents.kinds import KnownAgents
from coffer.infrastructure.no_engine import NoEngine
from coffer.infrastructure.settings.files import DiskSettings
from gitsync.merge_lines import merge_lines
from lanes import lane_of
from lanes.errors import Unreadable
from lanes.layout import store_of


@dataclass
class MemoryTree:
    """A memory tree and its history; `refusal` makes every write fail, `pending_reason` every commit wait."""

    root: str = "/coffer/memory"
    held: dict[str, bytes] = field(default_factory=dict)
    past: list[tuple[CommitInfo, dict[str, bytes]]] = field(default_factory=list)
    refusal: Exception | None = None
    pending_reason: str | None = None
    waiting: dict[str, str] = field(default_factory=dict)

    async def write(self, plan: Plan[T]) -> tuple[T, Written]:
        if self.refusal is not None:
            raise self.refusal
        planned = plan(_View(self.held))
        if planned.change_set is None:
            return planned.result, Written("0" * 40)
        done = planned.change_set
        for change in done.changes:
            self.held.pop(change.path, None)
            if change.content is not None:
                self.held[change.path] = change.content
            if self.pending_reason:
                self.waiting[change.path] = self.pending_reason
        if self.pending_reason:
            return planned.result, Written(None, self.pending_reason)
        commit = sha256(str(len(self.past)).encode()).hexdigest()[:40]
        info = CommitInfo(
            commit,
            f"2026-06-03T09:{len(self.past):02}:00Z",
            done.op,
            done.caller.actor,
            done.caller.agent,
            done.caller.session,
            done.subject,
            tuple(change.path for change in done.changes),
        )
        self.past.insert(0, (info, dict(self.held)))
        return planned.result, Written(commit)

    async def written(self) -> None:
        await trio.sleep_forever()

    async def named(self, part: str) -> list[str]:
        return sorted(path for path in self.held if part in path.rpartition("/")[2])

    async def read(self, path: str) -> bytes | None:
        return self.held.get(path)

    async def present(self, paths: Sequence[str]) -> list[str]:
        return [path for path in paths if path in self.held]

    async def contents(self, folder: str) -> list[tuple[str, bytes]]:
        return [(path, data) for path, data in sorted(self.held.items()) if path.startswith(f"{folder}/")]

    async def stores(self) -> list[StoreRef]:
        folders = {found[0] for path in self.held if (found := store_of(path)) is not None}
        return [
            GLOBAL if folder == "global" else StoreRef(folder.rpartition("/")[2])
            for folder in sorted(folders)
        ]

    async def files(self, folder: str) -> list[tuple[str, int]]:
        return [
            (path, len(data)) for path, data in sorted(self.held.items()) if path.startswith(f"{folder}/")
        ]

    async def pending(self) -> dict[str, str]:
        return self.waiting

    async def findings(self) -> list[Finding]:
        return [Finding("repository", "ok", "It is well.")]

    async def commits(self, prefix: str, limit: int, before: str | None) -> list[CommitInfo]:
        infos = [info for info, _ in self.past]
        if before is not None:
            infos = infos[1 + [info.commit for info in infos].index(self._commit(before)) :]
        touched = [info for info in infos if any(_below(path, prefix) for path in info.paths)]
        return touched[:limit]

    async def read_at(self, commit: str, path: str) -> bytes | None:
        full = self._commit(commit)
        return next(held for info, held in self.past if info.commit == full).get(path)

    async def deleted_path(self, prefix: str, suffix: str) -> str | None:
        paths = [path for info, _ in self.past for path in info.paths]
        return next((path for path in paths if path.startswith(prefix) and path.endswith(suffix)), None)

    async def moment(self, commit: str) -> Moment:
        full = self._commit(commit)
        return next(Moment(full, info.time) for info, _ in self.past if info.commit == full)

    async def moment_at(self, time: str) -> Moment | None:
        return next((Moment(info.commit, info.time) for info, _ in self.past if info.time <= time), None)

    async def differences(self, old: str | None, new: str | None, folder: str) -> tuple[list[FileDiff], int]:
        diffs = [
            FileDiff(
                path,
                "added" if before is None else "removed" if after is None else "changed",
                f"-{before!r}\n+{after!r}\n",
            )
            for path, before, after in self._differing(self.as_of(old), self.as_of(new))
            if path.startswith(f"{folder}/")
        ]
        return diffs[:1], len(diffs)

    async def operation(self, commit: str) -> Operation:
        full = self._commit(commit)
        place = [info.commit for info, _ in self.past].index(full)
        older = self.past[place + 1 :]
        changes = self._differing(older[0][1] if older else {}, self.past[place][1])
        return Operation(
            full, self.past[place][0].subject, min(1, len(older)), tuple(FileChange(*one) for one in changes)
        )

    async def blame(self, path: str) -> list[BlamedLine] | None:
        for info, held in self.past:
            if path in info.paths and path in held:
                who = (info.commit, info.time, info.actor, info.agent, info.session)
                return [BlamedLine(*who, line) for line in held[path].decode().splitlines()]
        return None

    def as_of(self, commit: str | None) -> dict[str, bytes]:
        """Return the files of a commit, none before the first."""
        return next((held for info, held in self.past if info.commit == commit), {})

    def _differing(
        self, old: Mapping[str, bytes], new: Mapping[str, bytes]
    ) -> list[tuple[str, bytes | None, bytes | None]]:
        paths = sorted(old.keys() | new.keys())
        return [(path, old.get(path), new.get(path)) for path in paths if old.get(path) != new.get(path)]

    def _commit(self, start: str) -> str:
        for info, _ in self.past:
            if info.commit.startswith(start):
                return info.commit
        raise MemoryNotFound(f"Commit {start}", "global")


def _below(path: str, prefix: str) -> bool:
    return not prefix or f"{path}/".startswith(f"{prefix}/")


@dataclass
class _View:
    held: Mapping[str, bytes]

    def read(self, path: str) -> bytes | None:
        return self.held.get(path)

    def files(self, folder: str) -> list[str]:
        return sorted(path for path in self.held if path.startswith(f"{folder}/"))


@dataclass
class MemoryIndex:
    """Finds by whole words; `failure` makes every search fail."""

    tree: MemoryTree
    failure: Exception | None = None

    async def search_each(
        self, queries: Sequence[str], stores: Sequence[StoreRef], limit: int
    ) -> list[list[Hit]]:
        return [await self.search(query, stores, limit) for query in queries]

    async def search(self, query: str, stores: Sequence[StoreRef], limit: int) -> list[Hit]:
        if self.failure is not None:
            raise self.failure
        words = set(query.lower().split())
        facts = [(store, fact) for store in stores for fact in self._facts(store)]
        hits = [
            Hit(
                fact.id,
                fact.store,
                store.scope,
                fact.path,
                fact.title,
                fact.text,
                len(words & set(fact.text.lower().split())) / max(1, len(words)),
                fact.updated_at,
            )
            for store, fact in facts
        ]
        return sorted((hit for hit in hits if hit.score), key=lambda hit: -hit.score)[:limit]

    def terms(self, text: str) -> int:
        return len(text.split())

    async def facts(
        self, store: StoreRef, lane: str | None, limit: int, offset: int
    ) -> tuple[list[Fact], int]:
        facts = [fact for fact in self._facts(store) if lane in (None, fact.lane)]
        facts.sort(key=lambda fact: (fact.updated_at, fact.id), reverse=True)
        return facts[offset : offset + limit], len(facts)

    async def fact(self, store: StoreRef, fact_id: str) -> Fact | None:
        return next((fact for fact in self._facts(store) if fact.id == fact_id), None)

    async def counts(self, store: StoreRef) -> Mapping[str, int]:
        lanes = [fact.lane for fact in self._facts(store)]
        return {lane: lanes.count(lane) for lane in ("inbox", "topic")}

    async def refresh(self, store: StoreRef) -> None:
        pass

    async def prepare(self, store: StoreRef) -> None:
        pass

    def holders(self, store: StoreRef, text: str) -> list[str]:
        return [fact.path for fact in self._facts(store) if fact.text == text]

    def note(self, store: StoreRef, text: str, path: str) -> None:
        pass

    async def findings(self) -> list[Finding]:
        return [Finding("index", "warning", "One file can't be read.", "Mend it.")]

    def _facts(self, store: StoreRef) -> list[Fact]:
        facts = []
        for path, data in self.tree.held.items():
            lane = lane_of(path.removeprefix(f"{store.folder}/"))
            if path.startswith(f"{store.folder}/") and lane is not None and lane.counted:
                try:
                    facts.append(fact_from(store, path, data))
                except Unreadable:
                    continue
        return facts


@dataclass
class MemoryPast:
    """The index of what a tree held."""

    tree: MemoryTree

    async def search(self, commit: str, query: str, stores: Sequence[StoreRef], limit: int) -> list[Hit]:
        return await self._index(commit).search(query, stores, limit)

    async def facts(
        self, commit: str, store: StoreRef, lane: str | None, limit: int, offset: int
    ) -> tuple[list[Fact], int]:
        return await self._index(commit).facts(store, lane, limit, offset)

    def _index(self, commit: str) -> MemoryIndex:
        return MemoryIndex(MemoryTree(held=self.tree.as_of(commit)))


@dataclass
class MemoryState:
    """Keeps what it is told."""

    events: list[AuditEvent] = field(default_factory=list)
    calls: list[Invocation] = field(default_factory=list)
    known_roots: dict[str, str] = field(default_factory=dict)

    def audit(self, event: AuditEvent) -> None:
        self.events.insert(0, replace(event, time=f"2026-06-03T10:00:{len(self.events):02}Z"))

    def invoked(self, invocation: Invocation) -> None:
        self.calls.insert(0, invocation)

    async def audit_events(
        self, limit: int, before: str | None, event: str | None, store: str | None
    ) -> list[AuditEvent]:
        found = [
            one
            for one in self.events
            if (before is None or one.time < before)
            and event in (None, one.event)
            and store in (None, one.store)
        ]
        return found[:limit]

    async def invocations(
        self, limit: int, before: str | None, tool: str | None, agent: str | None
    ) -> list[Invocation]:
        found = [
            one
            for one in self.calls
            if (before is None or one.time < before)
            and tool in (None, one.tool)
            and agent in (None, one.agent)
        ]
        return found[:limit]

    async def roots(self) -> Mapping[str, str]:
        return self.known_roots

    def found_root(self, store: str, root: str) -> None:
        self.known_roots[store] = root

    def forget_root(self, store: str) -> None:
        self.known_roots.pop(store, None)


@dataclass
class KnownProjects:
    """Projects by folder, none of which moves."""

    projects: dict[str, Project] = field(default_factory=dict)

    async def project(self, folder: str) -> Project | None:
        return self.projects.get(folder)

    async def commits_since(self, root: str, commit: str, head: str) -> int | None:
        return None


@dataclass
class SteppingClock:
    """A clock that moves one second at every look."""

    ticks: int = 0

    def now(self) -> str:
        self.ticks += 1
        return f"2026-06-03T{self.ticks // 3600 % 24:02}:{self.ticks // 60 % 60:02}:{self.ticks % 60:02}Z"

    def milliseconds(self) -> int:
        return self.ticks * 1000

    def elapsed(self) -> float:
        return 100.25

    def new_id(self) -> str:
        self.ticks += 1
        return f"01JABCDEFGHJKMNPQR{self.ticks:08}"


@dataclass
class MemoryAgents:
    """Keeps what it is told of agents."""

    registered: dict[str, Agent] = field(default_factory=dict)
    priors: dict[str, str | None] = field(default_factory=dict)
    calls: dict[str, dict[str, Firing]] = field(default_factory=dict)
    notes: dict[str, set[str]] = field(default_factory=dict)
    ways_back: dict[str, Original] = field(default_factory=dict)

    async def all(self) -> list[Agent]:
        return [self.registered[name] for name in sorted(self.registered)]

    async def find(self, name: str) -> Agent | None:
        return self.registered.get(name)

    async def save(self, agent: Agent, native_prior: str | None) -> None:
        self.registered[agent.name] = agent
        self.priors[agent.name] = native_prior

    async def remove(self, name: str) -> None:
        self.registered.pop(name, None)
        self.calls.pop(name, None)

    async def native_prior(self, name: str) -> str | None:
        return self.priors.get(name)

    def fired(self, agent: str, event: str, time: str, error: str | None) -> None:
        self.calls.setdefault(agent, {})[event] = Firing(time, error)

    async def firings(self, agent: str) -> Mapping[str, Firing]:
        return self.calls.get(agent, {})

    async def shown(self, session: str) -> frozenset[str]:
        return frozenset(self.notes.get(session, ()))

    def show(self, session: str, notes: Collection[str], time: str) -> None:
        self.notes.setdefault(session, set()).update(notes)

    async def originals(self) -> Mapping[str, Original]:
        return self.ways_back

    def keep_original(self, path: str, way_back: Original | None) -> None:
        self.ways_back.pop(path, None)
        if way_back is not None:
            self.ways_back[path] = way_back


class MemoryRemote:
    """A remote that says what a test tells it to."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange | CofferError] = []
        self.asked: list[tuple[str, frozenset[tuple[str, str]]]] = []
        self.kept: list[tuple[str, str]] = []

    async def check(self, url: str) -> str:
        if "::" in url:
            raise ConfigInvalid("url", f"{url!r} names a program")
        return url

    async def exchange(self, url: str, accepted: Collection[tuple[str, str]]) -> Exchange:
        self.asked.append((url, frozenset(accepted)))
        done = self.exchanges.pop(0) if self.exchanges else Exchange()
        if isinstance(done, CofferError):
            raise done
        return done

    async def tip(self) -> str | None:
        return None

    async def kept_since(self, commit: str | None) -> list[tuple[str, str]]:
        kept, self.kept = self.kept, []
        return kept

    async def distance(self, url: str) -> tuple[int, int]:
        return 0, 0


class MemorySync:
    """What is known of the remote, forgotten with the test."""

    def __init__(self) -> None:
        self.remote: RemoteSettings | None = None
        self.last: SyncRun | None = None
        self.success: str | None = None
        self.yes: set[tuple[str, str]] = set()
        self.held: dict[str, Kept] = {}
        self.push = False

    async def settings(self) -> RemoteSettings | None:
        return self.remote

    async def save_settings(self, settings: RemoteSettings | None) -> None:
        self.remote = settings
        if settings is None:
            self.last, self.success, self.yes = None, None, set()

    async def runs(self) -> tuple[SyncRun | None, str | None]:
        return self.last, self.success

    async def note_run(self, run: SyncRun) -> None:
        self.last = run
        if run.result in ("synced", "nothing"):
            self.success = run.at

    async def accepted(self) -> Collection[tuple[str, str]]:
        return frozenset(self.yes)

    async def accept(self, reason: str, subjects: Collection[str]) -> None:
        self.yes |= {(reason, subject) for subject in subjects}

    async def push_allowed(self) -> bool:
        return self.push

    async def allow_push(self, allowed: bool) -> None:
        self.push = allowed

    async def kept(self) -> list[Kept]:
        return [self.held[path] for path in sorted(self.held)]

    async def keep(self, kept: Kept) -> None:
        self.held[kept.path] = kept

    async def settle(self, path: str) -> None:
        self.held.pop(path, None)


def memory_ports() -> Ports:
    """Return an empty memory, on a machine without agents."""
    tree, clock = MemoryTree(), SteppingClock()
    return Ports(
        tree=tree,
        history=tree,
        past=MemoryPast(tree),
        index=MemoryIndex(tree),
        state=MemoryState(),
        identity=KnownProjects(),
        clock=clock,
        remote=MemoryRemote(),
        sync_state=MemorySync(),
        serving=cast(Serving, None),
        engine=NoEngine(),
        machine="laptop",
        merge_lines=merge_lines,
        agents=MemoryAgents(),
        kinds=KnownAgents({}, "/nowhere"),
        settings=DiskSettings(clock.now),
        commands=Commands(shim="/opt/coffer-mcp-shim", hook="/opt/coffer-hook"),
    )


def failing(ports: Ports, refusal: CofferError | Exception) -> None:
    """Make every later write fail so."""
    tree = ports.tree
    assert isinstance(tree, MemoryTree)
    tree.refusal = refusal
