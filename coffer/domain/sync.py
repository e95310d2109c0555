"""Sync: what is set, what the last run did, and when a person has to be asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from lanes import lane_of
from lanes.layout import store_of

UNRELATED, REWRITTEN, REMOVAL, MOVED_BACK, SECRET = REASONS = (
    "unrelated_history",
    "rewritten_history",
    "mass_removal",
    "branch_moved_back",
    "secret_found",
)
DEFAULT_INTERVAL = 300
INTERVALS = range(10, 86_400 + 1)

_SHARE, _LEAST = 0.2, 10

State = Literal["off", "idle", "running", "paused", "failing"]
Result = Literal["synced", "nothing", "paused", "failed"]


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """Where the memory is synced to, and whether by itself: after writes, and every `interval_seconds`."""

    url: str
    automatic: bool = True
    interval_seconds: int = DEFAULT_INTERVAL


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one exchange with the remote did: commits taken in and handed over, files that were given other names."""

    pulled: int = 0
    pushed: int = 0
    renamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncRun:
    """One run as it ended; `question` is the reason of a pause, `asked` what exactly it is about."""

    result: Result
    at: str
    pulled: int = 0
    pushed: int = 0
    reason: str | None = None
    question: str | None = None
    asked: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that one machine removed and another edited: the edit stays until somebody says otherwise."""

    path: str
    etag: str
    since: str


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """How sync is; `ahead` and `behind` count commits against what was last seen of the remote.

    `renamed` are the files that came with the last run under names that not every machine can hold.
    """

    remote: str | None
    machine: str
    state: State
    reason: str | None
    question: str | None
    last_run_at: str | None
    last_success_at: str | None
    ahead: int
    behind: int
    renamed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two versions that nobody but a person can make one of. Without `other_path` the other side removed it."""

    path: str
    other_path: str | None
    store: str
    since: str


def is_text(path: str) -> bool:
    """Tell whether a path of the tree is one of a store's texts, as far as vanishing counts."""
    located = store_of(path)
    lane = lane_of(located[1]) if located else None
    return lane is not None and lane.synced and lane.name not in ("store", "superseded")


def is_mass_removal(gone: int, held: int) -> bool:
    """Tell whether so many of a store's texts vanish that a person has to be asked."""
    return gone >= _LEAST and gone > _SHARE * held


def vanished(removed: Mapping[str, bytes], written: Iterable[bytes]) -> dict[str, int]:
    """Count by store the removed texts that aren't in what was written instead.

    A text that was moved, merged into another or archived is there line by line; how it is framed doesn't count.
    """
    lines = {line.strip() for content in written for line in content.splitlines()}
    gone: dict[str, int] = {}
    for path, content in removed.items():
        located = store_of(path)
        if located and not said(content) <= lines:
            gone[located[0]] = gone.get(located[0], 0) + 1
    return gone


def said(content: bytes) -> set[bytes]:
    """Return the lines of a text, whatever frames them."""
    return {line.strip() for line in _body(content).splitlines()} - {b""}


def _body(content: bytes) -> bytes:
    """Return what stands below the front matter."""
    if not content.startswith(b"---"):
        return content
    return content.partition(b"\n---")[2].partition(b"\n")[2] or content
