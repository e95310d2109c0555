"""A batch of operations being planned: the disk as it is, with what earlier operations decided on top."""

from __future__ import annotations

from coffer.domain.changes import ChangeSet
from coffer.infrastructure.tree_files import Stamp, TreeFiles


class Draft:
    """The view that plans get. It remembers the version of every file it showed, for the check before renaming."""

    def __init__(self, files: TreeFiles) -> None:
        self._files = files
        self._decided: dict[str, bytes | None] = {}
        self._shown: dict[str, Stamp | None] = {}
        self._read: dict[str, bytes | None] = {}

    def read(self, path: str) -> bytes | None:
        if path in self._decided:
            return self._decided[path]
        if path not in self._read:
            found = self._files.read(path)
            self._shown.setdefault(path, found[1] if found else None)
            self._read[path] = found[0] if found else None
        return self._read[path]

    def files(self, folder: str) -> list[str]:
        paths = {path for path, _ in self._files.walk(folder)}
        for path, content in self._decided.items():
            if path.startswith(f"{folder}/"):
                if content is None:
                    paths.discard(path)
                else:
                    paths.add(path)
        return sorted(paths)

    def decide(self, change_set: ChangeSet) -> None:
        """Take an operation's changes as made."""
        for change in change_set.changes:
            if change.path not in self._shown:
                self._shown[change.path] = self._files.stamp(change.path)
            self._decided[change.path] = change.content

    def decided(self) -> dict[str, bytes | None]:
        """Return what each changed path holds at the end of the batch."""
        return dict(self._decided)

    def is_current(self, path: str) -> bool:
        """Tell whether a file is still the version that the plans went by."""
        return self._files.stamp(path) == self._shown[path]
