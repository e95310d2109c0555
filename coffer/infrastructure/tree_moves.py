"""Texts that each of two sides has elsewhere: merged path by path they could be gone from both places.

Where a memory holds a text twice (a merge of stores that was cut off can leave that), one machine may take away the
one and another machine the other, each because it has the text still. The rule of a merge, what one side removed and
the other left alone goes, would remove both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from coffer.domain.sync import said
from gitsync.objects import Objects
from lanes.layout import STORE_FILE


def keep_moved(objects: Objects, over: str, one: str, other: str, edits: dict[str, str | None]) -> None:
    """Let a file stay that one side removed while it had all of its lines elsewhere, if the merge has them nowhere.

    `edits` turn the tree `one` into the merge with `other`, over the tree `over`. The same for either order.
    """
    here, there = (
        {path: (old, new) for path, old, new in objects.differences(over, side)} for side in (one, other)
    )
    moved = [
        (path, old, side)
        for changed, unchanged, side in ((here, there, one), (there, here, other))
        for path, (old, new) in changed.items()
        if old and new is None and unchanged.get(path, ("", ""))[1] is not None
        if path.rpartition("/")[2] != STORE_FILE
    ]
    if not moved or not here or not there:
        return
    places = {*here, *there, *edits}
    lines = {side: _lines(objects, side, places, {}) for side in (one, other)}
    merged = _lines(objects, one, places, edits)
    for path, old, side in moved:
        text = said(objects.read(old))
        if text <= lines[side] and not text <= merged:
            if side == one:
                edits[path] = objects.blob_at(other, path)
            else:
                edits.pop(path, None)


def _lines(
    objects: Objects, tree: str, places: Collection[str], edits: Mapping[str, str | None]
) -> set[bytes]:
    blobs = {edits[path] if path in edits else objects.blob_at(tree, path) for path in places}
    return {line for blob in blobs if blob for line in said(objects.read(blob))}
