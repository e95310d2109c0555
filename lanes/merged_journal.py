"""Two versions of a day's journal into one: every entry of both, but those that one of them removed."""

from __future__ import annotations

from lanes import file_text
from lanes.errors import Unreadable
from lanes.journal import raw_entries
from lanes.union import Piece, join, lines_of, newline_of, prose, union


def merge_journal(base: bytes | None, one: bytes | None, other: bytes | None) -> bytes | None:
    """Merge two versions; None where nothing is left. A file that isn't there is one whose entries were all removed.

    Entries are known by time, source and body, and stand in that order; what people wrote above the first is merged
    line by line. Raises `Unreadable` for a side that is, and where the entries would not be read back.
    """
    (top, entries), (other_top, other_entries) = _parts(one), _parts(other)
    try:
        old_top, old_entries = _parts(base)
    except Unreadable:
        old_top, old_entries = [], []
    head = union(old_top, top, other_top)
    merged = sorted(union(old_entries, entries, other_entries), key=lambda piece: piece.key)
    if not head and not merged:
        return None
    result = file_text.encode(join([*head, *merged], newline_of(one, other)))
    if _parts(result) != (head, merged):
        raise Unreadable("the entries of both sides don't fit into one file")
    return result


def _parts(data: bytes | None) -> tuple[list[Piece], list[Piece]]:
    if data is None:
        return [], []
    preamble, entries = raw_entries(data)
    newline = newline_of(data)
    return prose(lines_of(preamble.rstrip())), [
        Piece((entry.time, entry.source, entry.body), newline, raw.rstrip() + newline)
        for entry, raw in entries
    ]
