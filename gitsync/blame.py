"""Who wrote each line of a file: the commit that brought it, followed through merges and renames."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from gitsync.changed_paths import Changed, past
from gitsync.errors import Damaged
from gitsync.line_diff import common_lines, count_lines
from gitsync.objects import Objects
from gitsync.repo import Repository

Lines = dict[int, int]
"""Line of a version to line of the file as it is now; both from 0."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its line break, and the commit that it came with."""

    commit: str
    text: bytes


def blame(repo: Repository, path: str) -> list[Line] | None:
    """Return the lines of a file as it was last committed, None when it isn't committed.

    As git does it: each commit passes on to its parents the lines that they have too, and what no parent has is
    its own. A file that a parent hasn't is sought there under the name that lost the same content.
    """
    objects = repo.objects
    tip = repo.head()
    blob = objects.blob_at(objects.tree_of(tip), path) if tip else None
    if tip is None or blob is None:
        return None
    content = objects.read(blob)
    wrote = [tip] * count_lines(content)
    search = _Search({changed.commit: changed for changed in past(repo)}, objects)
    search.give(tip, path, {line: line for line in range(len(wrote))})
    while search.waiting:
        commit, path, lines = search.take()
        for line in search.pass_on(commit, path, lines).values():
            wrote[line] = commit
    return [Line(commit, text) for commit, text in zip(wrote, _lines(content), strict=True)]


class _Search:
    """The lines whose commit is still sought, by the version that has them; newest first."""

    def __init__(self, commits: Mapping[str, Changed], objects: Objects) -> None:
        self._commits = commits
        self._objects = objects
        self._held: dict[tuple[str, str], Lines] = {}
        self.waiting: list[tuple[int, str, str]] = []

    def give(self, commit: str, path: str, lines: Lines) -> None:
        """Add lines of a version to those that are sought."""
        if (commit, path) not in self._held:
            heapq.heappush(self.waiting, (-self._commits[commit].time, commit, path))
        self._held.setdefault((commit, path), {}).update(lines)

    def take(self) -> tuple[str, str, Lines]:
        """Remove the newest version and return it with its lines."""
        _, commit, path = heapq.heappop(self.waiting)
        return commit, path, self._held.pop((commit, path))

    def pass_on(self, commit: str, path: str, lines: Lines) -> Lines:
        """Give lines to the parents that have them, and return the others."""
        changed = self._commits[commit]
        if path not in changed.paths and changed.parents:
            self.give(changed.parents[0], path, lines)
            return {}
        blob = self._blob(commit, path)
        versions = [(parent, *self._version(parent, commit, path, blob)) for parent in changed.parents]
        for parent, name, before in versions:
            if before == blob:
                self.give(parent, name, lines)
                return {}
        for parent, name, before in versions:
            if before and blob and lines:
                found = self._found(before, blob, lines)
                if found:
                    self.give(parent, name, {old: lines[new] for old, new in found.items()})
                    lines = {new: line for new, line in lines.items() if new not in found.values()}
        return lines

    def _found(self, before: str, blob: str, lines: Lines) -> dict[int, int]:
        """Return which of the lines of `blob` are in `before`: the line there to the line here."""
        found = {}
        for old, new, count in common_lines(self._objects.read(before), self._objects.read(blob)):
            found.update({old + step: new + step for step in range(count) if new + step in lines})
        return found

    def _version(self, parent: str, commit: str, path: str, blob: str | None) -> tuple[str, str | None]:
        """Return the path and blob of a file in a parent of `commit`, also where its name was another one."""
        if (before := self._blob(parent, path)) is None:
            try:
                trees = self._objects.tree_of(parent), self._objects.tree_of(commit)
                for name, old, new in self._objects.differences(*trees):
                    if old == blob and new is None:
                        return name, old
            except Damaged:
                pass  # then it was new here
        return path, before

    def _blob(self, commit: str, path: str) -> str | None:
        return self._objects.blob_at(self._objects.tree_of(commit), path)


def _lines(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]
