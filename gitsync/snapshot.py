"""The tree as it was: at a time, in a commit, and what is different between two commits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gitsync.changed_paths import past
from gitsync.repo import Repository


@dataclass(frozen=True, slots=True)
class Difference:
    """One file and its blobs in two commits, None where it wasn't."""

    path: str
    old: str | None
    new: str | None


def commit_at(repo: Repository, time: int) -> str | None:
    """Return the newest commit not later than a Unix time, None when the past begins after it.

    It is sought along first parents, so it is always a state that this branch was in, as a whole: what another
    machine had by then counts from the commit that took it in.
    """
    commits = {changed.commit: changed for changed in past(repo)}
    at = repo.head()
    while at and commits[at].time > time:
        at = commits[at].parents[0] if commits[at].parents else None
    return at


def files_at(repo: Repository, commit: str, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and bytes of every plain file below a folder as it was in a commit, by path."""
    objects = repo.objects
    below = objects.folder_at(objects.tree_of(commit), folder)
    for path, mode, blob in objects.files(below, f"{folder}/" if folder else ""):
        if mode >> 12 == 0o10:
            yield path, objects.read(blob)


def changes(repo: Repository, old: str | None, new: str | None, folder: str = "") -> list[Difference]:
    """Return the files below a folder that differ between two commits, by path; None is before the first."""
    objects = repo.objects
    before, after = (objects.folder_at(objects.tree_of(commit), folder) for commit in (old, new))
    prefix = f"{folder}/" if folder else ""
    return [
        Difference(path, was, now)
        for path, was, now in objects.differences(before, after, prefix)
        if was != now
    ]
