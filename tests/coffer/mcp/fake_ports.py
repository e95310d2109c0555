"""Ports that keep everything in memory, with switches for what a test wants to go wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import trio

from coffer.application.remember import fact_from
from coffer.domain.activity import AuditEvent, Invocation
from coffer.domain.changes import Plan, Written
from coffer.domain.facts import CommitInfo, Fact, Hit
from coffer.domain.ports import Ports
from coffer.domain.stores import Project, StoreRef, project_id
from gitsync.merge_lines import merge_lines
from lanes.layout import store_of
from lanes.names import ulid


@dataclass
class FakeView:
    held: Mapping[str, bytes]

    def files(self, folder: str) -> list[str]:
        return sorted(path for path in self.held if path.startswith(f"{folder}/"))

    def read(self, path: str) -> bytes | None:
        return self.held.get(path)


class FakeTree:
    root = "/memory"

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.pending_reason: str | None = None
        self.gate: trio.Event | None = None
        self.writing = trio.Event()

    async def write(self, plan: Plan[Any]) -> tuple[Any, Written]:
        self.writing.set()
        if self.gate is not None:
            await self.gate.wait()
        planned = plan(FakeView(self.held))
        for change in planned.change_set.changes if planned.change_set else ():
            if change.content is None:
                del self.held[change.path]
            else:
                self.held[change.path] = change.content
        return planned.result, Written(None if self.pending_reason else "c0ffee", self.pending_reason)

    async def read(self, path: str) -> bytes | None:
        return self.held.get(path)

    async def present(self, paths: Sequence[str]) -> list[str]:
        return [path for path in paths if path in self.held]

    async def pending(self) -> dict[str, str]:
        return {}

    async def stores(self) -> list[StoreRef]:
        folders = {found[0] for path in self.held if (found := store_of(path)) is not None}
        return [StoreRef(folder.rpartition("/")[2]) for folder in sorted(folders - {"global"})]

    async def files(self, folder: str) -> list[tuple[str, int]]:
        return [(path, len(self.held[path])) for path in FakeView(self.held).files(folder)]


class FakeIndex:
    def __init__(self, tree: FakeTree) -> None:
        self._tree = tree
        self.gate: trio.Event | None = None
        self.searching = trio.Event()
        self.fault: Exception | None = None
        self.limits: list[int] = []
        self.queries: list[str] = []

    async def search_each(
        self, queries: Sequence[str], stores: Sequence[StoreRef], limit: int
    ) -> list[list[Hit]]:
        return [await self.search(query, stores, limit) for query in queries]

    async def search(self, query: str, stores: Sequence[StoreRef], limit: int) -> list[Hit]:
        self.searching.set()
        self.limits.append(limit)
        self.queries.append(query)
        if self.fault is not None:
            raise self.fault
        if self.gate is not None:
            await self.gate.wait()
        words = query.lower().split()
        found = [
            Hit(fact.id, store.name, store.scope, fact.path, fact.title, fact.text, 1.0, fact.updated_at)
            for store in stores
            for fact in self._facts(store)
            if any(word in fact.text.lower() for word in words)
        ]
        return found[:limit]

    async def facts(
        self, store: StoreRef, lane: str | None, limit: int, offset: int
    ) -> tuple[list[Fact], int]:
        held = self._facts(store)
        return held[offset : offset + limit], len(held)

    async def fact(self, store: StoreRef, fact_id: str) -> Fact | None:
        return next((fact for fact in self._facts(store) if fact.id == fact_id), None)

    async def refresh(self, store: StoreRef) -> None:
        pass

    async def prepare(self, store: StoreRef) -> None:
        pass

    def holders(self, store: StoreRef, text: str) -> list[str]:
        return [fact.path for fact in self._facts(store) if fact.text == text]

    def note(self, store: StoreRef, text: str, path: str) -> None:
        pass

    def _facts(self, store: StoreRef) -> list[Fact]:
        held = self._tree.held
        paths = [path for path in FakeView(held).files(f"{store.folder}/knowledge") if path.endswith(".md")]
        facts = [fact_from(store, path, held[path]) for path in paths]
        return sorted(facts, key=lambda fact: fact.id, reverse=True)


@dataclass
class FakeState:
    audits: list[AuditEvent] = field(default_factory=list)
    calls: list[Invocation] = field(default_factory=list)
    known_roots: dict[str, str] = field(default_factory=dict)

    def audit(self, event: AuditEvent) -> None:
        self.audits.append(event)

    def invoked(self, invocation: Invocation) -> None:
        self.calls.append(invocation)

    async def roots(self) -> Mapping[str, str]:
        return self.known_roots

    def found_root(self, store: str, root: str) -> None:
        self.known_roots[store] = root

    def forget_root(self, store: str) -> None:
        self.known_roots.pop(store, None)


class FakeIdentity:
    """Every folder below /projects is a project of its own; between two commits of it lie two."""

    head = "c" * 40

    async def project(self, folder: str) -> Project | None:
        if not folder.startswith("/projects/"):
            return None
        root = "/".join(folder.split("/")[:3])
        return Project(StoreRef(project_id(root)), root, "main", self.head, None)

    async def commits_since(self, root: str, commit: str, head: str) -> int | None:
        return 2


class FakeClock:
    def __init__(self) -> None:
        self.ticks = 0

    def now(self) -> str:
        return "2026-11-30T12:00:00Z"

    def milliseconds(self) -> int:
        self.ticks += 1
        return 1_800_000_000_000 + self.ticks

    def elapsed(self) -> float:
        self.ticks += 1
        return self.ticks / 1000

    def new_id(self) -> str:
        return ulid(self.milliseconds(), bytes(10))


class FakeHistory:
    async def commits(self, prefix: str, limit: int, before: str | None) -> list[CommitInfo]:
        return []


@dataclass
class Fakes:
    tree: FakeTree = field(default_factory=FakeTree)
    state: FakeState = field(default_factory=FakeState)
    clock: FakeClock = field(default_factory=FakeClock)
    identity: FakeIdentity = field(default_factory=FakeIdentity)
    index: FakeIndex = field(init=False)

    def __post_init__(self) -> None:
        self.index = FakeIndex(self.tree)

    def ports(self) -> Ports:
        parts: dict[str, Any] = {
            "tree": self.tree,
            "history": FakeHistory(),
            "index": self.index,
            "state": self.state,
            "identity": self.identity,
            "clock": self.clock,
            "machine": "laptop",
            "merge_lines": merge_lines,
            **dict.fromkeys(
                (
                    "past",
                    "agents",
                    "kinds",
                    "settings",
                    "commands",
                    "remote",
                    "sync_state",
                    "serving",
                    "engine",
                )
            ),  # MCP has nothing to do with them
        }
        return Ports(**parts)
