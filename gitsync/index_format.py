"""The bytes of git's index: entries, extensions, and the stamps that tell whether a file may have changed.

Format: git's `gitformat-index`. Versions 2 to 4 are read; entries are held as versions 2 and 3 write them.
"""

from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import dataclass, field

from gitsync.errors import Blocked, Damaged

_FIXED = 62  # bytes of an entry before its name
_EXTENDED, _STAGE, _LONGEST_NAME = 0x4000, 0x3000, 0xFFF
PLAIN = 0o100644
_CUT = 0xFFFFFFFF
_STAMP = struct.Struct(">6I")
# What speaks of entries by position, or of bytes by offset; git makes them anew. FSMN says by position which
# files nobody has to look at, so a stale one would hide an edit.
_POSITIONAL = (b"EOIE", b"IEOT", b"FSMN")
_UNSUPPORTED = {
    b"link": "the git index is split; `git update-index --no-split-index` joins it",
    b"sdir": "the git index is sparse; `git sparse-checkout disable` makes it whole",
}

Stamp = tuple[int, int, int, int, int, int]
"""ctime and mtime as seconds and nanoseconds, inode, size: each cut to 32 bits, as the index keeps them."""


@dataclass(slots=True)
class Listing:
    """A parsed index: names and entries in git's order, the extensions we keep, whether a merge is open."""

    names: list[bytes] = field(default_factory=list)
    entries: list[bytes] = field(default_factory=list)
    extensions: list[tuple[bytes, bytes]] = field(default_factory=list)
    unmerged: bool = False
    version: int = 2


def parsed(data: bytes) -> Listing:
    """Return the parts of an index file.

    Raises Damaged for bytes that aren't an index, Blocked for an index that says it mustn't be changed
    without understanding it.
    """
    listing = Listing()
    checksum = data[-20:]
    try:
        magic, version, count = struct.unpack_from(">4sII", data)
        if magic != b"DIRC" or version not in (2, 3, 4):
            raise Damaged("the git index is damaged")
        # Zeros instead of a checksum are git's index.skipHash.
        if any(checksum) and hashlib.sha1(data[:-20]).digest() != checksum:
            raise Damaged("the git index is damaged")
        at = _read_entries(data, version, count, listing)
        while at < len(data) - 20:
            kind, size = struct.unpack_from(">4sI", data, at)
            if kind[:1].islower():
                raise Blocked(_UNSUPPORTED.get(kind, f"the git index has the unknown part {kind!r}"))
            if kind not in _POSITIONAL:
                listing.extensions.append((kind, data[at + 8 : at + 8 + size]))
            at += 8 + size
    except (struct.error, IndexError) as error:
        raise Damaged("the git index is damaged") from error
    return listing


def encoded(listing: Listing) -> tuple[bytes, bytes]:
    """Return an index file of these parts, and the checksum that ends it."""
    parts = [struct.pack(">4sII", b"DIRC", listing.version, len(listing.entries)), *listing.entries]
    parts += [kind + struct.pack(">I", len(data)) + data for kind, data in listing.extensions]
    body = b"".join(parts)
    return body, hashlib.sha1(body).digest()


def encoded_entry(name: bytes, mode: int, oid: str, status: os.stat_result | None) -> bytes:
    """Return the entry of a file; without its status git will look at the bytes themselves."""
    fields: tuple[int, ...] = (0, 0, 0, 0, 0, 0, mode, 0, 0, 0)
    if status:
        *times, inode, size = stamp(status)
        owner = (status.st_uid & _CUT, status.st_gid & _CUT)
        fields = (*times, status.st_dev & _CUT, inode, mode, *owner, size)
    flags = min(len(name), _LONGEST_NAME)
    return _padded(struct.pack(">10I20sH", *fields, bytes.fromhex(oid), flags) + name)


def recorded(entry: bytes) -> tuple[str, Stamp]:
    """Return id and stamp of an entry."""
    fields = struct.unpack_from(">10I", entry)
    return entry[40:60].hex(), (*fields[:4], fields[5], fields[9])


def records(entry: bytes, known: Stamp) -> bool:
    """Tell whether an entry has this stamp."""
    return entry[:16] + entry[20:24] + entry[36:40] == _STAMP.pack(*known)


def stamp(status: os.stat_result) -> Stamp:
    """Return what the index would keep of a file's status."""
    ctime, mtime = divmod(status.st_ctime_ns, 10**9), divmod(status.st_mtime_ns, 10**9)
    return (
        *(ctime[0] & _CUT, ctime[1], mtime[0] & _CUT, mtime[1]),
        *(status.st_ino & _CUT, status.st_size & _CUT),
    )


def without_trees(data: bytes, folders: set[bytes]) -> bytes:
    """Return a TREE extension that no longer knows the ids of `folders` (b"" is the root)."""
    out: list[bytes] = []

    def copy(at: int, above: bytes) -> int:
        name_end = data.index(b"\0", at)
        line_end = data.index(b"\n", name_end)
        count, below = map(int, data[name_end + 1 : line_end].split(b" "))
        end = line_end + 1 + (20 if count >= 0 else 0)
        folder = above + data[at:name_end]
        out.append(b"%b\0-1 %d\n" % (data[at:name_end], below) if folder in folders else data[at:end])
        for _ in range(below):
            end = copy(end, folder + b"/" if folder else b"")
        return end

    try:
        copy(0, b"")
    except ValueError:
        return b"\0-1 0\n"  # not as we know it: git makes it anew
    return b"".join(out)


def _read_entries(data: bytes, version: int, count: int, listing: Listing) -> int:
    """Read `count` entries into `listing` and return where they end."""
    at, name = 12, b""
    for _ in range(count):
        flags = data[at + 60] << 8 | data[at + 61]
        start = at + _FIXED
        if flags & _EXTENDED:
            start, listing.version = start + 2, 3
        if version == 4:
            cut, suffix = _varint(data, start)
            end = data.index(b"\0", suffix)
            name = name[: len(name) - cut] + data[suffix:end]
            listing.entries.append(_padded(data[at:start] + name))
            at = end + 1
        else:
            length = flags & _LONGEST_NAME
            end = start + length if length < _LONGEST_NAME else data.index(b"\0", start)
            name = data[start:end]
            after = end + 8 - (end - at) % 8
            listing.entries.append(data[at:after])
            at = after
        listing.names.append(name)
        listing.unmerged |= bool(flags & _STAGE)
    if at > len(data) - 20:
        raise IndexError(at)
    return at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read git's offset encoding: seven bits a byte, highest first, one added for every byte that follows."""
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = (value + 1 << 7) + (data[at] & 127)
    return value, at + 1


def _padded(entry: bytes) -> bytes:
    return entry + b"\0" * (8 - len(entry) % 8)
