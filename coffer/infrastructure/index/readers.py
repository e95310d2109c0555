"""How a file of each recalled lane becomes documents. A lane without a reader here isn't scanned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lanes import LANES
from lanes.knowledge import Note, read_note

Entry = tuple[Note, str]
"""A text that is found on its own, and the ends of its neighbours for lanes whose texts follow each other."""


def _one_note(path: str, data: bytes) -> Sequence[Entry]:
    return [(read_note(path, data), "")]


READERS: Mapping[str, Callable[[str, bytes], Sequence[Entry]]] = {"inbox": _one_note, "topic": _one_note}
"""By lane name; a reader raises lanes.errors.Unreadable."""

TOPS: tuple[str, ...] = tuple(
    sorted({lane.folder.split("/")[0] for lane in LANES if lane.recalled and lane.name in READERS})
)
"""The folders of a store that are walked."""
