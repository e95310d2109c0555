"""Committed files whose object is missing from git, written again where the work tree still holds their bytes."""

from __future__ import annotations

import os
import stat

from gitsync.loose import write_object
from gitsync.objects import blob_id
from gitsync.repo import Repository
from gitsync.worktree import NotAFile, read


def restore_blobs(repo: Repository) -> tuple[list[str], list[str]]:
    """Look for the object of every file that is checked out; return the paths mended and the paths lost.

    Raises Damaged where a commit or a folder can't be read, OSError where nothing can be written.
    """
    mended, lost, written = [], [], []
    for path, mode, oid in repo.objects.files(repo.objects.tree_of(repo.head())):
        if not stat.S_ISREG(mode) or repo.objects.has(oid):
            continue
        try:
            found = read(repo.root, path)
        except NotAFile:
            found = None
        if found is None or blob_id(found[0]) != oid:
            lost.append(path)
            continue
        objects = os.path.join(repo.folder, "objects")
        written.append(write_object(oid, b"blob", found[0], repo.scratch, objects))
        mended.append(path)
    if written:
        repo.disk.flush(written)
    return mended, lost
