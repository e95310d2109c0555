"""Facts and recall hits, as they cross from one layer to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Actor = Literal["user", "agent", "system"]
FactLane = Literal["inbox", "topic"]

MAX_QUERY_CHARS = 4096
MAX_TITLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a person, an agent by name, or Coffer itself; `folder` is where they work."""

    actor: Actor = "user"
    agent: str | None = None
    session: str | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact or topic document; `path` is relative to the memory tree, `etag` names the file's bytes."""

    id: str
    store: str
    lane: FactLane
    title: str
    description: str
    text: str
    actor: str
    agent: str | None
    origin_session_id: str | None
    path: str
    created_at: str
    updated_at: str
    etag: str
    pending_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a text: `status` is `created`, or `exists` when the store held it already."""

    fact: Fact
    status: Literal["created", "exists"]


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled passage; `score` is a confidence: about 1 when every query word was found, under 0.4 weak."""

    id: str
    store: str
    scope: Literal["project", "global"]
    path: str
    title: str
    text: str
    score: float
    time: str
    lane: str = "inbox"
    actor: str = "user"
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a fact in history; `text` is None where the commit deleted it."""

    commit: str
    time: str
    op: str | None
    actor: str | None
    agent: str | None
    session: str | None
    subject: str
    path: str
    text: str | None


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """One commit of the memory tree, read from its trailers."""

    commit: str
    time: str
    op: str | None
    actor: str | None
    agent: str | None
    session: str | None
    subject: str
    paths: tuple[str, ...]
