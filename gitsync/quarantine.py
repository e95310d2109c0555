"""What came from elsewhere, kept apart from the repository until somebody has looked at it and lets it in.

A bare repository of its own that borrows the objects of ours. Only its packs move over; settings, refs and
whatever else a program leaves there go with it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from types import TracebackType

import pygit2

from gitsync.errors import Damaged, RemoteFailed
from gitsync.objects import Objects
from gitsync.refs import BRANCH, Refs
from gitsync.remote_said import not_git
from gitsync.repo import Repository
from gitsync.scratch import write_new

INCOMING = "incoming-"
TIP = "refs/coffer/incoming"

_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


class Incoming:
    """Commits that aren't in the repository yet, with `tip`, the newest; None where there are none.

    `objects` reads them and those that were here before. They are gone when this is closed, unless `admit` was
    called.
    """

    def __init__(self, repo: Repository) -> None:
        self.tip: str | None = None
        self._repo = repo
        os.makedirs(repo.scratch, mode=0o700, exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix=INCOMING, dir=repo.scratch)
        self._packs = os.path.join(self.folder, "objects", "pack")
        try:
            self._fill()
            self._git = pygit2.Repository(self.folder)
        except BaseException:
            self.discard()
            raise
        self.objects = Objects(self._git)

    def _fill(self) -> None:
        for part in ("objects/pack", "objects/info", "refs"):
            os.makedirs(os.path.join(self.folder, part))
        write_new(os.path.join(self.folder, "HEAD"), b"ref: refs/heads/none\n")
        write_new(os.path.join(self.folder, "config"), _CONFIG)
        # Relative, as an absolute one would have to be quoted.
        write_new(os.path.join(self.folder, "objects", "info", "alternates"), b"../../../objects\n")
        # From these the other side works out what is missing here.
        refs, git = Refs(self.folder), self._repo.git
        for number, name in enumerate(git.references):
            if name == BRANCH or name.startswith("refs/coffer/"):
                with suppress(Damaged):
                    commit = self._repo.refs.value(name)
                    if commit and self._repo.objects.has(commit):
                        refs.put(f"refs/coffer/here/{number}", commit)

    def __enter__(self) -> Incoming:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def check(self, size: int, objects: int) -> None:
        """Raise RemoteFailed where more than so many bytes or objects have come; may be called while they come."""
        bytes_here = count = 0
        above = os.path.dirname(self._packs)
        if any(len(name) == 2 for name in os.listdir(above)):
            raise not_git()  # single objects, fetched one by one
        for folder in (above, self._packs):
            for entry in os.scandir(folder):
                with suppress(FileNotFoundError):  # renamed meanwhile
                    bytes_here += entry.stat().st_size
                    if entry.name.startswith("tmp_pack_") or entry.name.endswith(".pack"):
                        count += objects_in(entry.path)
        if bytes_here > size:
            raise RemoteFailed(f"The remote sends more than {_mebibytes(size)}.", "size")
        if count > objects:
            raise RemoteFailed(f"The remote sends more than {objects} objects.", "size")

    def has_come(self, tip: str) -> None:
        """Take what is in the folder now as the commits up to `tip`; raises Damaged where that isn't one."""
        self.objects.commit(tip)
        self.tip = tip

    def admit(self) -> None:
        """Move the objects into the repository, flushed."""
        # git finds a pack by its index, so that goes last.
        names = sorted((n for n in os.listdir(self._packs) if n.startswith("pack-")), reverse=True)
        names = [name for name in names if name.endswith((".pack", ".idx", ".rev"))]
        if not names:
            return
        self._repo.disk.flush([os.path.join(self._packs, name) for name in names])
        place = os.path.join(self._repo.folder, "objects", "pack")
        os.makedirs(place, mode=0o700, exist_ok=True)
        for name in names:
            os.replace(os.path.join(self._packs, name), os.path.join(place, name))
        self._repo.disk.flush_folders([place])

    def discard(self) -> None:
        """Remove what wasn't admitted."""
        shutil.rmtree(self.folder, ignore_errors=True)


def objects_in(pack: str) -> int:
    """Return how many objects a pack says that it holds; 0 while that hasn't come (`gitformat-pack`)."""
    with open(pack, "rb", buffering=0) as file:
        head = file.read(12)
    return int.from_bytes(head[8:12], "big") if head[:4] == b"PACK" and len(head) == 12 else 0


def _mebibytes(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size} bytes"
