"""Blobs, trees and commits: read from the repository, new ones made in memory and written together.

Trees are edited as bytes from the ones before, never through git's index, so nothing that a person has
staged can slip in, and the cost is that of the folders on the path, whatever the size of the repository. Blobs
are the bytes themselves: no filter, no line ends. The formats are those of git's `gitformat-*` pages and
`git cat-file`; ids are SHA-1 as 40 hex digits.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pygit2
from pygit2.enums import ObjectType

from gitsync.errors import Damaged

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_FOLDERS_KEPT = 2048

Edits = Mapping[str, str | None]
"""Path to blob id, None where the file is removed."""


@dataclass(frozen=True, slots=True)
class Folder:
    """One tree in git's order, which compares folders as if their names ended in a slash."""

    keys: tuple[bytes, ...]
    entries: tuple[bytes, ...]  # mode, blank, name, NUL, 20 bytes of id

    def find(self, name: str, folder: bool) -> str | None:
        """Return the id of a folder, or of a plain file, of this name."""
        key = _key(name, folder)
        at = bisect_left(self.keys, key)
        if at == len(self.keys) or self.keys[at] != key or not (folder or _is_plain(self.entries[at])):
            return None
        return self.entries[at][-20:].hex()

    def id_at(self, key: bytes) -> str | None:
        """Return the id of whatever has this key."""
        at = bisect_left(self.keys, key)
        return self.entries[at][-20:].hex() if at < len(self.keys) and self.keys[at] == key else None

    def split(self) -> tuple[dict[bytes, bytes], dict[bytes, str]]:
        """Return name and id of each plain file, both as bytes, and of each folder."""
        files, folders = {}, {}
        for key, entry in zip(self.keys, self.entries):
            if _is_plain(entry):
                files[key] = entry[-20:]
            elif key.endswith(b"/"):
                folders[key[:-1]] = entry[-20:].hex()
        return files, folders


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit's parts; author and message are the bytes that stand in it, `time` is the committer's."""

    id: str
    tree: str
    parents: tuple[str, ...]
    author: bytes
    time: int
    message: bytes

    @property
    def subject(self) -> str:
        return self.message.lstrip(b"\n").partition(b"\n")[0].decode("utf-8", "replace")


NOTHING = Folder((), ())


class Objects:
    """The objects of a repository, with those in `fresh` that aren't written yet. For one thread at a time."""

    def __init__(self, git: pygit2.Repository) -> None:
        self._odb = git.odb
        self._folders: dict[str, Folder] = {}
        self._last = ("", "")  # the commit that was made or asked for last, and its tree
        self.fresh: dict[str, tuple[bytes, bytes]] = {}
        self.bases: dict[str, str] = {}  # fresh tree to the fresh tree that it was made from

    def discard_fresh(self) -> None:
        """Forget the new objects: they are written by now, or never will be."""
        self.fresh.clear()
        self.bases.clear()

    def read(self, oid: str) -> bytes:
        """Return an object's content; raises Damaged when it is missing or broken."""
        if oid in self.fresh:
            return self.fresh[oid][1]
        try:
            return self._odb.read(oid)[1]
        except (KeyError, ValueError, OSError, pygit2.GitError) as error:
            raise Damaged(f"git object {oid} can't be read") from error

    def has(self, oid: str) -> bool:
        """Tell whether there is an object of this id, whole or broken."""
        return oid in self.fresh or oid in self._odb

    def size(self, oid: str, kind: Literal["blob", "tree"]) -> int:
        """Return how long a blob or tree is, without inflating it; raises Damaged when it is missing or another."""
        try:
            made, size = self._odb.read_header(oid)
        except (KeyError, ValueError, OSError, pygit2.GitError) as error:
            raise Damaged(f"git object {oid} can't be read") from error
        if made != (ObjectType.BLOB if kind == "blob" else ObjectType.TREE):
            raise Damaged(f"git object {oid} isn't a {kind}")
        return size

    def folder(self, oid: str | None) -> Folder:
        """Return a tree's entries; None is a tree that isn't there."""
        if oid is None or oid == EMPTY_TREE:
            return NOTHING
        return self._folders.get(oid) or self._keep(oid, _parsed(self.read(oid)))

    def commit(self, oid: str) -> Commit:
        """Return a commit; raises Damaged when the object is missing or something else."""
        head, _, message = self.read(oid).partition(b"\n\n")
        fields: dict[bytes, list[bytes]] = {}
        for line in head.split(b"\n"):
            name, _, value = line.partition(b" ")
            fields.setdefault(name, []).append(value)
        try:
            tree = fields[b"tree"][0].decode("ascii")
            parents = tuple(parent.decode("ascii") for parent in fields.get(b"parent", ()))
            time = int(fields[b"committer"][0].rsplit(b" ", 2)[1])
            return Commit(oid, tree, parents, fields[b"author"][0], time, message)
        except (KeyError, IndexError, ValueError) as error:
            raise Damaged(f"{oid} isn't a commit") from error

    def tree_of(self, commit: str | None) -> str:
        """Return the tree of a commit; None is the time before the first one."""
        if commit is None:
            return EMPTY_TREE
        if commit != self._last[0]:
            self._last = (commit, self.commit(commit).tree)
        return self._last[1]

    def blob_at(self, tree: str, path: str) -> str | None:
        """Return the id of the plain file at `path`, None when there is none."""
        *folders, name = path.split("/")
        at: str | None = tree
        for part in folders:
            at = self.folder(at).find(part, folder=True)
            if at is None:
                return None
        return self.folder(at).find(name, folder=False)

    def folder_at(self, tree: str | None, path: str) -> str | None:
        """Return the id of the folder at `path`, None when there is none; the empty path is the tree itself."""
        for part in path.split("/") if path else ():
            tree = self.folder(tree).find(part, folder=True) if tree else None
        return tree

    def child(self, tree: str, name: str) -> str | None:
        """Return the id of whatever has this name in a tree, without taking the tree apart."""
        data, wanted = self.read(tree), b" " + _key(name, False) + b"\0"
        at = data.find(wanted)
        while at >= 0:
            # Ids and names are any bytes: only after a mode that stands at the start of an entry is it a name.
            start = at - (5 if data[at - 5 : at] == b"40000" else 6)
            if start == 0 or (start > 20 and data[start - 21] == 0):
                end = at + len(wanted)
                return data[end : end + 20].hex()
            at = data.find(wanted, at + 1)
        return None

    def files(self, tree: str | None, prefix: str = "") -> Iterator[tuple[str, int, str]]:
        """Yield path, mode and id of everything in a tree that isn't a folder."""
        folder = self.folder(tree)
        for key, entry in zip(folder.keys, folder.entries):
            path = prefix + _text(key)
            if key.endswith(b"/"):
                yield from self.files(entry[-20:].hex(), path)
            else:
                yield path, int(entry.partition(b" ")[0], 8), entry[-20:].hex()

    def first_parents(self, tip: str, base: str | None, most: int = 10**9) -> list[Commit]:
        """Return the commits after `base` up to `tip`, oldest first; raises Damaged if they don't connect."""
        chain: list[Commit] = []
        at: str | None = tip
        while at != base:
            if at is None or len(chain) == most:
                raise Damaged(f"{tip} doesn't descend from {base}")
            chain.append(self.commit(at))
            at = chain[-1].parents[0] if chain[-1].parents else None
        return chain[::-1]

    def differences(
        self, old: str | None, new: str | None, prefix: str = ""
    ) -> Iterator[tuple[str, str | None, str | None]]:
        """Yield path, old and new id of every file that differs; folders that are equal are never opened."""
        if old == new:
            return
        left, right = self.folder(old), self.folder(new)
        keys = {_key_in(entry) for entry in set(left.entries) ^ set(right.entries)}
        for key in sorted(keys):
            before, after = left.id_at(key), right.id_at(key)
            if key.endswith(b"/"):
                yield from self.differences(before, after, prefix + _text(key))
            else:
                yield prefix + _text(key), before, after

    def add_blob(self, data: bytes) -> str:
        return self._add(b"blob", data)

    def add_tree(self, tree: str | None, edits: Edits) -> str:
        """Return the tree that `edits` make of another; a folder left empty is gone."""
        base = self.folder(tree)
        keys, entries = list(base.keys), list(base.entries)
        below: dict[str, dict[str, str | None]] = {}
        for path, oid in edits.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = oid
            else:
                _put(keys, entries, name, False, oid)
        for name, inner in below.items():
            made = self.add_tree(base.find(name, folder=True), inner)
            _put(keys, entries, name, True, None if made == EMPTY_TREE else made)
        folder = Folder(tuple(keys), tuple(entries))
        if folder == base:
            return tree or EMPTY_TREE
        oid = self._add(b"tree", b"".join(entries))
        if tree in self.fresh:
            self.bases[oid] = tree
        self._keep(oid, folder)
        return oid

    def add_commit(
        self, tree: str, parents: Sequence[str], author: bytes, committer: bytes, message: bytes
    ) -> str:
        above = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
        oid = self._add(
            b"commit", b"\n".join([*above, b"author " + author, b"committer " + committer, b"", message])
        )
        self._last = (oid, tree)
        return oid

    def _add(self, kind: bytes, data: bytes) -> str:
        oid = _hashed(kind, data)
        self.fresh[oid] = (kind, data)
        return oid

    def _keep(self, oid: str, folder: Folder) -> Folder:
        if len(self._folders) >= _FOLDERS_KEPT:
            self._folders.clear()
        self._folders[oid] = folder
        return folder


