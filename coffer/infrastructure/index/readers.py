"""How a file of each recalled lane becomes documents. A lane without a reader here isn't scanned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lanes import LANES
from lanes.journal import entry_id, read_journal
from lanes.knowledge import Note, read_note

Entry = tuple[Note, str]
"""A text that is found on its own, and the ends of its neighbours for lanes whose texts follow each other."""

_NEIGHBOUR_CHARS = 200
_KINDS = ("user", "agent", "system")  # what stands in an entry's marker when nobody told a name


def _one_note(path: str, data: bytes) -> Sequence[Entry]:
    return [(read_note(path, data), "")]


def _every_entry(path: str, data: bytes) -> Sequence[Entry]:
    """Make a document of each entry of a day; people answer what stood before, so its end counts a little."""
    day = path.rpartition("/")[2].removesuffix(".md")
    entries = read_journal(data, day).entries
    bodies = ["", *(entry.body for entry in entries), ""]
    found = []
    for place, entry in enumerate(entries):
        note = Note(
            id=entry_id(entry) if entry.time else f"{path}#{place}",
            minted=False,
            lane="journal",
            title="",
            description="",
            actor="user" if entry.actor == "user" else "agent",
            agent=None if entry.actor in _KINDS else entry.actor,
            origin_session_id=None,
            created_at=entry.time or None,
            updated_at=entry.time or None,
            body=entry.body,
        )
        before, after = bodies[place][-_NEIGHBOUR_CHARS:], bodies[place + 2][:_NEIGHBOUR_CHARS]
        found.append((note, f"{before} {after}".strip()))
    return found


READERS: Mapping[str, Callable[[str, bytes], Sequence[Entry]]] = {
    "inbox": _one_note,
    "topic": _one_note,
    "journal": _every_entry,
}
"""By lane name; a reader raises lanes.errors.Unreadable."""

TOPS: tuple[str, ...] = tuple(
    sorted({lane.folder.split("/")[0] for lane in LANES if lane.recalled and lane.name in READERS})
)
"""The folders of a store that are walked."""
