"""Write many objects as one pack with its index (git's `gitformat-pack`, version 2).

A chain of thirty commits is some three hundred objects. As files of their own they cost a folder entry, an
inode and a flush each; as a pack they are two files. Trees of a chain differ from one another by an entry, so
each is stored as what changed against the one before it.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Callable, Mapping

from gitsync.scratch import write_new

_NUMBERS = {b"commit": 1, b"tree": 2, b"blob": 3}
_REF_DELTA = 7
_MAGIC = b"\xfftOc"
# Reading a delta means reading all those below it.
_DEEPEST = 40


def write_pack(
    objects: Mapping[str, tuple[bytes, bytes]], bases: Mapping[str, str], scratch: str, folder: str
) -> list[str]:
    """Write `objects` (id to kind and content) as a pack in `folder` by way of `scratch`; return its files.

    `bases` names for some trees an older one that they resemble. The index goes last: without it git doesn't
    see the pack.
    """
    entries: list[tuple[bytes, int, int]] = []  # id, checksum, offset
    depth: dict[str, int] = {}
    data = bytearray(b"PACK" + struct.pack(">II", 2, len(objects)))
    for oid, (kind, content) in objects.items():
        base = bases.get(oid)
        offset = len(data)
        if base in depth and depth[base] < _DEEPEST:
            depth[oid] = depth[base] + 1
            delta = _delta(objects[base][1], content)
            data += _header(_REF_DELTA, len(delta)) + bytes.fromhex(base) + zlib.compress(delta, 1)
        else:
            depth[oid] = 0
            data += _header(_NUMBERS[kind], len(content)) + zlib.compress(content, 1)
        entries.append((bytes.fromhex(oid), zlib.crc32(memoryview(data)[offset:]), offset))
    data += hashlib.sha1(data).digest()
    entries.sort()
    name = "pack-" + hashlib.sha1(b"".join(oid for oid, _, _ in entries)).hexdigest()
    written = []
    for suffix, content in ((".pack", bytes(data)), (".idx", _index(entries, bytes(data[-20:])))):
        temporary = os.path.join(scratch, name + suffix)
        write_new(temporary, content, mode=0o444)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.replace(temporary, os.path.join(folder, name + suffix))
        written.append(os.path.join(folder, name + suffix))
    return written


def objects_in(index: str) -> int:
    """Return how many objects the pack of an index file holds; 0 when it isn't such a file."""
    with open(index, "rb") as file:
        head = file.read(8 + 1024)
    if len(head) < 8 + 1024 or not head.startswith(_MAGIC):
        return 0
    return int.from_bytes(head[-4:])


def ids_in(index: str) -> list[str]:
    """Return the ids of the objects of a pack, from its index file."""
    with open(index, "rb") as file:
        data = file.read()
    start, count = 8 + 1024, int.from_bytes(data[8 + 1020 : 8 + 1024])
    return [data[at : at + 20].hex() for at in range(start, start + 20 * count, 20)]


def _index(entries: list[tuple[bytes, int, int]], checksum: bytes) -> bytes:
    counts = [0] * 256
    for oid, _, _ in entries:
        counts[oid[0]] += 1
    total, fanout = 0, []
    for count in counts:
        total += count
        fanout.append(total)
    index = _MAGIC + struct.pack(">I256I", 2, *fanout)
    index += b"".join(oid for oid, _, _ in entries)
    index += struct.pack(f">{len(entries)}I", *(crc for _, crc, _ in entries))
    index += struct.pack(f">{len(entries)}I", *(offset for _, _, offset in entries))
    index += checksum
    return index + hashlib.sha1(index).digest()


def _header(kind: int, size: int) -> bytes:
    """Encode type and size: four bits of size beside the type, then seven a byte, lowest first."""
    first, size = kind << 4 | size & 15, size >> 4
    return bytes([first | 0x80]) + _size(size) if size else bytes([first])


def _size(size: int) -> bytes:
    encoded = bytearray()
    while size > 127:
        encoded.append(size & 127 | 128)
        size >>= 7
    encoded.append(size)
    return bytes(encoded)


def _delta(old: bytes, new: bytes) -> bytes:
    """Describe `new` as the start of `old`, new bytes, and the end of `old`."""
    shorter = min(len(old), len(new))
    start = _common(shorter, lambda n: old[:n] == new[:n])
    end = _common(shorter - start, lambda n: old[len(old) - n :] == new[len(new) - n :])
    delta = _size(len(old)) + _size(len(new)) + _copy(0, start)
    middle = new[start : len(new) - end]
    for at in range(0, len(middle), 127):
        piece = middle[at : at + 127]
        delta += bytes([len(piece)]) + piece
    return delta + _copy(len(old) - end, end)


def _common(most: int, same: Callable[[int], bool]) -> int:
    """Return the largest n up to `most` for which `same(n)`, which holds for all smaller ones too."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if same(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _copy(offset: int, size: int) -> bytes:
    """Encode copies of `size` bytes of the base from `offset`, at most 64 KiB each."""
    encoded = bytearray()
    while size:
        part = min(size, 0xFFFF)
        command = offset.to_bytes(4, "little") + part.to_bytes(2, "little")
        present = [n for n in range(6) if command[n]]
        encoded.append(0x80 | sum(1 << n for n in present))
        encoded += bytes(command[n] for n in present)
        offset, size = offset + part, size - part
    return bytes(encoded)
