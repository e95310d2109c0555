"""HEAD, branches and their log, by git's own files: loose refs, packed-refs, `logs/`.

The branch moves the way git moves it: its lock file, which already holds the new value, is renamed over it.
Unlike git's, ours was flushed before, so no loss of power leaves an empty branch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from gitsync.errors import Blocked, Damaged
from gitsync.objects import Commit
from gitsync.scratch import write_new
from gitsync.step import Signature

BRANCH = "refs/heads/main"
NO_COMMIT = "0" * 40
_ID = re.compile(r"[0-9a-f]{40}")


class Refs:
    """The refs of the repository in `folder` (its .git)."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.branch = os.path.join(folder, *BRANCH.split("/"))
        self.branch_lock = self.branch + ".lock"
        self.head_lock = os.path.join(folder, "HEAD.lock")

    def head_target(self) -> str:
        """Return the ref that HEAD names, or the commit of a detached HEAD."""
        try:
            with open(os.path.join(self.folder, "HEAD"), encoding="utf-8", errors="surrogateescape") as file:
                return file.read().removeprefix("ref:").strip()
        except OSError as error:
            raise Damaged(f"HEAD can't be read ({error.strerror})") from error

    def head(self) -> str | None:
        """Return the commit that HEAD leads to, None before the first one."""
        target = self.head_target()
        return self.value(target) if target.startswith("refs/") else _checked("HEAD", target)

    def value(self, name: str) -> str | None:
        """Return the commit of a ref, None when there is no such ref; raises Damaged for a broken one."""
        try:
            with open(
                os.path.join(self.folder, *name.split("/")), encoding="ascii", errors="replace"
            ) as file:
                return _checked(name, file.read().strip())
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return self._packed(name)
        except OSError as error:
            raise Damaged(f"{name} can't be read ({error.strerror})") from error

    def require_main(self) -> None:
        """Raise Blocked unless HEAD is on the branch that we write."""
        target = self.head_target()
        if target != BRANCH:
            is_branch = target.startswith("refs/heads/")
            raise Blocked(f"branch {target[11:]} is checked out" if is_branch else "HEAD is detached")

    def move(self, old: str | None, commits: Sequence[Commit], committer: Signature) -> None:
        """Log `commits`, then rename the branch's lock, which holds the last one's id, over the branch."""
        lines = []
        for commit in commits:
            who = committer.line(commit.time).decode()
            what = "commit" if old else "commit (initial)"
            lines.append(f"{old or NO_COMMIT} {commit.id} {who}\t{what}: {commit.subject}\n")
            old = commit.id
        for name in ("HEAD", BRANCH):
            path = os.path.join(self.folder, "logs", *name.split("/"))
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "ab", buffering=0) as file:
                file.write("".join(lines).encode("utf-8", "surrogateescape"))
        os.replace(self.branch_lock, self.branch)

    def put(self, name: str, commit: str) -> None:
        """Point a ref of our own, one that no other program writes, at a commit."""
        path = os.path.join(self.folder, *name.split("/"))
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        beside = f"{path}.lock"  # git looks past such a name, should a crash leave it
        write_new(beside, commit.encode() + b"\n")
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)

    def logged(self) -> list[str]:
        """Return the commits that the branch has been at, newest first."""
        try:
            with open(os.path.join(self.folder, "logs", *BRANCH.split("/")), "rb") as file:
                found = [line[41:81].decode("ascii", "replace") for line in file]
        except FileNotFoundError:
            return []
        return [commit for commit in reversed(found) if _ID.fullmatch(commit) and commit != NO_COMMIT]

    def _packed(self, name: str) -> str | None:
        try:
            with open(
                os.path.join(self.folder, "packed-refs"), encoding="utf-8", errors="surrogateescape"
            ) as file:
                for line in file:
                    if line.rstrip("\n").endswith(" " + name):
                        return _checked(name, line[:40])
        except FileNotFoundError:
            pass
        return None


def _checked(name: str, value: str) -> str:
    if not _ID.fullmatch(value):
        raise Damaged(f"{name} is damaged")
    return value
