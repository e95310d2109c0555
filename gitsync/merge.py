"""Two histories into one, in memory: what has to change in the one so that it holds the other too.

Only what differs is looked at: equal folders have equal ids and are never opened. A path that one side alone has
touched is taken from there; one that both have goes to the driver that the caller passes in. Nothing here knows
which side is ours: the same two commits give the same tree on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from unicodedata import normalize

from gitsync.ancestry import common_ancestors
from gitsync.errors import GitError
from gitsync.objects import EMPTY_TREE, Objects

_MAX_DEPTH = 6  # histories that cross again and again: below this one of the common ancestors is as good

Driver = Callable[[str, bytes | None, bytes | None, bytes | None], "Resolved"]
"""Makes one version of a path out of the common one and both sides', None where there is none."""

Rename = Callable[[str, bytes], str]
"""Returns another name for a file, made of its path and content."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a driver made of a path: its bytes, perhaps another file beside it; `kept`: despite a removal."""

    content: bytes | None
    copy: tuple[str, bytes] | None = None
    kept: bool = False


class PathsCollide(GitError):
    """A file of one side has the name of a folder of the other."""


@dataclass(slots=True)
class Merge:
    """What turns the one tree into the merged one, and over which tree.

    `kept` are paths that stayed against a removal, `renamed` the new names of twins.
    """

    over: str
    edits: dict[str, str | None] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)


def merge_commits(
    objects: Objects, one: str | None, other: str, driver: Driver, rename: Rename, base: str | None = None
) -> Merge:
    """Merge `other` into `one` over what they have in common, or over the commit `base`.

    New blobs and trees are left in `objects.fresh`. Raises Damaged, and PathsCollide.
    """
    over = objects.tree_of(base) if base else _common_tree(objects, one, other, driver, rename)
    return merge_trees(objects, over, objects.tree_of(one), objects.tree_of(other), driver, rename)


def merge_trees(objects: Objects, base: str, one: str, other: str, driver: Driver, rename: Rename) -> Merge:
    """Merge two trees over a third."""
    merge = Merge(base)
    copies: list[tuple[str, bytes]] = []
    here = {path: new for path, _, new in objects.differences(base, one)}
    for path, old, new in objects.differences(base, other):
        mine = here.get(path, old)
        if path not in here:
            merge.edits[path] = new
        elif mine != new:
            versions = (None if oid is None else objects.read(oid) for oid in (old, mine, new))
            resolved = driver(path, *versions)
            merge.edits[path] = None if resolved.content is None else objects.add_blob(resolved.content)
            if resolved.copy:
                copies.append(resolved.copy)
            if resolved.kept:
                merge.kept.append(path)
    for where, data in copies:
        oid = objects.add_blob(data)
        if merge.edits.get(where, objects.blob_at(one, where)) not in (None, oid):
            where = _longer(where, oid)  # somebody has gone on with the file of that name
        merge.edits[where] = oid
    merge.edits = {path: oid for path, oid in merge.edits.items() if objects.blob_at(one, path) != oid}
    merge.renamed = _part_twins(objects, one, merge.edits, rename)
    return merge


def _longer(path: str, oid: str) -> str:
    stem, dot, ending = path.rpartition(".")
    return f"{stem}-{oid[:12]}{dot}{ending}" if dot and "/" not in ending else f"{path}-{oid[:12]}"


def _common_tree(
    objects: Objects, one: str | None, other: str, driver: Driver, rename: Rename, depth: int = 0
) -> str:
    """Return the tree that both grew from; where there are several, what a merge of those gives."""
    bases = common_ancestors(objects, one, other) if one else []
    if not bases:
        return EMPTY_TREE
    merged, tree = bases[0], objects.tree_of(bases[0])
    for base in bases[1:] if depth < _MAX_DEPTH else ():
        over = _common_tree(objects, merged, base, driver, rename, depth + 1)
        edits = merge_trees(objects, over, tree, objects.tree_of(base), driver, rename).edits
        tree = objects.add_tree(tree, edits)
    return tree


def _part_twins(objects: Objects, one: str, edits: dict[str, str | None], rename: Rename) -> list[str]:
    """Rename what would be one file where capitals and accents don't count; return the new names.

    The first keeps its name, NFC before others.
    """
    renamed = []
    twins: dict[str, set[str]] = {}
    for path in [path for path, oid in edits.items() if oid and not objects.blob_at(one, path)]:
        _require_place(objects, one, edits, path)
        twins.setdefault(_folded(path), set()).add(path)
    look = _Alike(objects)
    for folded, paths in twins.items():
        paths |= {path for path in look.files(one, folded) if edits.get(path, "") is not None}
        for twin in sorted(paths, key=lambda path: (normalize("NFC", path) != path, path))[1:]:
            oid = edits.pop(twin, None)
            if here := objects.blob_at(one, twin):
                edits[twin] = None
            oid = oid or here
            assert oid
            renamed.append(rename(twin, objects.read(oid)))
            edits[renamed[-1]] = oid
    return renamed


class _Alike:
    """Finds the files of a tree whose paths are the same where capitals and accents don't count."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._names: dict[str, dict[str, list[str]]] = {}

    def files(self, tree: str, folded: str, prefix: str = "") -> Iterator[str]:
        """Yield the files below a folder whose path from there is `folded`."""
        name, slash, rest = folded.partition("/")
        folder = self._objects.folder(tree)
        if tree not in self._names:
            names = self._names[tree] = {}
            files, folders = folder.split()
            for key in (*files, *(key + b"/" for key in folders)):
                each = key.decode("utf-8", "surrogateescape")
                names.setdefault(_folded(each), []).append(each)
        for found in self._names[tree].get(name + slash, ()):
            if below := folder.find(found[:-1], folder=True) if slash else None:
                yield from self.files(below, rest, prefix + found)
            else:
                yield prefix + found


def _require_place(objects: Objects, one: str, edits: Mapping[str, str | None], path: str) -> None:
    """Raise PathsCollide where a folder on the way to a file, or the file itself, is the other kind on this side."""
    above = path
    while above := above.rpartition("/")[0]:
        if edits.get(above) or (above not in edits and objects.blob_at(one, above)):
            raise PathsCollide(f"{above} is a file on one side and a folder on the other")
    at = objects.folder_at(one, path)
    if at and any(f"{path}/{name}" not in edits for name, _, _ in objects.files(at)):
        raise PathsCollide(f"{path} is a file on one side and a folder on the other")


def _folded(path: str) -> str:
    return normalize("NFC", path).casefold()
