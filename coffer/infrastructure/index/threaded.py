"""The index as the use cases see it: every read first brings the stores it reads up to date, on one thread."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import trio

from coffer.domain.activity import Finding
from coffer.domain.facts import Fact, Hit
from coffer.domain.stores import StoreRef, store_named
from coffer.infrastructure.failpoints import Reached
from coffer.infrastructure.index.analyse import clean, question
from coffer.infrastructure.index.mirror import Document, SearchIndex, StoreFiles
from coffer.infrastructure.signatures import COFFER
from coffer.infrastructure.tree_files import stores_in
from gitsync.errors import GitError
from gitsync.history import read_at
from gitsync.repo import Repository

T = TypeVar("T")


class ThreadedIndex:
    """Serves the index of the memory tree at `root`; the file at `path` is opened at the first read."""

    def __init__(self, path: str, root: str, inspect: Callable[[str], str | None], reached: Reached) -> None:
        self._root = root
        self._new: Callable[[], SearchIndex] = partial(
            SearchIndex, path, inspect=inspect, committed=self._committed, reached=reached
        )
        self._index: SearchIndex | None = None
        self._noted: dict[tuple[str, bytes], str] = {}
        self._prepared: set[StoreRef] = set()
        self._thread = trio.CapacityLimiter(1)

    async def search(self, query: str, stores: Sequence[StoreRef], limit: int) -> list[Hit]:
        [hits] = await self.search_each([query], stores, limit)
        return hits

    async def search_each(
        self, queries: Sequence[str], stores: Sequence[StoreRef], limit: int
    ) -> list[list[Hit]]:
        names = [store.name for store in stores]

        def work(index: SearchIndex) -> list[list[Hit]]:
            index.reconcile([self._files(store) for store in stores])
            return [
                [
                    hit_of(match.document, match.passage, match.score)
                    for match in index.search(query, names, limit)
                ]
                for query in queries
            ]

        return await self._run(work)

    def terms(self, text: str) -> int:
        return len(question(clean(text)).weighed)

    async def facts(
        self, store: StoreRef, lane: str | None, limit: int, offset: int
    ) -> tuple[list[Fact], int]:
        lanes = ("inbox", "topic") if lane is None else (lane,)

        def work(index: SearchIndex) -> tuple[list[Fact], int]:
            index.reconcile([self._files(store)])
            documents, total = index.documents(store.name, lanes, limit, offset)
            return [fact_of(document) for document in documents], total

        return await self._run(work)

    async def fact(self, store: StoreRef, fact_id: str) -> Fact | None:
        def work(index: SearchIndex) -> Fact | None:
            index.reconcile([self._files(store)])
            document = index.document(store.name, fact_id)
            return fact_of(document) if document and document.lane in ("inbox", "topic") else None

        return await self._run(work)

    async def counts(self, store: StoreRef) -> Mapping[str, int]:
        def work(index: SearchIndex) -> Mapping[str, int]:
            index.reconcile([self._files(store)])
            return index.counts(store.name)

        return await self._run(work)

    async def refresh(self, store: StoreRef) -> None:
        await self._run(lambda index: index.reconcile([self._files(store)]))

    async def prepare(self, store: StoreRef) -> None:
        if store not in self._prepared:
            await self.refresh(store)
            self._prepared.add(store)

    def holders(self, store: StoreRef, text: str) -> list[str]:
        noted = self._noted.get(_key(store, text))
        indexed = self._index.holders(store.name, text) if self._index else []
        return [*([noted] if noted else []), *(f"{store.folder}/{path}" for path in indexed)]

    def note(self, store: StoreRef, text: str, path: str) -> None:
        self._noted[_key(store, text)] = path

    async def findings(self) -> list[Finding]:
        def work(index: SearchIndex) -> list[Finding]:
            state = index.state()
            found = []
            about = f"{state.documents} documents, SQLite {state.sqlite_version} ({state.driver})"
            if state.reason:
                found.append(
                    Finding(
                        "index",
                        "warning",
                        f"The index is kept in memory ({about}): {state.reason}. Recall answers the same, "
                        "the first one after each start is slower.",
                        "Free disk space or mend the permissions of index.sqlite.",
                    )
                )
            else:
                found.append(Finding("index", "ok", f"{about}."))
            for problem in index.problems():
                path = f"{store_named(problem.store).folder}/{problem.path}"
                found.append(
                    Finding(
                        "file",
                        "warning",
                        f"{path}: {problem.reason}.",
                        "Mend the file in an editor; until then its last readable version is recalled.",
                    )
                )
            return found

        return await self._run(work)

    async def close(self) -> None:
        """Close the file cleanly, so that the next start needn't check it."""
        if self._index is not None:
            await self._run(SearchIndex.close)

    async def _run(self, work: Callable[[SearchIndex], T]) -> T:
        def on_thread() -> T:
            if self._index is None:
                self._index = self._opened()
            return work(self._index)

        return await trio.to_thread.run_sync(on_thread, limiter=self._thread)

    def _opened(self) -> SearchIndex:
        """Open the index and meet every store: how rare a word is decides the ranking in all of them."""
        index = self._new()
        index.reconcile([self._files(store) for store in stores_in(self._root)])
        return index

    def _committed(self, store: str, path: str) -> bytes | None:
        try:
            repository = Repository.open(self._root, COFFER)
            head = repository.head()
            return read_at(repository, head, f"{store_named(store).folder}/{path}") if head else None
        except GitError:
            return None

    def _files(self, store: StoreRef) -> StoreFiles:
        return StoreFiles(store.name, f"{self._root}/{store.folder}")


def _key(store: StoreRef, text: str) -> tuple[str, bytes]:
    return store.name, hashlib.sha256(text.encode()).digest()


def fact_of(document: Document) -> Fact:
    """Return an indexed document as a fact."""
    store = store_named(document.store)
    return Fact(
        id=document.id,
        store=document.store,
        lane="topic" if document.lane == "topic" else "inbox",
        title=document.title,
        description=document.description,
        text=document.text,
        actor=document.actor,
        agent=document.agent,
        origin_session_id=document.origin_session_id,
        path=f"{store.folder}/{document.path}",
        created_at=document.created_at,
        updated_at=document.updated_at,
        etag=document.etag,
    )


def hit_of(document: Document, passage: str, score: float) -> Hit:
    """Return an indexed document and its best passage as a hit."""
    store = store_named(document.store)
    return Hit(
        id=document.id,
        store=document.store,
        scope=store.scope,
        path=f"{store.folder}/{document.path}",
        title=document.title,
        text=passage,
        score=score,
        time=document.updated_at,
        lane=document.lane,
        actor=document.actor,
        agent=document.agent,
    )
