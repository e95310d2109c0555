"""Recall: bring the index up to date with the files, then find the passages that answer a query."""

from __future__ import annotations

from collections.abc import Sequence

from coffer.application.past import moment_of
from coffer.domain.errors import ConfigInvalid
from coffer.domain.facts import MAX_QUERY_CHARS, Hit
from coffer.domain.ports import Ports
from coffer.domain.stores import GLOBAL, Scope, StoreRef

DEFAULT_TOP_K = 5
MAX_TOP_K = 20


async def recall(
    ports: Ports, stores: Sequence[StoreRef], query: str, top_k: int = DEFAULT_TOP_K, at: str | None = None
) -> list[Hit]:
    """Return the best passages of `stores`, best first; files changed by anybody are seen as they are now.

    A long query is cut, `top_k` is kept between 1 and 20, and no query is an error:
    an empty list means that nothing shares a word with it.
    Whatever a store's retrieval modes ask for, what can't run here (vectors without an embedder)
    leaves the keyword answer.
    With `at`, a commit or a time, the answer is that of the memory as it was then.
    """
    query, limit = query[:MAX_QUERY_CHARS], max(1, min(MAX_TOP_K, top_k))
    if at is None:
        return await ports.index.search(query, stores, limit)
    moment = await moment_of(ports, at, "at")
    return await ports.past.search(moment.commit, query, stores, limit) if moment else []


def stores_for(store: StoreRef, scope: Scope) -> list[StoreRef]:
    """Return the stores that a recall addressed to `store` reads."""
    if scope == "global" or store.is_global:
        if scope == "project":
            raise ConfigInvalid("scope", "the global store has no project; use global or both")
        return [GLOBAL]
    return [store] if scope == "project" else [store, GLOBAL]
