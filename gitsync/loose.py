"""Git objects as files of their own.

Written here and not by libgit2, which looks through every pack before each write and so takes twice as long;
and because an object that is written again replaces a file that a loss of power left empty.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator

from gitsync.scratch import write_new


def write_object(oid: str, kind: bytes, content: bytes, scratch: str, folder: str) -> str:
    """Write one object below `folder` by way of a file in `scratch`; return where it is."""
    place = os.path.join(folder, oid[:2], oid[2:])
    temporary = os.path.join(scratch, f"object-{os.getpid()}")
    write_new(temporary, zlib.compress(b"%b %d\0%b" % (kind, len(content), content), 1), mode=0o444)
    try:
        os.replace(temporary, place)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        os.replace(temporary, place)
    return place


def loose_objects_in(folder: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield id and file of every loose object below `folder`."""
    for shard in os.scandir(folder):
        if len(shard.name) == 2 and shard.is_dir():
            for entry in os.scandir(shard.path):
                if len(entry.name) == 38:
                    yield shard.name + entry.name, entry
