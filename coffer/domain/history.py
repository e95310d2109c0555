"""The past of the memory tree, as it crosses from one layer to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A state of the memory tree: a commit, and the time that it bears."""

    commit: str
    time: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's bytes before a commit and after it, None where there was none; `path` is tree-relative."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Operation:
    """One commit with all that it changed against its first parent; `parents` is how many it has."""

    commit: str
    subject: str
    parents: int
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A file that differs between two moments; `diff` is None for one that isn't text, or is too much to show."""

    path: str
    status: Status
    diff: str | None


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """One line of a file, and the commit that wrote it."""

    commit: str
    time: str
    actor: str | None
    agent: str | None
    session: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of an undo: its own commit, or why there is none yet; the files are as they were either way."""

    undone: str
    commit: str | None
    subject: str
    paths: tuple[str, ...]
    pending_reason: str | None
