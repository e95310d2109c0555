"""One repository: made with settings that keep the user's own out of it, opened, and asked who the user is."""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

import pygit2
from pygit2.enums import RepositoryOpenFlag

from gitsync.durable import Disk
from gitsync.errors import RepositoryUnusable
from gitsync.git_index import GitIndex
from gitsync.objects import Objects
from gitsync.recent import Recent
from gitsync.refs import Refs
from gitsync.step import Signature, Step

__all__ = ["Repository", "Signature"]

_NEW = ".coffer-new-repository"
# Set where the repository itself says nothing, so that no setting of the user or the machine reaches it.
_SETTINGS = {
    "core.autocrlf": "false",  # the bytes on disk are the bytes in git
    "core.fsmonitor": "false",  # no program is started for `git status` in here
    "core.splitIndex": "false",  # neither libgit2 nor our splice understands a split index
    "index.version": "2",  # the version that every reader knows
    "gc.auto": "0",  # the daemon packs when it is idle; git must not do so in the middle of a user's commit
    "core.logAllRefUpdates": "true",  # a branch that a loss of power spoilt is repaired from its log
}
# Above `.gitattributes`, so that neither a user's file nor one that came with a pull makes git change bytes.
_ATTRIBUTES = "* -text -filter -ident !working-tree-encoding"
_FORMATS = {
    "extensions.objectformat": "its objects aren't named by SHA-1",
    "extensions.refstorage": "its refs are stored as reftable",
    "extensions.partialclone": "it is a partial clone, so parts of its history are elsewhere",
}


def _pass(point: str) -> None:
    """Pass a failpoint."""


class Repository:
    """The repository whose work tree is `root`, for use by one thread at a time.

    Opening reads and creates nothing but libgit2's handle; a second one for another thread is cheap.
    """

    def __init__(
        self, root: str, git: pygit2.Repository, committer: Signature, reached: Callable[[str], None]
    ):
        self.root = root
        self.folder = os.path.join(root, ".git")
        self.scratch = os.path.join(self.folder, "coffer")
        self.git = git
        self.committer = committer
        self.reached = reached
        self.objects = Objects(git)
        self.refs = Refs(self.folder)
        self.index = GitIndex(os.path.join(self.folder, "index"))
        self.disk = Disk(root)
        self.recent = Recent()
        # In place on disk while git's folder couldn't be written; older ones are adopted as the user's.
        self.unprepared: deque[Step] = deque(maxlen=1000)

    @staticmethod
    def exists(root: str) -> bool:
        """Tell whether there is a repository at `root`, usable or not."""
        return os.path.lexists(os.path.join(root, ".git"))

    @classmethod
    def open(cls, root: str, committer: Signature, reached: Callable[[str], None] = _pass) -> Repository:
        """Open the repository at `root`; raises RepositoryUnusable when we can't read and write it."""
        folder = os.path.join(root, ".git")
        if not os.path.isdir(folder):
            raise RepositoryUnusable(f"{folder} isn't a repository's folder")
        try:
            git = pygit2.Repository(root, RepositoryOpenFlag.NO_SEARCH)
        except (pygit2.GitError, OSError, KeyError, ValueError) as error:
            raise RepositoryUnusable(_reason(folder, error)) from error
        if git.is_bare or not os.path.samefile(git.workdir, root):
            raise RepositoryUnusable(f"the work tree of {folder} is elsewhere")
        return cls(root, git, committer, reached)

    @classmethod
    def create(
        cls,
        root: str,
        committer: Signature,
        reached: Callable[[str], None] = _pass,
        ignores: Sequence[str] = (),
    ) -> Repository:
        """Make the repository at `root` unless there is one, add what its settings lack, and open it.

        It appears whole or not at all: it is made beside and renamed. A user's template isn't copied and no
        hook is installed.
        """
        beside = os.path.join(root, _NEW)
        shutil.rmtree(beside, ignore_errors=True)  # where a crash has left one
        if not cls.exists(root):
            os.makedirs(beside, mode=0o700)
            git = pygit2.init_repository(beside, initial_head="main")
            # A file that was made executable by accident isn't a change.
            git.config["core.fileMode"] = "false"
            made = os.path.join(beside, ".git")
            shutil.rmtree(os.path.join(made, "hooks"))
            os.unlink(os.path.join(made, "description"))
            _complete(git, made, ignores)
            os.chmod(made, 0o700)
            os.rename(made, os.path.join(root, ".git"))
            os.rmdir(beside)
        repository = cls.open(root, committer, reached)
        # Another program may hold config.lock, or the folder be read-only: then it is done another time.
        with suppress(OSError, pygit2.GitError):
            _complete(repository.git, repository.folder, ignores)
        return repository

    def user_signature(self, fallback: Signature) -> Signature:
        """Return who the user is to git, or `fallback` where that isn't set."""
        try:
            config = self.git.config
            return Signature(config["user.name"] or "", config["user.email"] or "")
        except (KeyError, ValueError, OSError, pygit2.GitError):
            return fallback

    def head(self) -> str | None:
        """Return the commit that is checked out, None before the first; raises Damaged if it can't be told."""
        return self.refs.head()


def _complete(git: pygit2.Repository, folder: str, ignores: Sequence[str]) -> None:
    """Add the settings, ignored names and attributes that the repository lacks; what is set is kept."""
    own = pygit2.Config(os.path.join(folder, "config"))
    for name, value in _SETTINGS.items():
        if name not in own:
            own[name] = value
    os.makedirs(os.path.join(folder, "info"), mode=0o700, exist_ok=True)
    _add_lines(os.path.join(folder, "info", "exclude"), ignores)
    _add_lines(os.path.join(folder, "info", "attributes"), [_ATTRIBUTES])


def _add_lines(path: str, lines: Sequence[str]) -> None:
    with open(path, "a+", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.seek(0)
        text = file.read()
        missing = [line for line in lines if line not in text.splitlines()]
        if missing:
            file.write("\n" * (text != "" and not text.endswith("\n")) + "\n".join(missing) + "\n")


def _reason(folder: str, error: Exception) -> str:
    """Say why libgit2 refuses a repository, from what the repository says and not from libgit2's words."""
    with suppress(OSError):
        if os.name != "nt" and os.stat(folder).st_uid != os.geteuid():
            return f"{folder} belongs to another user"
    with suppress(KeyError, ValueError, OSError, pygit2.GitError):
        own = pygit2.Config(os.path.join(folder, "config"))
        for name, reason in _FORMATS.items():
            if name in own:
                return reason
    return f"{folder} can't be opened: {error}"
