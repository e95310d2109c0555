"""What has to hold once no machine has anything new: one commit, nothing left aside, nothing lost, no marker."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tests.convergence.written import MARKERS, Figures, Written


class Machine(Protocol):
    """A home with the user's own git in it."""

    tree: Path

    def git(self, *arguments: str) -> str: ...


def files_in(tree: Path) -> dict[str, bytes]:
    """Return every file of a memory tree but git's own, by path."""
    found = {}
    for here, below, names in os.walk(tree):
        below[:] = [name for name in below if name != ".git"]
        for path in (Path(here, name) for name in names):
            found[str(path.relative_to(tree))] = path.read_bytes()
    return dict(sorted(found.items()))


def require_agreement(machines: Sequence[Machine], written: Written, figures: Figures) -> dict[str, bytes]:
    """Return the files that all machines have; AssertionError where they differ or lack a line."""
    heads = {machine.git("rev-parse", "HEAD") for machine in machines}
    dirty = [machine.git("status", "--porcelain") for machine in machines]
    files = files_in(machines[0].tree)
    markers = [path for path, data in files.items() if any(marker in data for marker in MARKERS)]
    scenes = machines[0].git("log", "-p", "--format=", "--full-history", "--", ":(glob)**/handoff/*.md")
    lost = written.lost(files, scenes)
    figures.divergences += len(heads) > 1 or any(dirty)
    figures.markers += len(markers)
    figures.lines_lost += len(lost)
    assert len(heads) == 1 and not any(dirty), (heads, dirty)
    assert not markers, markers
    assert not lost, {line: machines[0].git("log", "--format=%h %s", "-S", line) for line in lost}
    return files


def require_soundness(machines: Sequence[Machine], figures: Figures) -> None:
    """Hold the repositories to what git itself asks of them, and count what they hold."""
    for machine in machines:
        machine.git("fsck", "--strict")
    figures.merges += int(machines[0].git("rev-list", "--merges", "--count", "HEAD"))
    figures.conflicts_kept += sum(".conflict-" in path for path in files_in(machines[0].tree))
