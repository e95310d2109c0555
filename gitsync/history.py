"""What was committed: of a path, of a folder, of the whole tree.

A folder that a commit left alone has the same id before and after, so most commits are passed by after reading
a tree or two, however many files there are.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import pygit2

from gitsync.errors import UnknownCommit
from gitsync.objects import Commit, Objects, blob_id
from gitsync.repo import Repository
from gitsync.step import Signature

__all__ = ["Entry", "blob_id", "deleted_path", "history", "read_at"]

_ABBREVIATED = re.compile(r"[0-9a-f]{4,40}", re.IGNORECASE)
_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*): (.*)")
_AUTHOR = re.compile(r"(.*?) ?<([^<>]*)>")


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit: when and by whom, its subject and trailers, and the paths that it changed."""

    commit: str
    time: int
    subject: str
    trailers: Mapping[str, str]
    author: Signature
    paths: tuple[str, ...]


def history(repo: Repository, prefix: str = "", limit: int = 50, before: str | None = None) -> list[Entry]:
    """Return the newest `limit` commits that changed `prefix`, a file or a folder, newest first.

    With `before`, those that come after that commit in the list. A merge counts when it differs from all of its
    parents; its paths are what differs from the first. Raises UnknownCommit when `before` isn't a commit.
    """
    skip_to = _full_id(repo, before) if before else None
    parts = [part for part in prefix.split("/") if part]
    entries: list[Entry] = []
    for commit, parents in _commits(repo):
        if skip_to:
            skip_to = None if commit.id == skip_to else skip_to
        elif len(entries) == limit:
            break
        elif all(_differs(repo.objects, parent, commit.tree, parts) for parent in parents):
            entries.append(_entry(repo.objects, commit, parents[0], "/".join(parts)))
    return entries


def read_at(repo: Repository, commit: str, path: str) -> bytes | None:
    """Return a file as it was in a commit, given by its id or the unique beginning of it; None if it wasn't.

    Raises UnknownCommit.
    """
    oid = repo.objects.blob_at(repo.objects.tree_of(_full_id(repo, commit)), path)
    return repo.objects.read(oid) if oid else None


def deleted_path(repo: Repository, prefix: str, suffix: str) -> str | None:
    """Return the path below the folder `prefix` that ends in `suffix` and was there last, None if none ever was."""
    objects = repo.objects
    parts = [part for part in prefix.split("/") if part]
    start = "".join(f"{part}/" for part in parts)

    def lost(old: str | None, new: str | None) -> str | None:
        if not _differs(objects, old, new, parts):
            return None
        before, after = (_folder(objects, tree, parts) for tree in (old, new))
        gone = (path for path, _, now in objects.differences(before, after, start) if now is None)
        return next((path for path in gone if path.endswith(suffix)), None)

    pairs = ((parent, commit.tree) for commit, parents in _commits(repo) for parent in parents)
    for old, new in chain([(objects.tree_of(repo.head()), None)], pairs):
        if path := lost(old, new):
            return path
    return None


def _commits(repo: Repository) -> Iterator[tuple[Commit, Sequence[str | None]]]:
    """Yield each commit with the trees of its parents, or one None at the root; by time, newest first."""
    objects = repo.objects
    head = repo.head()
    seen = {head}
    waiting: list[tuple[int, int, Commit]] = []
    if head:
        heapq.heappush(waiting, (0, 0, objects.commit(head)))
    while waiting:
        _, _, commit = heapq.heappop(waiting)
        parents = [objects.commit(parent) for parent in commit.parents]
        yield commit, [parent.tree for parent in parents] or [None]
        for parent in parents:
            if parent.id not in seen:
                seen.add(parent.id)
                heapq.heappush(waiting, (-parent.time, len(seen), parent))


def _differs(objects: Objects, old: str | None, new: str | None, parts: Sequence[str]) -> bool:
    """Tell whether the path of `parts` differs between two trees, reading no more of them than it takes."""
    for part in parts:
        if old == new:
            return False
        old, new = (objects.child(tree, part) if tree else None for tree in (old, new))
    return old != new


def _folder(objects: Objects, tree: str | None, parts: Sequence[str]) -> str | None:
    for part in parts:
        tree = objects.folder(tree).find(part, folder=True)
    return tree


def _entry(objects: Objects, commit: Commit, parent: str | None, prefix: str) -> Entry:
    text = commit.message.decode("utf-8", "replace").strip()
    author = _AUTHOR.match(commit.author.decode("utf-8", "replace"))
    paths = (path for path, _, _ in objects.differences(parent, commit.tree))
    return Entry(
        commit=commit.id,
        time=commit.time,
        subject=commit.subject,
        trailers=_trailers(text),
        author=Signature(author[1], author[2]) if author else Signature("", ""),
        paths=tuple(path for path in paths if not prefix or path == prefix or path.startswith(prefix + "/")),
    )


def _trailers(message: str) -> dict[str, str]:
    """Return the `Key: value` lines of the last paragraph, when it has no others and isn't the subject."""
    *above, last = message.split("\n\n")
    found = [_TRAILER.fullmatch(line) for line in last.splitlines()]
    return {match[1]: match[2] for match in found if match} if above and all(found) else {}


def _full_id(repo: Repository, commit: str) -> str:
    if not _ABBREVIATED.fullmatch(commit):
        raise UnknownCommit(commit)
    try:
        found = repo.git[commit.lower()]
    except (KeyError, ValueError, pygit2.GitError):
        raise UnknownCommit(commit) from None
    if not isinstance(found, pygit2.Commit):
        raise UnknownCommit(commit)
    return str(found.id)
