"""Pack loose objects, so that a repository of many small commits stays small and quick.

The objects of one commit are a dozen files of 4 KiB; packed, and stored as differences, they take a tenth.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from contextlib import suppress

import pygit2

from gitsync.errors import Damaged
from gitsync.loose import loose_objects_in
from gitsync.packfile import ids_in, objects_in
from gitsync.repo import Repository

PACKING = "packing"
# Packs below this size are those of a few commits, and are joined with the loose objects.
_SMALL = 5000
# A pack with one of these beside it is somebody's on purpose.
_SPECIAL = ("keep", "promisor", "bitmap", "mtimes")


def loose_objects(repo: Repository) -> int:
    """Return about how many objects wait to be packed: in files of their own and in small packs."""
    loose = sum(1 for _ in loose_objects_in(_objects(repo)))
    return loose + sum(objects_in(index) for index in _small_packs(repo))


def small_packs(repo: Repository) -> int:
    """Return how many packs hold but a few commits each, as fetching leaves them; every one slows down reading."""
    return len(_small_packs(repo))


def pack(repo: Repository) -> int:
    """Pack what `loose_objects` counts and return how many objects that was; 0 while the user's git is at work.

    Nothing is removed before the new pack is flushed and every object has been read back from it alone. Other
    handles on the repository, in this process or another, go on reading. Takes about a second per 4,000 objects
    and may run on a thread of its own with a repository of its own.
    """
    if any(os.path.lexists(os.path.join(repo.folder, name)) for name in ("gc.pid", "index.lock")):
        return 0
    loose = {oid: entry.path for oid, entry in loose_objects_in(_objects(repo))}
    small = _small_packs(repo)
    if not loose and len(small) < 2:
        return 0
    ids = loose.keys() | {oid for index in small for oid in ids_in(index)}
    try:
        made = _write_pack(repo, ids)
    except (pygit2.GitError, KeyError) as error:
        raise Damaged(f"packing stopped: {error}") from error
    for index in small:
        if os.path.basename(index) not in made:
            for suffix in (".idx", ".rev", ".pack"):  # without its index git doesn't see a pack
                with suppress(FileNotFoundError):
                    os.unlink(index.removesuffix(".idx") + suffix)
    for path in loose.values():
        os.unlink(path)
    return len(ids)


def _write_pack(repo: Repository, ids: Collection[str]) -> list[str]:
    """Write one pack of `ids`, read all of it back, flush it, move it in; return the names of its files."""
    place = os.path.join(_objects(repo), "pack")
    beside = os.path.join(repo.scratch, PACKING)
    shutil.rmtree(beside, ignore_errors=True)
    os.makedirs(os.path.join(beside, "pack"), mode=0o700)
    try:
        repo.git.pack(os.path.join(beside, "pack"), lambda builder: _add(builder, ids), n_threads=1)
        alone = pygit2.Odb()
        alone.add_backend(pygit2.OdbBackendPack(beside), 1)
        for oid in ids:
            alone.read(oid)
        # The index goes last, since git looks for it first.
        names = sorted(os.listdir(os.path.join(beside, "pack")), reverse=True)
        repo.disk.flush([os.path.join(beside, "pack", name) for name in names])
        os.makedirs(place, mode=0o700, exist_ok=True)
        for name in names:
            os.replace(os.path.join(beside, "pack", name), os.path.join(place, name))
        repo.disk.flush_folders([place])
        return names
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _add(builder: pygit2.PackBuilder, ids: Collection[str]) -> None:
    for oid in ids:
        builder.add(pygit2.Oid(hex=oid))


def _small_packs(repo: Repository) -> list[str]:
    """Return the index files of small packs; none when an index over several packs relies on them."""
    folder = os.path.join(_objects(repo), "pack")
    names = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    if "multi-pack-index" in names:
        return []
    return [
        os.path.join(folder, name)
        for name in names
        if name.endswith(".idx")
        and not names & {name.removesuffix("idx") + kind for kind in _SPECIAL}
        and objects_in(os.path.join(folder, name)) < _SMALL
    ]


def _objects(repo: Repository) -> str:
    return os.path.join(repo.folder, "objects")
