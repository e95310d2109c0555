"""What changed in a store's folder since it was last looked at, told from the folder alone.

This runs before every recall, so its inner loop does nothing but stat and compare. A file is looked into
only when modification time, change time, size or inode differ (the change time catches an edit that puts
the modification time back), or when it was so fresh last time that a later edit may carry the same times
(https://git-scm.com/docs/racy-git). Folders are opened one inside the other and symbolic links refused, so
nothing outside the store is ever seen.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from coffer.infrastructure.index.readers import READERS, TOPS
from lanes import lane_of

Stamp = tuple[int, int, int, int]
"""Modification and change time in nanoseconds, size, inode."""

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH = 32
_SLACK = 100_000_000
_COARSE_SLACK = 2_500_000_000
_NO_STAMPS: Mapping[str, Stamp] = {}


def stamp_of(found: os.stat_result) -> Stamp:
    """Return what tells one state of a file from the next without reading it."""
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def is_racy(stamp: Stamp, now: int) -> bool:
    """Say whether a file was changed so shortly before `now` that one more change may not show.

    Times of whole seconds belong to a file system that rounds them (FAT to two).
    """
    newest = max(stamp[:2])
    return newest > now - (_COARSE_SLACK if newest % 1_000_000_000 == 0 else _SLACK)


@dataclass(slots=True)
class Seen:
    """A store's files as they were last seen: stamps by folder and name, and which of them were racy.

    `calm` are racy ones that were verified since, which the index doesn't know yet. `problems` are those of
    the last scan that the index doesn't keep, as (path, reason).
    """

    stamps: dict[str, dict[str, Stamp]] = field(default_factory=dict)
    racy: dict[str, set[str]] = field(default_factory=dict)
    calm: set[str] = field(default_factory=set)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def knows(self, path: str) -> bool:
        """Say whether the index has a row for this file."""
        folder, _, name = path.rpartition("/")
        return name in self.stamps.get(folder, _NO_STAMPS)

    def keep(self, path: str, stamp: Stamp, racy: bool) -> None:
        """Note the state of a file."""
        folder, _, name = path.rpartition("/")
        self.stamps.setdefault(folder, {})[name] = stamp
        if racy:
            self.racy.setdefault(folder, set()).add(name)
        elif folder in self.racy:
            self.racy[folder].discard(name)

    def drop(self, path: str) -> None:
        """Forget a file that is gone."""
        folder, _, name = path.rpartition("/")
        self.stamps.get(folder, {}).pop(name, None)
        self.racy.get(folder, set()).discard(name)


@dataclass(slots=True)
class Changes:
    """What a scan found: `suspects` (folder, names) may have changed or gone, `problems` are (path, reason)."""

    suspects: list[tuple[str, list[str]]] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


def scan(root: str, seen: Seen) -> Changes:
    """Compare the recalled lanes of the store in `root` with what was seen of them.

    A store without a folder is empty. A folder that can't be listed is a problem, and what was seen in it
    stays as it is.
    """
    walk = _Walk(seen)
    try:
        top = os.open(root, OPEN_FOLDER)
    except FileNotFoundError:
        walk.look_for_lost_folders()
    except OSError as error:
        walk.changes.problems.append(("", f"can't be listed: {error.strerror}"))
    else:
        try:
            for name in TOPS:
                walk.enter(top, name, name)
        finally:
            os.close(top)
        walk.look_for_lost_folders()
    return walk.changes


class _Walk:
    def __init__(self, seen: Seen) -> None:
        self.changes = Changes()
        self._seen = seen
        self._visited: set[str] = set()
        self._shut: list[str] = []

    def enter(self, parent: int, name: str, folder: str) -> None:
        """Scan the folder `name` of the open folder `parent`."""
        try:
            if folder.count("/") > _MAX_DEPTH:
                raise OSError(0, "nested too deeply")
            handle = os.open(name, OPEN_FOLDER, dir_fd=parent)
            try:
                self._list(handle, folder)
            finally:
                os.close(handle)
        except FileNotFoundError:
            return
        except OSError as error:
            self._shut.append(folder + "/")
            self.changes.problems.append((folder, f"can't be listed: {error.strerror}"))

    def _list(self, handle: int, folder: str) -> None:
        stamps = self._seen.stamps.get(folder, _NO_STAMPS)
        last = stamps.get
        suspects: list[str] = []
        others: list[os.DirEntry[str]] = []
        same = 0
        with os.scandir(handle) as entries:
            for entry in entries:
                stamp = last(entry.name)
                if stamp is None:
                    others.append(entry)
                    continue
                try:
                    now = entry.stat(follow_symlinks=False)
                except OSError:
                    suspects.append(entry.name)
                    continue
                if stamp == (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino):
                    same += 1
                else:
                    suspects.append(entry.name)
        self._visited.add(folder)
        if same + len(suspects) != len(stamps):
            # Gone, or skipped by the listing, as happens while a folder changes: reading tells.
            suspects += stamps.keys() - set(os.listdir(handle))
        suspects += self._seen.racy.get(folder, ())
        for entry in others:
            self._look_at(handle, folder, entry, suspects)
        if suspects:
            self.changes.suspects.append((folder, sorted(set(suspects))))

    def _look_at(self, handle: int, folder: str, entry: os.DirEntry[str], suspects: list[str]) -> None:
        """Sort an entry that isn't known: a folder to enter, a file to read, or neither."""
        name = entry.name
        path = f"{folder}/{name}"
        if name.startswith("."):
            return
        try:
            name.encode()
        except UnicodeEncodeError:
            self.changes.problems.append((path.encode(errors="replace").decode(), "file name is not UTF-8"))
            return
        if entry.is_symlink():
            self.changes.problems.append((path, "symbolic link, not followed"))
        elif "\\" in name:  # a separator elsewhere, and so in no lane
            self.changes.problems.append((path, "a backslash in the name, not read"))
        elif entry.is_dir(follow_symlinks=False):
            self.enter(handle, name, path)
        elif (lane := lane_of(path)) and lane.name in READERS:
            suspects.append(name)

    def look_for_lost_folders(self) -> None:
        """Suspect the files of every known folder that wasn't met, unless it lies in one that is shut."""
        for folder in self._seen.stamps.keys() - self._visited:
            if not any(f"{folder}/".startswith(shut) for shut in self._shut):
                self.changes.suspects.append((folder, sorted(self._seen.stamps[folder])))
