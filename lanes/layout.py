"""Where things live in the memory tree, as relative paths with `/`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from unicodedata import normalize

from lanes.errors import LaneError
from lanes.names import GLOBAL_PROJECT_ID, is_portable, is_ulid, slug

STORE_FILE = "store.yaml"
KNOWLEDGE = "knowledge"
INBOX = "knowledge/inbox"
INDEX_FILE = "knowledge/INDEX.md"
RULES = "rules"
JOURNAL = "journal"
HANDOFF = "handoff"
SUPERSEDED = "superseded"
LOG_FILE = "consolidation-log.md"

_MAX_STEM = 120


def is_inside(path: str) -> bool:
    """Tell whether a path stays where it is joined: no empty, `.` or `..` part, no backslash, no NUL."""
    return "\\" not in path and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def store_folder(project_id: str) -> str:
    """Return a store's folder in the tree; a LaneError for anything but a project id."""
    if project_id == GLOBAL_PROJECT_ID:
        return "global"
    if not is_ulid(project_id):
        raise LaneError(f"{project_id!r} is not a project id of 26 Crockford digits")
    return f"projects/{project_id}"


def store_of(tree_path: str) -> tuple[str, str] | None:
    """Split a path of the tree into its store's folder and the rest; None outside every store."""
    if not is_inside(tree_path):
        return None
    first, _, rest = tree_path.partition("/")
    if first == "projects":
        project_id, _, rest = rest.partition("/")
        if not is_ulid(project_id) or project_id == GLOBAL_PROJECT_ID:
            return None
        first = f"projects/{project_id}"
    elif first != "global":
        return None
    return (first, rest) if rest else None


def portable_path(path: str) -> str:
    """Return a path of the tree with every name that not all machines can hold replaced, always the same way."""
    return "/".join(name if is_portable(name) else _portable(name) for name in path.split("/"))


def _portable(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    if ending.lower() != "md":
        stem, dot, ending = name, "", ""
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{slug(stem)}-{digest[:8]}{dot}{ending}"


def inbox_path(created_at: str, filename: str) -> str:
    """Return where a new fact goes: a folder a month keeps git's trees small."""
    if not re.match(r"\d{4}-\d\d-\d\d", created_at, re.ASCII) or not is_portable(filename):
        raise LaneError(f"no place in the inbox for {filename!r} of {created_at!r}")
    return f"{INBOX}/{created_at[:7]}/{filename}"


def superseded_path(path: str, stamp: str, taken: Collection[str]) -> str:
    """Return an archive path that none of `taken` has, also where capitals don't count.

    The stamp is a UTC time, `20261130T101500Z` or the same with `-` and `:`.
    """
    stamp = re.sub("[-:]", "", stamp)
    if not re.fullmatch(r"\d{8}T\d{6}Z", stamp, re.ASCII):
        raise LaneError(f"{stamp!r} is not a UTC time")
    stem = normalize("NFC", path.rpartition("/")[2].removesuffix(".md"))
    if len(stem.encode("utf-8", "surrogateescape")) > _MAX_STEM or not is_portable(stem):
        stem = slug(stem)
    used = {normalize("NFC", other).casefold() for other in taken}
    name, copy = f"{SUPERSEDED}/{stem}-{stamp}.md", 1
    while name.casefold() in used:
        copy += 1
        name = f"{SUPERSEDED}/{stem}-{stamp}-{copy}.md"
    return name
