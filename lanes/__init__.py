"""What memory looks like: pure text in, text out. No files, no clock, no network.

errors        why a file is left alone
file_text     bytes to text: encoding, size, conflict markers
names         portable file names, ULIDs, ids by path
layout        where each lane lives in the tree
checked_yaml  the harmless part of YAML
yaml_edit     YAML written, and edited without touching other lines
frontmatter   the block between two `---` at the top of a file
knowledge     facts, topic documents, INDEX.md
rules         what agents are told before every session
journal       what happened, a file a day
handoff       where the work on a branch stands
store_config  store.yaml
times         the one form of a time
merging       two versions of any file into one, by its lane: merged_notes, merged_rules, merged_journal,
              merged_config; below them union, of two lists
landmarks     headings, fenced code and tables of a markdown text
passages      markdown into pieces that recall can quote
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanes import layout


@dataclass(frozen=True, slots=True)
class Lane:
    """Describe one kind of file in a store: where it is and how it is treated.

    `recalled`: searched by recall. `synced`: in git. `derived`: made from the others, may be deleted.
    `counted`: one of the store's facts. `merge`: how two versions become one: by `lines`, `bullets`,
    `entries` or `keys`, the `newest` of two, or `never`.
    """

    name: str
    folder: str
    recalled: bool
    synced: bool
    derived: bool
    counted: bool
    merge: str


LANES: tuple[Lane, ...] = (
    #    name          folder             recalled synced derived counted merge
    Lane("inbox", layout.INBOX, True, True, False, True, "lines"),
    Lane("topic", layout.KNOWLEDGE, True, True, False, True, "lines"),
    Lane("index", layout.INDEX_FILE, False, False, True, False, "never"),
    Lane("rules", layout.RULES, False, True, False, False, "bullets"),
    Lane("journal", layout.JOURNAL, True, True, False, False, "entries"),
    Lane("handoff", layout.HANDOFF, False, True, False, False, "newest"),
    Lane("superseded", layout.SUPERSEDED, False, True, False, False, "lines"),
    Lane("log", layout.LOG_FILE, False, False, False, False, "never"),
    Lane("store", layout.STORE_FILE, False, True, False, False, "keys"),
)

_BY_NAME = {lane.name: lane for lane in LANES}
_FILES = {lane.folder.casefold(): lane for lane in LANES if "." in lane.folder}
_NESTED = {layout.KNOWLEDGE: "topic", layout.RULES: "rules", layout.SUPERSEDED: "superseded"}
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.md", re.ASCII)


def lane_of(path: str) -> Lane | None:
    """Tell which lane a path inside a store belongs to; None for loose, hidden and foreign files.

    Capitals don't count for the fixed names: on some file systems `index.md` is `INDEX.md`.
    """
    if fixed := _FILES.get(path.casefold()):
        return fixed
    parts = path.split("/")
    if not path.lower().endswith(".md") or not layout.is_inside(path) or any(p[0] == "." for p in parts):
        return None
    if path.startswith(layout.INBOX + "/"):
        return _BY_NAME["inbox"]
    folder, *rest = parts
    if len(rest) == 1 and (
        folder == layout.HANDOFF or (folder == layout.JOURNAL and _DAY.fullmatch(rest[0]))
    ):
        return _BY_NAME[folder]
    return _BY_NAME[_NESTED[folder]] if rest and folder in _NESTED else None
