"""What we committed last, to notice when the user's git has undone it without meaning to.

`git commit` reads the index before it takes `index.lock` and writes it back without looking again. When our
transaction falls in between, that commit fails, since the branch has moved, but it leaves an index without our
entries: as if somebody had staged them back, which the user's next commit would then do to the branch. Each of
our transactions therefore looks at what the ones before it changed, when index or branch were written since.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitsync.errors import Damaged
from gitsync.git_index import GitIndex
from gitsync.objects import Objects

_PATHS = 256
# What a person does with one of our paths on purpose comes later than this after our commit.
_SECONDS = 10
_COMMITS = 50

Versions = tuple[str | None, str | None]


class Recent:
    """The last changes of one repository's transactions."""

    def __init__(self) -> None:
        self._changes: dict[str, Versions] = {}
        self._tip: str | None = None
        self._time = (0, 0)

    def note(self, tip: str | None, changes: Mapping[str, Versions], index: GitIndex) -> None:
        """Remember a transaction: the branch's new tip, the old and new version of each path, the index it left."""
        for path, versions in changes.items():
            self._changes.pop(path, None)
            self._changes[path] = versions
        for path in list(self._changes)[:-_PATHS]:
            del self._changes[path]
        self._tip, self._time = tip, index.time

    def dropped_from_index(self, objects: Objects, index: GitIndex, tree: str) -> dict[str, str | None]:
        """Return paths that a commit in `tree` has in our version and the index in the one before."""
        if index.time == self._time or index.time[0] - self._time[0] > _SECONDS:
            return {}
        if _commit_attempted(index) < self._time:
            return {}  # what is staged was staged on purpose
        return {
            path: new
            for path, (old, new) in self._changes.items()
            if old != new and index.id_of(path) == old and objects.blob_at(tree, path) == new
        }

    def dropped_from_branch(self, objects: Objects, tip: str | None, tree: str) -> list[str]:
        """Return paths that commits on top of ours have set back to the version before."""
        if tip in (self._tip, None) or not self._changes:
            return []
        try:
            objects.first_parents(tip, self._tip, _COMMITS)
        except Damaged:
            return []  # the branch was set back or rewritten: that was meant
        return [path for path, (old, _) in self._changes.items() if objects.blob_at(tree, path) == old]


def _commit_attempted(index: GitIndex) -> tuple[int, int]:
    """Return when `git commit` last got as far as its message, which comes right after it wrote the index."""
    try:
        message = os.path.join(os.path.dirname(index.path), "COMMIT_EDITMSG")
        return divmod(os.stat(message).st_mtime_ns, 10**9)
    except FileNotFoundError:
        return (0, 0)
