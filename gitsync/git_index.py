"""Git's index, changed by splicing our entries into it and leaving everything else as it is.

A commit that leaves the index alone would look to git as if the person had staged the removal of our file,
and their next commit would remove it. libgit2 rewrites the whole list and drops what it doesn't know, so here
the entries stay the bytes they are and ours go between them.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Mapping

from gitsync.index_format import (
    Listing,
    Stamp,
    encoded,
    parsed,
    recorded,
    records,
    stamp,
    without_trees,
)


class GitIndex:
    """The index file at `path`, parsed once for each version of it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lock = path + ".lock"
        self.time = (0, 0)  # when the file was written, seconds and nanoseconds
        self._listing = Listing()
        self._seen: tuple[int, int, int, bytes] | None = None

    def load(self) -> bool:
        """Read the file unless its version is the one in memory; False when there is none.

        Raises Damaged for a file that isn't an index, Blocked for one that we mayn't change.
        """
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                # The checksum at the end tells versions apart that an old clock can't.
                file.seek(max(0, status.st_size - 20))
                seen = (status.st_mtime_ns, status.st_size, status.st_ino, file.read())
                if self._seen != seen:
                    self.forget()
                    file.seek(0)
                    self._listing = parsed(file.read())
                    self._remember(seen)
        except FileNotFoundError:
            self.forget()
            return False
        return True

    @property
    def unmerged(self) -> bool:
        """Whether a merge has left entries to be settled."""
        return self._listing.unmerged

    def find(self, path: str) -> tuple[str, Stamp] | None:
        """Return id and recorded stamp of a path; None when git doesn't track it."""
        name, names = _bytes(path), self._listing.names
        at = bisect_left(names, name)
        return recorded(self._listing.entries[at]) if at < len(names) and names[at] == name else None

    def id_of(self, path: str) -> str | None:
        """Return the id of a path; None when git doesn't track it."""
        found = self.find(path)
        return found[0] if found else None

    def vouches(self, name: bytes, oid: bytes, status: os.stat_result) -> bool:
        """Tell whether a file of this status is known to hold the blob `oid`, so that it needn't be read."""
        names = self._listing.names
        at = bisect_left(names, name)
        if at == len(names) or names[at] != name or self._listing.entries[at][40:60] != oid:
            return False
        known = stamp(status)
        return records(self._listing.entries[at], known) and not self.is_racy(known)

    def is_racy(self, known: Stamp) -> bool:
        """Tell whether the file was written so late that the index can't vouch for it (git's `racy-git`)."""
        return known[2:4] >= self.time

    def splice(self, changes: Mapping[str, bytes | None]) -> tuple[bytes, bytes]:
        """Set or drop entries in memory; return the whole index as the bytes of its file, and their checksum."""
        listing = self._listing
        self._seen = None  # until `install`, memory and file differ
        for path, new in changes.items():
            name = _bytes(path)
            self._drop(name, name + b"\0")
            if new is not None:
                # A file can't stand beside a folder of its name.
                self._drop(name + b"/", name + b"0")
                for folder in _above(name):
                    self._drop(folder, folder + b"\0")
                at = bisect_left(listing.names, name)
                listing.names.insert(at, name)
                listing.entries.insert(at, new)
        folders = {b"", *(folder for path in changes for folder in _above(_bytes(path)))}
        listing.extensions = [
            (kind, without_trees(data, folders) if kind == b"TREE" else data)
            for kind, data in listing.extensions
        ]
        return encoded(listing)

    def install(self, written: str, checksum: bytes) -> None:
        """Make the file `written`, which holds what `splice` returned, the index."""
        os.replace(written, self.path)
        status = os.stat(self.path)
        self._remember((status.st_mtime_ns, status.st_size, status.st_ino, checksum))

    def forget(self) -> None:
        """Begin from an empty index, and read the file again next time."""
        self._listing, self._seen = Listing(), None

    def _remember(self, seen: tuple[int, int, int, bytes]) -> None:
        self._seen = seen
        self.time = divmod(seen[0], 10**9)

    def _drop(self, first: bytes, last: bytes) -> None:
        names = self._listing.names
        low, high = bisect_left(names, first), bisect_left(names, last)
        del names[low:high], self._listing.entries[low:high]


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _above(name: bytes) -> list[bytes]:
    """Return the folders that a path is in, without the root."""
    return [name[:at] for at, byte in enumerate(name) if byte == 0x2F]
