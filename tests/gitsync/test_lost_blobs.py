"""Objects that git has lost, and the files that still hold their bytes."""

from __future__ import annotations

from gitsync.lost_blobs import restore_blobs
from tests.gitsync.tree import Tree

KEPT, LOST = "global/knowledge/kept.md", "global/knowledge/lost.md"


def test_a_lost_object_is_written_again_from_its_file(tree: Tree) -> None:
    """A repository with a hole can't be cloned or synced, though every file is there."""
    tree.write({KEPT: b"kept\n", LOST: b"lost\n"})
    for path in (KEPT, LOST):
        oid = tree.git("rev-parse", f"main:{path}")
        (tree.root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    tree.edit(LOST, b"written over\n")
    tree.reopen()
    assert restore_blobs(tree.repo) == ([KEPT], [LOST])
    assert tree.committed(KEPT) == b"kept\n"
    assert restore_blobs(tree.repo) == ([], [LOST])


def test_nothing_is_lost_usually(tree: Tree) -> None:
    """Doctor would cry wolf."""
    assert restore_blobs(tree.repo) == ([], [])
    tree.write({KEPT: b"kept\n"})
    tree.edit(KEPT, None)
    assert restore_blobs(tree.repo) == ([], [])
