"""The whole past as commits with the paths that each changed, worked out once and kept in a file.

To tell whether a commit changed a path, the folders above it are read as they were before and after; the tree of
a folder with ten thousand files is more than half a megabyte, too much to read for every commit of a long history.
A commit never changes, so nor does what is kept of it; to lose the file costs time, nothing else.
"""

from __future__ import annotations

import heapq
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pygit2

from gitsync.errors import Damaged
from gitsync.objects import EMPTY_TREE
from gitsync.repo import Repository

FILE = "changed-paths"
_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0([\s\S]{20})")
_FILE_MODE = b"100644 "
_LONGEST_ENTRY = 320  # bytes: a name of 255, its mode and its id


@dataclass(frozen=True, slots=True)
class Changed:
    """One commit, its time in Unix seconds, and the files in which it differs from its first parent."""

    commit: str
    time: int
    parents: tuple[str, ...]
    paths: tuple[str, ...]


def past(repo: Repository) -> Iterator[Changed]:
    """Yield all commits of the branch that is checked out, by time, newest first."""
    kept = _Kept(repo)
    tip = repo.head()
    seen = {tip}
    waiting: list[tuple[int, int, Changed]] = []
    try:
        if tip:
            waiting.append((0, 0, kept.of(tip)))
        while waiting:
            _, _, changed = heapq.heappop(waiting)
            yield changed
            for parent in changed.parents:
                if parent not in seen:
                    seen.add(parent)
                    above = kept.of(parent)
                    heapq.heappush(waiting, (-above.time, len(seen), above))
    finally:
        kept.save()


def keep_up(repo: Repository) -> None:
    """Work out what isn't kept of the newest commits, so that nobody has to wait for it; raises Damaged."""
    kept = _Kept(repo)
    waiting = [repo.head()]
    try:
        while waiting:
            commit = waiting.pop()
            if commit and not kept.has(commit):
                waiting += kept.of(commit).parents
    finally:
        kept.save()


class _Kept:
    """What is kept of each commit, completed as it is asked for."""

    def __init__(self, repo: Repository) -> None:
        self._objects = repo.objects
        self._packs = pygit2.OdbBackendPack(os.path.join(repo.folder, "objects"))
        self._file = os.path.join(repo.scratch, FILE)
        self._last: dict[int, tuple[str, bytes]] = {}
        self._new: list[bytes] = []
        self._lines: dict[str, bytes] = {}
        with suppress(OSError), open(self._file, "rb") as file:
            self._lines = {line[2:42].decode("ascii", "replace"): line for line in file}

    def has(self, oid: str) -> bool:
        """Tell whether something is kept of a commit."""
        return oid in self._lines

    def of(self, oid: str) -> Changed:
        """Return what a commit changed, nothing where its trees are damaged; raises Damaged when it is itself."""
        if line := self._lines.get(oid):
            with suppress(ValueError, TypeError):  # a line that was half written, or is two in one
                commit, time, parents, paths = json.loads(line)
                return Changed(commit, time, tuple(parents), tuple(paths))
        commit = self._objects.commit(oid)
        before = self._objects.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
        try:
            paths = tuple(self._differing(before, commit.tree, ""))
        except Damaged:
            return Changed(oid, commit.time, commit.parents, ())  # not kept: somebody may mend it
        changed = Changed(oid, commit.time, commit.parents, paths)
        told = [changed.commit, changed.time, changed.parents, changed.paths]
        self._lines[oid] = json.dumps(told, separators=(",", ":")).encode() + b"\n"
        self._new.append(self._lines[oid])
        return changed

    def save(self) -> None:
        """Keep what had to be worked out; where that is impossible it is worked out again."""
        if self._new:
            with suppress(OSError):
                os.makedirs(os.path.dirname(self._file), mode=0o700, exist_ok=True)
                with open(self._file, "ab") as file:
                    file.write(b"".join(self._new))

    def _differing(self, old: str, new: str, prefix: str) -> Iterator[str]:
        if old == new:
            return
        depth = prefix.count("/")
        trees = _without_common(self._tree(new, depth), self._tree(old, depth))
        after, before = map(_entries, trees)
        for key in sorted(before.keys() | after.keys()):
            was, now = before.get(key), after.get(key)
            if was == now:
                continue
            path = prefix + key.decode("utf-8", "surrogateescape")
            if key.endswith(b"/"):
                yield from self._differing(was or EMPTY_TREE, now or EMPTY_TREE, path)
            else:
                yield path

    def _tree(self, oid: str, depth: int) -> bytes:
        """Return a tree's bytes, from a pack without the check of its hash, which would take longer than all else.

        What one commit had before is mostly what the next one, older, has after: the last of each depth is kept.
        """
        if oid == EMPTY_TREE:
            return b""
        if self._last.get(depth, ("",))[0] != oid:
            try:
                data = self._packs.read(oid)[1]
            except (KeyError, ValueError, OSError, pygit2.GitError):
                data = self._objects.read(oid)
            self._last[depth] = (oid, data)
        return self._last[depth][1]


def _without_common(one: bytes, other: bytes) -> tuple[bytes, bytes]:
    """Return two trees without most of the entries that both begin and end with.

    Where a cut falls into the name of an entry instead of before one, that entry is in neither or the same in both.
    """
    head = _common(one, other, False)
    start = max(0, one.rfind(_FILE_MODE, 0, max(0, head - _LONGEST_ENTRY)))
    one, other = one[start:], other[start:]
    end = one.find(_FILE_MODE, len(one) - _common(one, other, True) + _LONGEST_ENTRY)
    tail = len(one) - end if end >= 0 else 0
    return one[: len(one) - tail], other[: len(other) - tail]


def _common(one: bytes, other: bytes, from_end: bool) -> int:
    """Return how many bytes two texts have in common at the beginning, or at the end."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if from_end:
            same = one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]
        else:
            same = one[low:middle] == other[low:middle]
        low, high = (middle, high) if same else (low, middle - 1)
    return low


def _entries(tree: bytes) -> dict[bytes, str]:
    """Return the id of each entry by its name, a folder's with a slash."""
    return {name + b"/" if mode == b"40000" else name: oid.hex() for mode, name, oid in _ENTRY.findall(tree)}
