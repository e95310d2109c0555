"""The files of the work tree, compared with what is committed.

Nothing is followed: a symlink, a pipe or a folder in the place of a file counts as unknown, never as deleted.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress

from gitsync.errors import Blocked, Damaged
from gitsync.index_format import PLAIN, encoded_entry, stamp
from gitsync.objects import blob_id
from gitsync.repo import Repository

# Windows has neither; there, opening a folder or a link's target fails or is harmless.
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class NotAFile(OSError):
    """Something else than a plain file stands where a file should be."""


def read(root: str, path: str) -> tuple[bytes, os.stat_result] | None:
    """Return a file's bytes and status, None when there is no such file.

    Raises NotAFile for what isn't a plain file in plain folders, OSError when it can't be read.
    """
    folder, parts = root, path.split("/")
    for part in parts[:-1]:
        folder = os.path.join(folder, part)
        if os.path.islink(folder):
            raise NotAFile(errno.ELOOP, "a symlink is in the way", path)
    name = os.path.join(folder, parts[-1])
    try:
        handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC | _NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotAFile(errno.ELOOP, "a symlink", path) from error
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise NotAFile(errno.EINVAL, "not a plain file", path)
        with open(handle, "rb", closefd=False) as file:
            return file.read(), status
    finally:
        os.close(handle)


def index_entry(root: str, path: str, oid: str, mode: int = PLAIN) -> bytes:
    """Return the git index entry of a file that should hold the blob `oid`.

    The file's status goes in only when its bytes were that blob's throughout; otherwise an edit made
    meanwhile would look to git like the version we committed.
    """
    name = path.encode("utf-8", "surrogateescape")
    try:
        found = read(root, path)
        if found and blob_id(found[0]) == oid:
            again = os.lstat(os.path.join(root, path))
            if stamp(again) == stamp(found[1]):
                return encoded_entry(name, mode, oid, again)
    except OSError:
        pass
    return encoded_entry(name, mode, oid, None)


def pending_paths(repo: Repository, folders: Sequence[str] = ("",)) -> list[str]:
    """Return the paths below `folders` whose bytes on disk differ from what is checked out, sorted.

    That includes files that are gone and new ones that git doesn't ignore. A file is read only when git's index
    can't vouch for it by its status. Raises Damaged when git's objects can't be read.
    """
    scan = _Scan(repo)
    tree = repo.objects.tree_of(repo.head())
    found: set[str] = set()
    for folder in folders:
        found.update(scan.below(os.fsencode(folder), repo.objects.folder_at(tree, folder)))
    return sorted(found)


class _Scan:
    """One look at the work tree. Names and ids stay bytes: of ten thousand files hardly one is ever told."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._root = os.fsencode(repo.root)
        self._indexed = False
        with suppress(Damaged, Blocked):
            self._indexed = repo.index.load()

    def below(self, folder: bytes, tree: str | None) -> Iterator[str]:
        """Yield what differs between a folder on disk and its committed tree, None where it has none."""
        files, folders = self._repo.objects.folder(tree).split()
        start = folder + b"/" if folder else b""
        try:
            entries = list(os.scandir(os.path.join(self._root, folder)))
        except (FileNotFoundError, NotADirectoryError):
            entries = []
        for entry in entries:
            name, path = entry.name, start + entry.name
            oid, below = files.pop(name, None), folders.pop(name, None)
            if name == b".git" or entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                if below or not (self._is_ignored(path + b"/") or os.path.lexists(entry.path + b"/.git")):
                    yield from self.below(path, below)
            elif entry.is_file(follow_symlinks=False) and self._differs(entry, path, oid):
                yield os.fsdecode(path)
        yield from (os.fsdecode(start + name) for name in files)
        for name, below in folders.items():
            yield from self.below(start + name, below)

    def _differs(self, entry: os.DirEntry[bytes], path: bytes, oid: bytes | None) -> bool:
        if oid is None:
            return not self._is_ignored(path)
        if self._indexed and self._repo.index.vouches(path, oid, entry.stat(follow_symlinks=False)):
            return False
        try:
            read_now = read(self._repo.root, os.fsdecode(path))
        except OSError:
            return False  # unreadable is unknown
        return read_now is None or blob_id(read_now[0]) != oid.hex()

    def _is_ignored(self, path: bytes) -> bool:
        try:
            return self._repo.git.path_is_ignored(os.fsdecode(path))
        except UnicodeEncodeError:
            return True  # no name that we would commit
