"""Look at a tree that came from elsewhere before anything of it is written.

Only plain files in plain folders are let in, under names that git can't take for its own and of a size that
somebody could have written. What the names mean is the caller's to judge. Nothing is inflated: sizes are asked
for, and what is equal to the tree that is known already isn't opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from gitsync.objects import Folder, Objects

MAX_BYTES = 8 * 1024 * 1024
MAX_TREE_BYTES = 32 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024
MAX_DEPTH = 40
MAX_ENTRIES = 200_000
MAX_TOLD = 20

_FOLDER = b"40000"
_FILES = (b"100644", b"100664", b"100755")
_REFUSED = {b"120000": "is a symbolic link", b"160000": "is a submodule"}

Judge = Callable[[str, str], str | None]
"""Says why a path (with the id of its blob) isn't let in; None where it is."""


@dataclass(slots=True)
class Vetted:
    """What was found: refused paths with the reason, and the new files."""

    refused: list[tuple[str, str]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def vet(objects: Objects, known: str | None, tree: str, judge: Judge) -> Vetted:
    """Look at everything in `tree` that isn't in the tree `known` at the same place.

    Raises Damaged where something is missing, or isn't what it should be.
    """
    vetted = Vetted()
    _Look(objects, judge, vetted).below(known, tree, "", 0)
    return vetted


class _Look:
    def __init__(self, objects: Objects, judge: Judge, vetted: Vetted) -> None:
        self._objects = objects
        self._size = objects.size
        self._judge = judge
        self._vetted = vetted
        self._seen = 0
        self._bytes = 0

    def below(self, known: str | None, tree: str, prefix: str, depth: int) -> None:
        vetted = self._vetted
        if depth > MAX_DEPTH:
            vetted.refused.append((prefix, f"is more than {MAX_DEPTH} folders deep"))
        elif self._size(tree, "tree") > MAX_TREE_BYTES:
            vetted.refused.append((prefix or ".", "holds too many files"))
        else:
            before, now = self._objects.folder(known), self._objects.folder(tree)
            if not _is_in_order(now):
                vetted.refused.append((prefix or ".", "has names twice, or not in git's order"))
                return
            old = set(before.entries)
            for entry in now.entries:
                if len(vetted.refused) >= MAX_TOLD or self._seen > MAX_ENTRIES:
                    return
                if entry not in old:
                    self._entry(before, entry, prefix, depth)

    def _entry(self, before: Folder, entry: bytes, prefix: str, depth: int) -> None:
        self._seen += 1
        mode, _, rest = entry.partition(b" ")
        raw, oid = rest[:-21], rest[-20:].hex()
        shown = prefix + raw.decode("utf-8", "backslashreplace")
        refuse = self._vetted.refused.append
        try:
            path = prefix + raw.decode("utf-8")
        except UnicodeDecodeError:
            refuse((shown, "has a name that isn't UTF-8"))
            return
        if self._seen > MAX_ENTRIES:
            refuse((shown, f"comes after {MAX_ENTRIES} others, which is more than a memory holds"))
        elif mode in _REFUSED:
            refuse((shown, _REFUSED[mode]))
        elif b"/" in raw or raw in (b"", b".", b"..") or is_gits(raw):
            refuse((shown, "has a name that git keeps for itself"))
        elif mode == _FOLDER:
            name = raw.decode("utf-8")
            self.below(before.find(name, folder=True), oid, path + "/", depth + 1)
        elif mode in _FILES:
            self._file(path, oid)
        else:
            refuse((shown, "is neither a file nor a folder"))

    def _file(self, path: str, oid: str) -> None:
        vetted = self._vetted
        vetted.files.append(path)
        size = self._size(oid, "blob")
        self._bytes += size
        if size > MAX_BYTES:
            vetted.refused.append((path, f"is larger than {MAX_BYTES >> 20} MiB"))
        elif self._bytes > MAX_TOTAL_BYTES:
            vetted.refused.append((path, f"comes after more than {MAX_TOTAL_BYTES >> 20} MiB of new files"))
        elif reason := self._judge(path, oid):
            vetted.refused.append((path, reason))


def _is_in_order(folder: Folder) -> bool:
    """Tell whether each name is there once and can be found by halving, as git writes a tree."""
    names = {key.rstrip(b"/") for key in folder.keys}
    return len(names) == len(folder.keys) and all(one < other for one, other in pairwise(folder.keys))


def is_gits(raw: bytes) -> bool:
    """Tell whether some file system takes a name for `.git`, or git reads the file itself as configuration.

    HFS+ drops invisible characters, NTFS trailing dots and blanks and what follows a colon, and has short names
    (git's own `is_hfs_dotgit` and `is_ntfs_dotgit`).
    """
    name = "".join(c for c in raw.decode("utf-8", "replace") if c not in _IGNORED).casefold()
    name = name.partition(":")[0].rstrip(". ")
    return name in (".git", ".gitmodules") or name.startswith(("git~", "gitmod~"))


_IGNORED = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
