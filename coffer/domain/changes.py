"""What a use case wants done to the memory tree, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from coffer.domain.facts import Caller

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change:
    """New bytes for one file of the tree, or None to remove it; `path` is tree-relative."""

    path: str
    content: bytes | None


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """One operation: it becomes exactly one commit, and either all of its files change or none."""

    op: str
    subject: str
    store: str
    caller: Caller
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Planned(Generic[T]):
    """A plan's result; `change_set` is None when nothing has to be written."""

    result: T
    change_set: ChangeSet | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a change set: its commit, or why there is none yet (the files are in place either way)."""

    commit: str | None = None
    pending_reason: str | None = None


class TreeView(Protocol):
    """The memory tree as a plan sees it: the disk, with the earlier operations of the same batch applied."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, None when there is none."""

    def files(self, folder: str) -> list[str]:
        """Return the tree-relative paths of all files below `folder`, sorted."""


Plan = Callable[[TreeView], Planned[T]]
"""Decides on the writer's thread what to change. It may run again when somebody edits a file meanwhile,
so it has no side effects of its own. Refusals are raised from it."""


def etag_of(content: bytes) -> str:
    """Return the git blob id of `content`, which names a file's exact bytes."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
