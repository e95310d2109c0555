"""Chains of commits that no branch holds yet, each noted in a file of its own until one does.

The file is called after the chain's two ends and holds the id of the upper one, just as the branch will: it is
flushed with the chain's objects, linked to the branch's lock, and in the end renamed to be the branch. What a
crash or a busy repository leaves behind is found here again, with author, message and time as they were.
A chain is `prepared` while it is unknown whether its files were put in place, `pending` once they were.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from gitsync.refs import NO_COMMIT
from gitsync.scratch import write_new

_PREPARED, _PENDING = "prepared", "pending"


@dataclass(frozen=True, slots=True)
class Record:
    """A chain from above `base` up to `tip`; `installed` says that the files of its paths were put in place."""

    path: str
    base: str | None
    tip: str
    installed: bool

    def keep(self) -> None:
        """Note that the chain's files are in place and its commits still to be made."""
        os.replace(self.path, _path(os.path.dirname(self.path), _PENDING, self.base, self.tip))

    def drop(self) -> None:
        """Forget the chain."""
        with suppress(FileNotFoundError):
            os.unlink(self.path)


def write_record(scratch: str, base: str | None, tip: str) -> Record:
    """Note a chain whose objects are written."""
    path = _path(scratch, _PREPARED, base, tip)
    write_new(path, tip.encode() + b"\n")
    return Record(path, base, tip, False)


def records(scratch: str) -> list[Record]:
    """Return the chains that wait: those whose files are in place first, older before newer."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for entry in os.scandir(scratch):
            kind, *ends = entry.name.split("-")
            if kind in (_PREPARED, _PENDING) and len(ends) == 2:
                base = None if ends[0] == NO_COMMIT else ends[0]
                record = Record(entry.path, base, ends[1], kind == _PENDING)
                found.append((not record.installed, entry.stat().st_mtime_ns, record))
    return [record for _, _, record in sorted(found, key=lambda item: item[:2])]


def _path(scratch: str, kind: str, base: str | None, tip: str) -> str:
    return os.path.join(scratch, f"{kind}-{base or NO_COMMIT}-{tip}")
