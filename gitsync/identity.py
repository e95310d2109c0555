"""Tell which project a folder belongs to, on which branch it stands, and what names the project everywhere.

Only files are read: no git program and no libgit2, so ownership checks, hooks and broken objects are out of
the way, and nothing in a checkout can make it fail. What can't be read counts as absent. It is asked on every
request: a repeated call costs a few file reads.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from functools import lru_cache

from gitsync.origin import origin_of
from gitsync.plain_files import Signature, read_plain, signature
from gitsync.remote_url import normalise_remote

__all__ = ["Checkout", "checkout", "normalise_remote", "path_key", "project_key"]

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_OBJECT_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SMALL_FILE = 4096
_LARGEST_PACKED_REFS = 64 << 20


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder under git: `root` stands for the project, the rest says where in it one is.

    `root` is the real path of the main work tree (of the repository itself when it has none), `worktree` that
    of the work tree around the folder. `branch` is the short name, during a rebase that of the branch being
    rebased, `detached-<first 12 of the commit>` without one, and None when HEAD can't be read. `head` is None
    before the first commit. `remote` is the normalised origin.
    """

    root: str
    worktree: str
    branch: str | None
    head: str | None
    remote: str | None


def checkout(cwd: str, home: str | None) -> Checkout | None:
    """Find the checkout around an absolute folder; None outside a project. Never raises.

    The user's home folder and the top of the file system are no projects, even with a `.git` inside. A folder
    that no longer exists belongs where its nearest existing parent does.
    """
    try:
        found = _nearest(os.path.realpath(cwd)) if os.path.isabs(cwd) else None
    except (OSError, ValueError):
        return None
    if found is None:
        return None
    worktree, gitdir = found
    common = _real_folder(gitdir, read_plain(os.path.join(gitdir, "commondir"), _SMALL_FILE))
    origin = origin_of(common or gitdir, home)
    root = worktree if common is None else _main_worktree(common, origin.worktree)
    if _is_home_or_top(root, home) or _is_home_or_top(worktree, home):
        return None
    branch, head = _position(gitdir, common or gitdir)
    return Checkout(root, worktree, branch, head, origin.remote)


def project_key(checkout: Checkout) -> str:
    """Return the text whose hash is the project's id: `remote:` and the origin, else the path of its root."""
    return path_key(checkout) if checkout.remote is None else f"remote:{checkout.remote}"


def path_key(checkout: Checkout) -> str:
    """Return the text whose hash is the id of a project without a remote.

    Bytes of a path that aren't UTF-8 are written as `\\xNN`, so that the text can always be encoded.
    """
    return os.fsencode(checkout.root).decode("utf-8", "backslashreplace")


def _nearest(folder: str) -> tuple[str, str] | None:
    """Return the nearest ancestor with a `.git`, and the git folder behind it."""
    while True:
        gitdir = _git_folder(folder)
        if gitdir is not None:
            return folder, gitdir
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _git_folder(folder: str) -> str | None:
    entry = os.path.join(folder, ".git")
    try:
        mode = os.stat(entry).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        # Like git, look past an empty folder of that name: a mount point, something left over.
        known = os.path.lexists(os.path.join(entry, "HEAD")) or os.path.isdir(os.path.join(entry, "objects"))
        return entry if known else None
    content = read_plain(entry, _SMALL_FILE) or b""
    if not content.startswith(b"gitdir:"):
        return None
    return os.path.join(folder, os.fsdecode(content[7:].strip(b" \r\n")))


def _real_folder(base: str, name: bytes | None) -> str | None:
    """Return the existing folder that a file's content names, relative to `base`."""
    name = (name or b"").strip(b"\r\n")
    try:
        folder = os.path.realpath(os.path.join(base, os.fsdecode(name)))
        return folder if name and os.path.isdir(folder) else None
    except (OSError, ValueError):
        return None


def _main_worktree(common: str, configured: bytes | None) -> str:
    # A submodule's git folder lies inside its superproject's and names its work tree.
    folder = _real_folder(common, configured)
    if folder is not None:
        return folder
    # `.git`, or the hidden bare repository (`.bare`) that some keep beside their worktrees.
    return os.path.dirname(common) if os.path.basename(common).startswith(".") else common


def _is_home_or_top(folder: str, home: str | None) -> bool:
    if os.path.dirname(folder) == folder:
        return True
    try:
        return home is not None and os.path.samefile(folder, home)
    except (OSError, ValueError):
        return False


def _position(gitdir: str, common: str) -> tuple[str | None, str | None]:
    """Return branch and commit of a work tree; HEAD is its own, branches belong to the common folder."""
    content = read_plain(os.path.join(gitdir, "HEAD"), _SMALL_FILE) or b""
    if content.startswith(b"ref:"):
        ref = content[4:].strip()
        branch = _short_name(ref)
        return branch, None if branch is None else _commit_of(common, ref)
    commit = _object_id(content)
    for state in ("rebase-merge", "rebase-apply"):
        ref = (read_plain(os.path.join(gitdir, state, "head-name"), _SMALL_FILE) or b"").strip()
        branch = _short_name(ref)
        if branch is not None:
            return branch, commit
    return None if commit is None else f"detached-{commit[:12]}", commit


def _short_name(ref: bytes) -> str | None:
    """Return a ref as people write it; None for what isn't one, like the stub that reftable keeps in HEAD."""
    if not ref.startswith(b"refs/") or b"/." in ref or _CONTROL.search(ref):
        return None
    return ref.removeprefix(b"refs/").removeprefix(b"heads/").decode("utf-8", "replace") or None


def _commit_of(common: str, ref: bytes) -> str | None:
    for _ in range(5):  # a branch may itself be symbolic; git follows five
        content = read_plain(os.path.join(common, os.fsdecode(ref)), _SMALL_FILE)
        if content is None:
            packed = os.path.join(common, "packed-refs")
            return _packed_commit(packed, signature(packed), ref)
        if not content.startswith(b"ref:"):
            return _object_id(content)
        ref = content[4:].strip()
        if _short_name(ref) is None:
            break
    return None


@lru_cache(256)
def _packed_commit(path: str, signature: Signature | None, ref: bytes) -> str | None:
    """Look a branch up in packed-refs; the signature keeps an answer from outliving the file."""
    content = read_plain(path, _LARGEST_PACKED_REFS) or b""
    end = content.find(b" " + ref + b"\n")
    return _object_id(content[content.rfind(b"\n", 0, end) + 1 : end]) if end >= 0 else None


def _object_id(content: bytes) -> str | None:
    content = content.strip()
    return content.decode("ascii") if _OBJECT_ID.fullmatch(content) else None
