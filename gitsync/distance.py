"""How far a branch of somebody's project has moved. The project's repository is only read."""

from __future__ import annotations

from itertools import islice

MOST = 1000


def commits_since(root: str, commit: str, head: str) -> int | None:
    """Return how many commits `head` has that `commit` hasn't, at most 1,000; None when that can't be told.

    That is the case for a commit that is gone, as after a rebase on another machine, and for a repository
    that libgit2 can't open.
    """
    import pygit2  # not needed by those who only ask which project a folder is in

    try:
        repository = pygit2.Repository(root)
        walk = repository.walk(head)
        walk.hide(commit)
        return sum(1 for _ in islice(walk, MOST))
    except (pygit2.GitError, KeyError, ValueError, OSError):
        return None
