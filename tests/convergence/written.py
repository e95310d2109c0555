"""What people have written on all machines, line by line: which lines have to be there once the machines agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields

MARKERS = (b"<<<<<<< ", b">>>>>>> ", b"\n=======\n")


@dataclass
class Figures:
    """What was done and seen, over all schedules."""

    schedules: int = 0
    operations: int = 0
    syncs: int = 0
    syncs_cut_off: int = 0
    kills: int = 0
    stores_merged: int = 0
    merges: int = 0
    conflicts_kept: int = 0
    lines_written: int = 0
    lines_deleted: int = 0
    lines_lost: int = 0
    divergences: int = 0
    markers: int = 0

    def __str__(self) -> str:
        return "\n".join(f"{name.replace('_', ' '):<16} {value}" for name, value in asdict(self).items())

    def add(self, other: Figures) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass
class Written:
    """Lines that are all different. What somebody deleted may be gone; a scene may be in history alone."""

    count: int = 0
    known: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    scenes: set[str] = field(default_factory=set)

    def new(self, what: str = "heron{} was seen at the pond.") -> str:
        """Make a line; it counts as soon as it is in `kept` or `scenes`."""
        self.count += 1
        line = what.format(f"{self.count:05d}")
        self.known.add(line)
        return line

    def of(self, text: str | bytes) -> set[str]:
        """Return the lines of ours that a file holds."""
        text = text if isinstance(text, str) else text.decode()
        return {plain(line) for line in text.splitlines()} & self.known

    def lost(self, files: Mapping[str, bytes], history: str) -> set[str]:
        """Return the lines that nobody deleted and that are in no file, or for scenes in no version of one."""
        there = self.lines({path: data for path, data in files.items() if "/handoff/" not in path}.values())
        return (self.kept - self.deleted - there) | {line for line in self.scenes if line not in history}

    def lines(self, contents: Iterable[bytes]) -> set[str]:
        return {line for content in contents for line in self.of(content)}


def plain(line: str) -> str:
    """Return a line without what makes it a rule."""
    return line.strip().removeprefix("- ")


def word(line: str) -> str:
    """Return the word that no other line has."""
    return line.split()[0]
