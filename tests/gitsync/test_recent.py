"""What we committed last, in case another git undoes it unawares."""

from __future__ import annotations

import pytest

from gitsync import recent
from gitsync.recent import Recent
from tests.gitsync.tree import Tree

A, B = "global/a.md", "global/b.md"


def noted(tree: Tree, changes: dict[str, recent.Versions]) -> Recent:
    made = Recent()
    made.note(tree.git("rev-parse", "main"), changes, tree.repo.index)
    return made


def test_only_the_latest_paths_are_kept(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that runs for months would remember every file it ever wrote."""
    monkeypatch.setattr(recent, "_PATHS", 2)
    tree.write({A: b"a\n"})
    made = noted(tree, {A: (None, "1"), "x": (None, "1"), B: (None, "1")})
    made.note(None, {A: ("1", "2")}, tree.repo.index)
    assert made._changes == {B: (None, "1"), A: ("1", "2")}


def test_a_branch_that_was_rewritten_was_meant(tree: Tree) -> None:
    """Facts that the user took out of history would come back."""
    objects, refs = tree.repo.objects, tree.repo.refs
    tree.write({A: b"a\n"}, "one")
    tree.write({B: b"b\n"}, "two")
    made = noted(tree, {B: (None, objects.blob_at(objects.tree_of(refs.head()), B))})
    tree.git("reset", "-q", "--hard", "main~1")
    head = refs.head()
    assert made.dropped_from_branch(objects, head, objects.tree_of(head)) == []
    tree.git("commit", "-q", "--allow-empty", "-m", "theirs")
    head = refs.head()
    assert made.dropped_from_branch(objects, head, objects.tree_of(head)) == []


def test_a_branch_that_went_on_without_our_file(tree: Tree) -> None:
    """A file that the user's commit dropped unawares would stay out of git."""
    objects, refs = tree.repo.objects, tree.repo.refs
    tree.write({A: b"a\n", B: b"b\n"})
    made = noted(tree, dict.fromkeys((A, B), (None, "1" * 40)))
    tree.git("rm", "-q", "--cached", B)
    tree.git("commit", "-qm", "theirs")
    head = refs.head()
    assert made.dropped_from_branch(objects, head, objects.tree_of(head)) == [B]
    assert Recent().dropped_from_branch(objects, head, objects.tree_of(head)) == []
