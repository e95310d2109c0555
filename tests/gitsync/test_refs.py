"""Branches by git's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsync.errors import Blocked, Damaged
from gitsync.objects import Commit
from gitsync.refs import BRANCH, NO_COMMIT, Refs
from tests.gitsync.tree import DAEMON, Tree

ONE, TWO = "1" * 40, "2" * 40


@pytest.fixture
def refs(tree: Tree) -> Refs:
    return tree.repo.refs


def test_loose_wins_over_packed(tree: Tree, refs: Refs) -> None:
    """After `git pack-refs` the branch would be read as it was then, or not at all."""
    assert refs.value(BRANCH) is None and refs.head() is None
    tree.write({"a.md": b"1"})
    tree.git("branch", "a/main")
    tree.git("pack-refs", "--all", "--prune")
    first = tree.git("rev-parse", "main")
    assert refs.value(BRANCH) == refs.head() == first
    tree.write({"a.md": b"2"})
    assert refs.value(BRANCH) == tree.git("rev-parse", "main") != first
    assert refs.value("refs/heads/none") is None


def test_what_head_is_on(tree: Tree, refs: Refs) -> None:
    """A commit would be made while another branch, or none, is checked out."""
    refs.require_main()
    tree.write({"a.md": b"1"})
    tree.git("checkout", "-qb", "feature/x")
    with pytest.raises(Blocked, match="branch feature/x is checked out"):
        refs.require_main()
    assert refs.head() == tree.git("rev-parse", "HEAD")
    tree.git("checkout", "-q", "--detach")
    with pytest.raises(Blocked, match="HEAD is detached"):
        refs.require_main()
    assert refs.head() == tree.git("rev-parse", "HEAD")


@pytest.mark.parametrize("content", ["", "x", "ref: refs/heads/loop\n", "A" * 40, "1" * 39])
def test_a_broken_branch_is_damage(tree: Tree, refs: Refs, content: str) -> None:
    """A spoilt branch would count as one without commits, and the next commit start history anew."""
    Path(refs.branch).write_text(content)
    with pytest.raises(Damaged, match="refs/heads/main is damaged"):
        refs.value(BRANCH)


def test_an_empty_or_missing_head_is_damage(refs: Refs) -> None:
    """A HEAD that a loss of power emptied would pass for a detached one, or crash the daemon."""
    head = Path(refs.folder) / "HEAD"
    head.write_text("")
    with pytest.raises(Damaged, match="HEAD is damaged"):
        refs.head()
    head.unlink()
    with pytest.raises(Damaged, match="HEAD can't be read"):
        refs.head_target()


def test_the_log_reads_like_gits(tree: Tree, refs: Refs) -> None:
    """`git reflog` would lack our commits or show them with a line too many."""
    commits = [Commit(oid, ONE, (), b"", 7, b"\nsubject\nbody\n") for oid in (ONE, TWO)]
    Path(refs.branch_lock).write_text(TWO + "\n")
    refs.move(None, commits, DAEMON)
    lines = (tree.root / ".git/logs/HEAD").read_text().splitlines()
    assert lines == [
        f"{NO_COMMIT} {ONE} Coffer <coffer@localhost> 7 +0000\tcommit (initial): subject",
        f"{ONE} {TWO} Coffer <coffer@localhost> 7 +0000\tcommit: subject",
    ]
    assert refs.logged() == [TWO, ONE]
    assert refs.value(BRANCH) == TWO
    assert not Path(refs.branch_lock).exists()


def test_a_torn_log_is_read_as_far_as_it_goes(refs: Refs) -> None:
    """A branch could not be repaired because its log was spoilt in the same loss of power."""
    log = Path(refs.folder) / "logs/refs/heads/main"
    assert refs.logged() == []
    log.parent.mkdir(parents=True)
    log.write_bytes(f"{NO_COMMIT} {ONE} x\n".encode() + b"\0" * 90 + b"\nhalf")
    assert refs.logged() == [ONE]
