"""What goes into the index and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """A store by name, and the absolute folder its files are in."""

    name: str
    folder: str


@dataclass(frozen=True, slots=True)
class Document:
    """One recalled text as its file had it when it was last readable.

    `path` is inside the store. Times are ISO 8601 UTC in whole seconds: what the file says of itself, else
    the file's modification time. `etag` is the git blob id of the file. `minted` is False for a file that
    is known by its path, because it carries no id or a twin's.
    """

    store: str
    id: str
    path: str
    lane: str
    title: str
    description: str
    actor: str
    agent: str | None
    origin_session_id: str | None
    created_at: str
    updated_at: str
    text: str
    etag: str
    minted: bool


@dataclass(frozen=True, slots=True)
class Match:
    """A found document with its best passage; a `score` of about 1 means every word of the query was found."""

    document: Document
    passage: str
    score: float


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that a person should look at, and why. The rest of the store is served all the same."""

    store: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class IndexState:
    """How the index is kept; `reason` says why it isn't on file, `set_aside` where a damaged one was put."""

    driver: str
    sqlite_version: str
    place: Literal["file", "memory"]
    documents: int
    reason: str | None
    set_aside: str | None
