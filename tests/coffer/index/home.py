"""A home for tests: stores of real files, and an index over them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from coffer.infrastructure.failpoints import Reached, ignore
from coffer.infrastructure.index.mirror import Match, SearchIndex, StoreFiles
from lanes.knowledge import new_fact
from lanes.names import ulid

PROJECT = "project-01ARZ3NDEKTSV4RRFFQ69G5FAV"
LANES = ("inbox", "topic")
NOON = "2026-11-30T12:00:00Z"


def fact_id(name: str) -> str:
    """Return the ULID that this name always has."""
    return ulid(1_790_000_000_000, hashlib.sha256(name.encode()).digest()[:10])


def no_secret(text: str) -> str | None:
    return None


class Home:
    """A folder with stores and an index file. `now` is far from any file's time, so that none is racy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = str(folder / "index.sqlite")
        self.stores = ["global"]
        self.inspect = no_secret
        self.reached: Reached = ignore
        self.now = 4_000_000_000 * 10**9

    def file(self, path: str, store: str = "global") -> Path:
        return self.folder / "memory" / store / path

    def write(self, path: str, content: str | bytes, store: str = "global", mtime: int | None = None) -> Path:
        """Write a file of a store as an editor does that saves in place."""
        file = self.file(path, store)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        if mtime is not None:
            os.utime(file, (mtime, mtime))
        if store not in self.stores:
            self.stores.append(store)
        return file

    def fact(
        self,
        name: str,
        text: str,
        *,
        title: str | None = None,
        store: str = "global",
        time: str = NOON,
        agent: str | None = None,
    ) -> Path:
        """Write a fact as Coffer does; `name` decides its file and its id."""
        content = new_fact(
            fact_id=fact_id(name),
            title=title,
            description=None,
            text=text,
            actor="agent" if agent else "user",
            agent=agent,
            origin_session_id=None,
            now=time,
        )
        return self.write(f"knowledge/inbox/{time[:7]}/{name}.md", content, store)

    def open(self) -> SearchIndex:
        return SearchIndex(self.path, inspect=self.inspect, reached=self.reached, now=lambda: self.now)

    def files(self, stores: Sequence[str] | None = None) -> list[StoreFiles]:
        return [
            StoreFiles(store, str(self.folder / "memory" / store))
            for store in (self.stores if stores is None else stores)
        ]

    def recall(
        self, index: SearchIndex, query: str, stores: Sequence[str] | None = None, limit: int = 10
    ) -> list[Match]:
        """Ask as Coffer does: first reconcile, then search."""
        index.reconcile(self.files())
        return index.search(query, self.stores if stores is None else stores, limit)

    def found(self, index: SearchIndex, query: str, stores: Sequence[str] | None = None) -> list[str]:
        """Return the file names (without .md) of what is recalled, best first."""
        return [Path(match.document.path).stem for match in self.recall(index, query, stores)]


def statements(index: SearchIndex) -> list[str]:
    """Return a list that every later SQL statement of the writing connection is added to."""
    seen: list[str] = []
    index._database.connections.writer.set_trace_callback(seen.append)
    return seen
