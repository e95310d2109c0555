"""What was committed: of a path, of a folder, of the whole tree.

A commit that left the path alone is passed by without reading a tree, see `changed_paths`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pygit2

from gitsync.changed_paths import past
from gitsync.errors import UnknownCommit
from gitsync.objects import Commit, Objects, blob_id
from gitsync.repo import Repository
from gitsync.step import Signature

__all__ = ["Entry", "blob_id", "deleted_path", "entry_of", "full_id", "history", "read_at"]

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
    skip_to = full_id(repo, before) if before else None
    parts = [part for part in prefix.split("/") if part]
    inside = _below("/".join(parts))
    entries: list[Entry] = []
    for changed in past(repo):
        if skip_to:
            skip_to = None if changed.commit == skip_to else skip_to
        elif len(entries) == limit:
            break
        elif paths := tuple(filter(inside, changed.paths)):
            commit = repo.objects.commit(changed.commit)
            others = (repo.objects.tree_of(parent) for parent in changed.parents[1:])
            if all(_differs(repo.objects, other, commit.tree, parts) for other in others):
                entries.append(entry_of(commit, paths))
    return entries


def read_at(repo: Repository, commit: str, path: str) -> bytes | None:
    """Return a file as it was in a commit, given by its id or the unique beginning of it; None if it wasn't.

    Raises UnknownCommit.
    """
    oid = repo.objects.blob_at(repo.objects.tree_of(full_id(repo, commit)), path)
    return repo.objects.read(oid) if oid else None


def deleted_path(repo: Repository, prefix: str, suffix: str) -> str | None:
    """Return the path below the folder `prefix` that ends in `suffix` and was there last, None if none ever was."""
    inside = _below(prefix.strip("/"))
    for changed in past(repo):
        found = [path for path in changed.paths if path.endswith(suffix) and inside(path)]
        if found:
            tree = repo.objects.tree_of(changed.commit)
            return next((path for path in found if repo.objects.blob_at(tree, path)), found[0])
    return None


def full_id(repo: Repository, commit: str) -> str:
    """Return the whole id of a commit that is given by it or by the unique beginning of it; raises UnknownCommit."""
    if not _ABBREVIATED.fullmatch(commit):
        raise UnknownCommit(commit)
    try:
        found = repo.git[commit.lower()]
    except (KeyError, ValueError, pygit2.GitError):
        raise UnknownCommit(commit) from None
    if not isinstance(found, pygit2.Commit):
        raise UnknownCommit(commit)
    return str(found.id)


def _below(prefix: str) -> Callable[[str], bool]:
    return lambda path: not prefix or path == prefix or path.startswith(f"{prefix}/")


def _differs(objects: Objects, old: str | None, new: str | None, parts: Sequence[str]) -> bool:
    """Tell whether the path of `parts` differs between two trees, reading no more of them than it takes."""
    for part in parts:
        if old == new:
            return False
        old, new = (objects.child(tree, part) if tree else None for tree in (old, new))
    return old != new


def entry_of(commit: Commit, paths: tuple[str, ...] = ()) -> Entry:
    """Return what a commit tells of itself, and of these paths."""
    text = commit.message.decode("utf-8", "replace").strip()
    author = _AUTHOR.match(commit.author.decode("utf-8", "replace"))
    return Entry(
        commit=commit.id,
        time=commit.time,
        subject=commit.subject,
        trailers=_trailers(text),
        author=Signature(author[1], author[2]) if author else Signature("", ""),
        paths=paths,
    )


def _trailers(message: str) -> dict[str, str]:
    """Return the `Key: value` lines of the last paragraph, when it has no others and isn't the subject."""
    *above, last = message.split("\n\n")
    found = [_TRAILER.fullmatch(line) for line in last.splitlines()]
    return {match[1]: match[2] for match in found if match} if above and all(found) else {}
