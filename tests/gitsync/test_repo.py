"""Making and opening the repository of a memory tree."""

from __future__ import annotations

import os
from pathlib import Path

import pygit2
import pytest

from gitsync.errors import RepositoryUnusable
from gitsync.repo import Repository, Signature
from tests.gitsync.tree import DAEMON, Tree

SOMEBODY = Signature("Somebody", "somebody@host")


def test_a_new_repository_is_private_bare_of_hooks_and_pinned(tree: Tree) -> None:
    """Others could read the memory, a template's hook would run, or a user's settings change bytes."""
    assert os.stat(tree.root / ".git").st_mode & 0o777 == 0o700
    assert sorted(os.listdir(tree.root)) == [".git"]
    assert sorted(os.listdir(tree.root / ".git")) == ["HEAD", "config", "info", "objects", "refs"]
    assert tree.git("config", "core.autocrlf") == tree.git("config", "core.fileMode") == "false"
    assert tree.git("check-ignore", "-v", "x/.coffer-1.tmp").startswith(".git/info/exclude")
    assert tree.git("check-attr", "text", "filter", "ident", "--", "x.md").split() == [
        *("x.md:", "text:", "unset", "x.md:", "filter:", "unset", "x.md:", "ident:", "unset")
    ]
    assert tree.repo.head() is None


def test_making_it_again_changes_nothing(tree: Tree) -> None:
    """Each start would add the same lines, or undo what the user has set."""
    tree.git("config", "core.autocrlf", "input")
    tree.git("config", "--unset", "gc.auto")
    files = [tree.root / ".git" / name for name in ("config", "info/exclude", "info/attributes")]
    Repository.create(str(tree.root), DAEMON, ignores=[".coffer-*", "INDEX.md"])
    once = [file.read_text() for file in files]
    Repository.create(str(tree.root), DAEMON, ignores=[".coffer-*", "INDEX.md"])
    assert [file.read_text() for file in files] == once
    assert tree.git("config", "core.autocrlf") == "input"
    assert tree.git("config", "gc.auto") == "0"
    Repository.create(str(tree.root), DAEMON, ignores=["new"])
    assert (tree.root / ".git/info/exclude").read_text().endswith("INDEX.md\nnew\n")


def test_a_crash_while_it_is_made_leaves_no_half_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first start after a crash would find a folder that is neither a repository nor none."""
    root = tmp_path / "memory"

    def crash(old: str, new: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(os, "rename", crash)
        with pytest.raises(KeyboardInterrupt):
            Repository.create(str(root), DAEMON)
    assert not Repository.exists(str(root))
    Repository.create(str(root), DAEMON)
    assert os.listdir(root) == [".git"]


def test_a_locked_configuration_does_not_stop_the_start(tree: Tree) -> None:
    """A left-over config.lock would keep the daemon from starting."""
    tree.git("config", "--unset", "gc.auto")
    (tree.root / ".git/config.lock").write_bytes(b"")
    assert Repository.create(str(tree.root), DAEMON).head() is None


def test_opening_creates_nothing(tmp_path: Path) -> None:
    """Reading a tree that isn't there would make one."""
    assert not Repository.exists(str(tmp_path))
    with pytest.raises(RepositoryUnusable, match="isn't a repository's folder"):
        Repository.open(str(tmp_path), DAEMON)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"extensions.objectFormat": "sha256"}, "its objects aren't named by SHA-1"),
        ({"extensions.refStorage": "reftable"}, "its refs are stored as reftable"),
        ({"extensions.partialClone": "origin"}, "it is a partial clone"),
        ({"extensions.unheardOf": "true"}, "can't be opened"),
        ({"core.bare": "true"}, "the work tree of"),
        ({"core.worktree": "/"}, "the work tree of"),
    ],
)
def test_a_format_that_we_do_not_write_is_named(tree: Tree, settings: dict[str, str], reason: str) -> None:
    """A repository in another format would be damaged by us, or refused without a word why."""
    tree.git("config", "core.repositoryFormatVersion", "1")
    for name, value in settings.items():
        tree.git("config", name, value)
    with pytest.raises(RepositoryUnusable) as refused:
        tree.reopen()
    assert reason in refused.value.reason


@pytest.mark.report("B65")
def test_somebody_elses_repository_is_refused(tree: Tree) -> None:
    """A folder planted by another user of the machine would be served as memory."""
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    for place in (tree.root, tree.root / ".git"):
        os.chown(place, 12345, -1)
    with pytest.raises(RepositoryUnusable, match="belongs to another user"):
        tree.reopen()


def test_a_linked_work_tree_is_refused(tree: Tree, tmp_path: Path) -> None:
    """Commits would go to a repository that isn't in the tree."""
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.git").write_text(f"gitdir: {tree.root}/.git\n")
    assert Repository.exists(str(tmp_path / "linked"))
    with pytest.raises(RepositoryUnusable):
        Repository.open(str(tmp_path / "linked"), DAEMON)


def test_who_the_user_is(tree: Tree, user_home: Path) -> None:
    """The user's own edits would be signed by a stranger, or their absence of a name be an error."""
    assert tree.repo.user_signature(SOMEBODY) == SOMEBODY
    (user_home / ".gitconfig").write_text("[user]\n name = Bé\n email = be@example.com\n")
    tree.reopen()
    assert tree.repo.user_signature(SOMEBODY) == Signature("Bé", "be@example.com")
    tree.git("config", "user.email", "here@example.com")
    assert tree.repo.user_signature(SOMEBODY) == Signature("Bé", "here@example.com")


def test_a_broken_user_configuration(tree: Tree, user_home: Path) -> None:
    """A typing error in the user's .gitconfig would stop memory instead of git alone."""
    (user_home / ".gitconfig").write_text("[user\n broken")
    try:
        tree.reopen()
    except RepositoryUnusable as refused:
        assert "can't be opened" in refused.reason
    else:
        assert tree.repo.user_signature(SOMEBODY) == SOMEBODY
        assert tree.write({"global/a.md": b"a\n"}).pending is None


@pytest.mark.parametrize(
    ("name", "email", "line"),
    [
        ("Ann", "ann@x", b"Ann <ann@x> 5 +0000"),
        ("A <b>\n", "x>y", b"A b <xy> 5 +0000"),
        ("", "", b"unknown <> 5 +0000"),
        ("\ud800", "a@b", b"? <a@b> 5 +0000"),
    ],
)
def test_a_signature_is_fit_for_a_commit(name: str, email: str, line: bytes) -> None:
    """A name from a foreign program would make a commit that git calls corrupt."""
    assert Signature(name, email).line(5) == line


def test_a_second_handle_sees_what_the_first_wrote(tree: Tree) -> None:
    """History would lag behind until the next start."""
    other = Repository.open(str(tree.root), DAEMON)
    for number in range(3):
        tree.write({"global/a.md": b"%d" % number})
        assert other.head() == tree.git("rev-parse", "main")
        assert other.objects.tree_of(other.head())
    assert isinstance(other.git, pygit2.Repository)
