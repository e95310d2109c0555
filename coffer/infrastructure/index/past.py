"""The index as it would have been: made in memory of the files of a commit, and kept for the next question."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import trio

from coffer.domain.errors import MemoryNotFound, StoreReadOnly
from coffer.domain.facts import Fact, Hit
from coffer.domain.stores import StoreRef
from coffer.infrastructure.failpoints import ignore
from coffer.infrastructure.index import schema
from coffer.infrastructure.index.connections import Connections
from coffer.infrastructure.index.database import Database
from coffer.infrastructure.index.readers import TOPS
from coffer.infrastructure.index.threaded import fact_of, hit_of
from coffer.infrastructure.signatures import COFFER
from gitsync.errors import RepositoryUnusable, UnknownCommit
from gitsync.history import full_id
from gitsync.repo import Repository
from gitsync.snapshot import files_at

T = TypeVar("T")

_KEPT = 2


class PastIndex:
    """Answers from the commits of the repository at `root`, of each question's stores alone."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._made: OrderedDict[tuple[str, tuple[str, ...]], Database] = OrderedDict()
        self._thread = trio.CapacityLimiter(1)

    async def search(self, commit: str, query: str, stores: Sequence[StoreRef], limit: int) -> list[Hit]:
        names = [store.name for store in stores]

        def work(database: Database) -> list[Hit]:
            found = database.search(query, names, limit)
            return [hit_of(match.document, match.passage, match.score) for match in found]

        return await self._run(commit, stores, work)

    async def facts(
        self, commit: str, store: StoreRef, lane: str | None, limit: int, offset: int
    ) -> tuple[list[Fact], int]:
        lanes = ("inbox", "topic") if lane is None else (lane,)

        def work(database: Database) -> tuple[list[Fact], int]:
            documents, total = database.documents(store.name, lanes, limit, offset)
            return [fact_of(document) for document in documents], total

        return await self._run(commit, [store], work)

    async def _run(self, commit: str, stores: Sequence[StoreRef], work: Callable[[Database], T]) -> T:
        key = commit, tuple(sorted(store.name for store in stores))

        def on_thread() -> T:
            if key not in self._made:
                self._made[key] = self._make(commit, stores)
            self._made.move_to_end(key)
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)[1].close(None)
            return work(self._made[key])

        try:
            return await trio.to_thread.run_sync(on_thread, limiter=self._thread)
        except UnknownCommit as error:
            raise MemoryNotFound(f"Commit {commit!r}", "the memory tree") from error
        except RepositoryUnusable as error:
            raise StoreReadOnly(self._root, error.reason) from error

    def _make(self, commit: str, stores: Sequence[StoreRef]) -> Database:
        repository = Repository.open(self._root, COFFER)
        moment = repository.objects.commit(full_id(repository, commit)).time * 1_000_000_000
        connections = Connections(None)
        schema.create(connections.writer)
        database = Database(connections, lambda text: None, lambda store, path: None, ignore, lambda: moment)
        for store in stores:
            database.take(store.name, _recalled(repository, commit, store), moment)
        return database


def _recalled(repository: Repository, commit: str, store: StoreRef) -> Iterator[tuple[str, bytes]]:
    """Yield path and bytes of what a store had in the folders that are recalled."""
    for top in TOPS:
        for path, data in files_at(repository, commit, f"{store.folder}/{top}"):
            yield path.removeprefix(f"{store.folder}/"), data
