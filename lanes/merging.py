"""Two versions of a file of a store into one, by the lane that it belongs to.

Decided by content alone, and the same for either order of the two: machines that merge the same versions get the
same bytes. No conflict marker is ever written. Where two texts can't become one, both stay: the one with the plain
name is that which can be read, then the one with the larger SHA-256; the other stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from lanes import file_text, frontmatter, lane_of
from lanes.errors import Unreadable
from lanes.handoff import read_scene
from lanes.journal import read_journal
from lanes.layout import SUPERSEDED
from lanes.merged_config import merge_config
from lanes.merged_journal import merge_journal
from lanes.merged_notes import MergeLines, merge_note
from lanes.merged_rules import merge_rules
from lanes.rules import read_rules
from lanes.store_config import read_config

__all__ = ["CONFLICT_MARK", "MergeLines", "Merged", "conflict_original", "conflict_path", "merge"]

CONFLICT_MARK = ".conflict-"
"""Stands in the name of every second version."""

_NAME = re.compile(r"(?P<stem>.+?)(?P<mark>(?:\.conflict-[0-9a-f]{8})*)(?P<ending>\.[^.]{1,16})?", re.DOTALL)
_LONGEST_NAME = 255  # bytes, on nearly every file system
_UNIONS = {"bullets": merge_rules, "entries": merge_journal, "keys": merge_config}
_READ: dict[str, Callable[[bytes], object]] = {
    "bullets": read_rules,
    "entries": read_journal,
    "keys": read_config,
    "lines": lambda data: frontmatter.parse(file_text.decode(data)),
    "newest": lambda data: read_scene("", data).updated_at,
}


@dataclass(frozen=True, slots=True)
class Merged:
    """What becomes of a path.

    `content` stands there afterwards, None: nothing does. `copy` is a path inside the store and the text that is
    kept there, beside it. `kept`: an edited version stayed although the other side had removed the file.
    """

    content: bytes | None
    copy: tuple[str, bytes] | None = None
    kept: bool = False


def merge(
    path: str, base: bytes | None, one: bytes | None, other: bytes | None, merge_lines: MergeLines
) -> Merged:
    """Merge two versions of a file over their common one, each None where there is none.

    `path` is inside a store, or one of the tree that lies outside every store.
    """
    if one == other or other == base:
        return Merged(one)
    if one == base:
        return Merged(other)
    lane = lane_of(path)
    way = lane.merge if lane else "lines"
    try:
        if way in _UNIONS:
            return Merged(_UNIONS[way](base, one, other))
        if way == "lines" and one is not None and other is not None:
            return Merged(merge_note(base, one, other, merge_lines))
    except Unreadable:
        pass  # both are kept as they are
    if one is None or other is None:
        edited = one if other is None else other
        return Merged(edited, kept=way == "lines" and not path.startswith(f"{SUPERSEDED}/"))
    loser, winner = sorted((one, other), key=lambda data: _rank(way, data))
    if way not in ("lines", *_UNIONS) or way == "keys" or not loser.strip():
        return Merged(winner)  # the other is in git's history
    # Where journals lie only days are read.
    place = f"{SUPERSEDED}/{path.rpartition('/')[2]}" if way == "entries" else path
    return Merged(winner, (conflict_path(place, loser), loser))


def conflict_path(path: str, content: bytes) -> str:
    """Name the place beside a path where a second version is kept, after its content; a copy's is its original's."""
    folder, slash, name = path.rpartition("/")
    match = _NAME.fullmatch(name)
    stem, ending = (match["stem"], match["ending"] or "") if match else (name, "")
    mark = f"{CONFLICT_MARK}{sha256(content).hexdigest()[:8]}"
    room = _LONGEST_NAME - len(f"{mark}{ending}".encode("utf-8", "surrogateescape"))
    short = stem.encode("utf-8", "surrogateescape")[:room].decode("utf-8", "ignore")
    return f"{folder}{slash}{short}{mark}{ending}"


def conflict_original(path: str) -> str | None:
    """Return the path beside which a second version is kept, None for a path that isn't one's."""
    folder, slash, name = path.rpartition("/")
    match = _NAME.fullmatch(name)
    return f"{folder}{slash}{match['stem']}{match['ending'] or ''}" if match and match["mark"] else None


def _rank(way: str, data: bytes) -> tuple[bool, str, bytes]:
    """Order two versions; of handoffs that can be read the newer is kept."""
    digest = sha256(data).digest()
    try:
        read = _READ.get(way, bytes)(data)
    except Unreadable:
        return False, "", digest
    return True, read if isinstance(read, str) else "", digest
