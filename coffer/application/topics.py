"""INDEX.md, the list of a store's topics, brought along with every change to one of them."""

from __future__ import annotations

from collections.abc import Sequence

from coffer.domain.changes import Change, TreeView
from coffer.domain.stores import StoreRef
from lanes import lane_of
from lanes.errors import Unreadable
from lanes.knowledge import read_note, render_index
from lanes.layout import INDEX_FILE, KNOWLEDGE


def with_index(view: TreeView, store: StoreRef, changes: list[Change]) -> list[Change]:
    """Return changes with that of a store's INDEX.md where they touch one of its topic documents."""
    folder = f"{store.folder}/"
    paths = (change.path for change in changes)
    if not any(_is_topic(path.removeprefix(folder)) for path in paths if path.startswith(folder)):
        return changes
    return [*changes, Change(folder + INDEX_FILE, _index_after(view, folder, changes))]


def _index_after(view: TreeView, folder: str, changes: Sequence[Change]) -> bytes | None:
    """Return INDEX.md as it reads once `changes` are made; None when no topic is left."""
    contents: dict[str, bytes | None] = dict.fromkeys(view.files(folder + KNOWLEDGE), b"")
    contents |= {change.path: change.content for change in changes if change.path.startswith(folder)}
    topics = []
    for path, content in sorted(contents.items()):
        inside = path.removeprefix(folder)
        if content is None or not _is_topic(inside):
            continue
        try:
            note = read_note(inside, content or view.read(path) or b"")
        except (Unreadable, OSError):
            continue
        topics.append(
            (inside.removeprefix(f"{KNOWLEDGE}/").removesuffix(".md"), note.title, note.description)
        )
    return render_index(topics).encode() if topics else None


def _is_topic(inside: str) -> bool:
    lane = lane_of(inside)
    return lane is not None and lane.name == "topic"
