"""Two texts that grew from one, merged line by line with libgit2's file merge, in memory."""

from __future__ import annotations

import pygit2
from pygit2.enums import FileMode

_BLOB = 3  # git's number for the type of an object


class _Memory(pygit2.OdbBackend):
    """The three texts, where libgit2 looks for objects."""

    def __init__(self) -> None:
        super().__init__()
        self._blobs: dict[str, bytes] = {}

    def add(self, data: bytes) -> pygit2.IndexEntry:
        oid = pygit2.hash(data)
        self._blobs[str(oid)] = data
        return pygit2.IndexEntry("text", oid, FileMode.BLOB)

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        return _BLOB, self._blobs[str(oid)]

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        return str(oid) in self._blobs


def merge_lines(base: bytes, one: bytes, other: bytes) -> bytes | None:
    """Merge two versions over their common one; None where both changed the same lines, or neighbouring ones.

    The same for either order of the two. Bytes stay what they are, line ends too, and no conflict marker is ever
    added. An empty base is none: two different texts then don't merge, nor do any that aren't UTF-8 without NUL,
    except where one side alone was changed.
    """
    if one == other or other == base:
        return one
    if one == base:
        return other
    if not all(map(_is_text, (base, one, other))):
        return None
    memory = _Memory()
    objects = pygit2.Odb()
    objects.add_backend(memory, 1)
    git = pygit2.Repository()
    git.set_odb(objects)
    first, second = sorted((one, other))
    merged = git.merge_file_from_index(memory.add(base), memory.add(first), memory.add(second))
    return merged.contents.encode() if merged.automergeable else None


def _is_text(data: bytes) -> bool:
    if not data or b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
