"""One store's files put into another: everything of both stays, two versions of a text as their lane has it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from coffer.application.retired import settings_in
from coffer.application.scope import config_of
from coffer.application.topics import with_index
from coffer.domain.changes import Change, TreeView
from coffer.domain.errors import FileUnreadable
from coffer.domain.stores import StoreRef
from lanes import lane_of
from lanes.errors import Unreadable
from lanes.layout import STORE_FILE, SUPERSEDED
from lanes.merging import MergeLines, conflict_original, conflict_path, merge
from lanes.store_config import update_config


@dataclass(frozen=True, slots=True)
class Moved:
    """The changes that empty one store into another, and what they do."""

    changes: tuple[Change, ...]
    files: int
    label_moved: bool
    aliases: tuple[str, ...]


def moved(
    view: TreeView, source: StoreRef, target: StoreRef, merge_lines: MergeLines, remote: str | None = None
) -> Moved:
    """Work out how `source` goes into `target`, which need not exist yet; `remote` is the target's own.

    Decided by the files alone, so that every machine that does it gets the same ones. What isn't a file that can
    be read stays where it is. Raises FileUnreadable for the store.yaml of either.
    """
    after, gone, files = _files(view, source, target, merge_lines)
    settings, label_moved, aliases = _settings(view, source, target, remote)
    others = _stripped(view, source, target, aliases)
    # The alias is written first: whatever cuts this off, the rest follows at the next start.
    changes = [Change(path, content) for path, content in {**settings, **after, **others}.items()]
    changes = with_index(view, target, changes)
    changes += [Change(path, None) for path in gone]
    return Moved(tuple(changes), files, label_moved, aliases)


def _files(
    view: TreeView, source: StoreRef, target: StoreRef, merge_lines: MergeLines
) -> tuple[dict[str, bytes], list[str], int]:
    """Return what the target's files will hold, which of the source's go, and how many of them were texts."""
    after: dict[str, bytes] = {}
    gone = []
    files = 0

    def held(place: str) -> bytes | None:
        return after[place] if place in after else view.read(place)

    def free(original: str, text: bytes) -> str:
        """Return where a second version has room; somebody may have edited an earlier one of that name."""
        mark = text
        while held(place := f"{target.folder}/{conflict_path(original, mark)}") not in (None, text):
            mark += b"\n"
        return place

    for path in view.files(source.folder):
        inside = path.removeprefix(f"{source.folder}/")
        place = f"{target.folder}/{inside}"
        if inside == STORE_FILE:
            continue
        try:
            content = view.read(path)
            if content is None:
                continue
            kept, second = _placed(inside, content, held(place), merge_lines)
            if second is not None:
                after[free(*second)] = second[1]
        except OSError:
            continue  # one bad file harms only itself
        if kept is not None:
            after[place] = kept
            files += 1
        gone.append(path)
    return {place: kept for place, kept in after.items() if kept != view.read(place)}, gone, files


def _placed(
    inside: str, content: bytes, held: bytes | None, merge_lines: MergeLines
) -> tuple[bytes | None, tuple[str, bytes] | None]:
    """Return what stands at a place that holds `held` once `content` has come, and what is kept beside which path."""
    lane = lane_of(inside)
    if lane is not None and lane.derived:
        return None, None
    if held is None or held == content:
        return content, None
    if lane is None:
        return held, (inside, content)
    if not lane.synced:
        return held if held.endswith(content) else held.rstrip(b"\n") + b"\n" + content, None
    merged = merge(inside, None, held, content, merge_lines)
    kept = held if merged.content is None else merged.content
    if lane.merge == "newest":
        # Git's history has the older scene under the store that goes; nobody would look there.
        return kept, (f"{SUPERSEDED}/{inside.rpartition('/')[2]}", content if kept == held else held)
    if merged.copy is None:
        return kept, None
    copy, text = merged.copy
    return kept, (conflict_original(copy) or copy, text)


def _settings(
    view: TreeView, source: StoreRef, target: StoreRef, remote: str | None
) -> tuple[dict[str, bytes | None], bool, tuple[str, ...]]:
    """Return what becomes of both store.yaml, whether the label moved, and the target's aliases."""
    old, new = f"{source.folder}/{STORE_FILE}", f"{target.folder}/{STORE_FILE}"
    leaving, staying = view.read(old), view.read(new)
    theirs, own = config_of(leaving, source), config_of(staying, target)
    aliases = {*own.merged_identities, *theirs.merged_identities, source.project_id} - {target.project_id}
    label_moved = own.label is None and theirs.label is not None
    settings = {
        "label": own.label or theirs.label,
        "remote": own.remote or remote or theirs.remote,
        "merged_identities": sorted(aliases),
    }
    try:
        after = update_config(leaving if staying is None else staying, settings)
    except Unreadable as problem:
        raise FileUnreadable(new, problem.reason) from problem
    changes: dict[str, bytes | None] = {new: after} if after != staying else {}
    if leaving is not None:
        changes[old] = None
    return changes, label_moved, tuple(sorted(aliases))


def _stripped(
    view: TreeView, source: StoreRef, target: StoreRef, aliases: tuple[str, ...]
) -> dict[str, bytes]:
    """Return what takes the target's aliases from every other store: one alone may hold an id."""
    changes = {}
    for store, config in settings_in(view).items():
        left = [alias for alias in config.merged_identities if alias not in aliases]
        if store not in (source, target) and len(left) < len(config.merged_identities):
            path = f"{store.folder}/{STORE_FILE}"
            with suppress(Unreadable):
                changes[path] = update_config(view.read(path), {"merged_identities": left})
    return changes