def blob_id(data: bytes) -> str:
    """Return the id that git gives a file of these bytes."""
    return _hashed(b"blob", data)


def _hashed(kind: bytes, data: bytes) -> str:
    return hashlib.sha1(b"%b %d\0%b" % (kind, len(data), data)).hexdigest()


def _key(name: str, folder: bool) -> bytes:
    key = name.encode("utf-8", "surrogateescape")
    return key + b"/" if folder else key


def _key_in(entry: bytes) -> bytes:
    name = entry[entry.index(b" ") + 1 : -21]
    return name + b"/" if entry.startswith(b"4") else name


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def _is_plain(entry: bytes) -> bool:
    return entry.startswith(b"100")


def _parsed(data: bytes) -> Folder:
    keys, entries = [], []
    at = 0
    while at < len(data):
        end = data.find(b"\0", at)
        if end < 0 or end + 21 > len(data) or b" " not in data[at:end]:
            raise Damaged("a tree is malformed")
        entries.append(data[at : end + 21])
        keys.append(_key_in(entries[-1]))
        at = end + 21
    return Folder(tuple(keys), tuple(entries))


def _put(keys: list[bytes], entries: list[bytes], name: str, folder: bool, oid: str | None) -> None:
    """Set or remove one name. A file takes the place of a folder of its name, and the other way round."""
    for kind in (folder, not folder) if oid else (folder,):
        key = _key(name, kind)
        at = bisect_left(keys, key)
        if at < len(keys) and keys[at] == key:
            del keys[at], entries[at]
    if oid:
        key = _key(name, folder)
        at = bisect_left(keys, key)
        keys.insert(at, key)
        mode = b"40000" if folder else b"100644"
        entries.insert(at, b"%b %b\0%b" % (mode, _key(name, False), bytes.fromhex(oid)))
