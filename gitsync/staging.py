"""Keep git's index in step with what is committed, and mend it when it is gone."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitsync.errors import Damaged
from gitsync.objects import EMPTY_TREE
from gitsync.repo import Repository
from gitsync.scratch import write_new
from gitsync.worktree import index_entry

_SET_ASIDE = "index.damaged"


def mend_index(repo: Repository, tree: str) -> str | None:
    """Load git's index; where it is missing or damaged, begin one from `tree` and say so.

    Call it with `index.lock` held. A damaged file is kept in our folder; what was staged in it is lost to git
    as well. Raises Blocked for an index that we mayn't change.
    """
    try:
        if repo.index.load():
            return None
        note = "git's index was missing"
    except Damaged:
        set_index_aside(repo)
        note = f"git's index was damaged; it lies in .git/coffer/{_SET_ASIDE}"
    if tree == EMPTY_TREE:
        return None
    repo.index.splice(
        {path: index_entry(repo.root, path, oid, mode) for path, mode, oid in repo.objects.files(tree)}
    )
    return f"{note} and was made anew from the last commit"


def set_index_aside(repo: Repository) -> None:
    """Move git's index into our folder, where it can be looked at."""
    os.makedirs(repo.scratch, mode=0o700, exist_ok=True)
    os.replace(repo.index.path, os.path.join(repo.scratch, _SET_ASIDE))
    repo.index.forget()


def write_index(repo: Repository, entries: Mapping[str, bytes | None]) -> None:
    """Set or drop entries of the loaded index and rename the new file into place."""
    body, checksum = repo.index.splice(entries)
    written = os.path.join(repo.scratch, f"index-{os.getpid()}")
    write_new(written, body, checksum)
    repo.reached("new-index")
    repo.index.install(written, checksum)
    repo.reached("index-swapped")
