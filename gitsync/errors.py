"""What can go wrong with a repository, as one tree.

GitError
├── RepositoryUnusable   nothing can be committed or read here until a person mends it
│   └── Damaged          an object, a ref or the index can't be read; a transaction makes it a reason to wait
├── WorkTreeChanged      a file isn't the version that was read; raised by the caller of `commit`
├── BranchMoved          the branch isn't where a join was worked out
├── NotKept              a version would be gone for good, as no commit can hold it now
├── UnknownCommit        no such commit, or an abbreviation of several
├── RemoteRefused        an address that we don't talk to, or a remote that is none for us
├── RemoteFailed         the exchange with a remote didn't come to an end; `cause` says of what kind
└── Blocked              git isn't free; a transaction makes it a reason to wait, so that no caller sees it
"""

from __future__ import annotations

from typing import Literal

Cause = Literal[
    "credentials", "host_key", "unreachable", "missing", "timeout", "size", "stopped", "declined", "other"
]


class GitError(Exception):
    """Anything this package refuses."""


class RepositoryUnusable(GitError):
    """The repository can't be served: a format we don't write, another owner, no HEAD."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WorkTreeChanged(GitError):
    """A file on disk isn't the version that the caller read before it decided what to write."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} has changed since it was read")
        self.path = path


class BranchMoved(GitError):
    """The branch, or what waits to be on it, isn't where a join was worked out; nothing was changed."""


class NotKept(GitError):
    """Replacing or removing a file now would lose what it says: no commit has it, and none can be made."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path} can't be replaced or removed while its present version can't be kept: {reason}"
        )
        self.path = path


class UnknownCommit(GitError):
    """No commit has this id."""

    def __init__(self, commit: str) -> None:
        super().__init__(f"there is no commit {commit!r}")
        self.commit = commit


class RemoteRefused(GitError):
    """An address or a remote that we have nothing to do with; the text says why, and what to do."""


class RemoteFailed(GitError):
    """An exchange with a remote failed; `reason` is a sentence for people, free of credentials."""

    def __init__(self, reason: str, cause: Cause = "other") -> None:
        super().__init__(reason)
        self.reason = reason
        self.cause = cause


class Blocked(GitError):
    """The repository isn't free for a commit; the text is the reason that a person reads."""


class Damaged(RepositoryUnusable):
    """Something that git needs is missing or broken; the text names it."""
