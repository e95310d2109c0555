"""Which files differ from what is committed, found without reading them all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitsync import worktree
from gitsync.commit import pending_paths
from gitsync.worktree import NotAFile, read
from tests.gitsync.tree import Tree

A, B = "global/a.md", "projects/x/knowledge/b.md"


@pytest.fixture
def begun(tree: Tree) -> Tree:
    tree.write({A: b"a\n", B: b"b\n", "c.md": b"c\n"})
    tree.git("status")
    return tree


def test_edited_new_and_deleted(begun: Tree) -> None:
    """An edit by hand would never be committed, or a file that nobody touched be committed again."""
    assert pending_paths(begun.repo) == []
    begun.edit(A, b"edited\n")
    begun.edit(B, None)
    begun.edit("projects/y/new.md", b"new\n")
    begun.edit("global/INDEX.md", b"ignored\n")
    assert pending_paths(begun.repo) == [A, B, "projects/y/new.md"]
    assert pending_paths(begun.repo, ["projects/y", "projects/none"]) == ["projects/y/new.md"]
    assert pending_paths(begun.repo, ["projects/x", "global"]) == [A, B]


def test_before_the_first_commit_everything_is_new(tree: Tree) -> None:
    """Files that were there before the repository would be left out of it."""
    tree.edit(A, b"a\n")
    assert pending_paths(tree.repo) == [A]


def test_nothing_is_read_when_nothing_changed(begun: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for edits in a large tree would read every file each time."""
    for place in (A, B, "c.md"):
        os.utime(begun.root / place, (1, 1))
    begun.git("update-index", "-q", "--refresh")
    reads: list[str] = []
    original = worktree.read
    monkeypatch.setattr(worktree, "read", lambda root, path: reads.append(path) or original(root, path))
    assert pending_paths(begun.repo) == []
    assert reads == []
    os.utime(begun.root / A, (2, 2))
    assert pending_paths(begun.repo) == []
    assert reads == [A]


def test_a_racy_edit_is_seen(begun: Tree) -> None:
    """An edit of the same size in the instant of the commit would go unnoticed for good."""
    index = begun.root / ".git/index"
    begun.edit(A, b"b\n")
    begun.git("add", A)
    begun.git("commit", "-qm", "b")
    status = os.stat(begun.root / A)
    os.utime(index, ns=(status.st_mtime_ns, status.st_mtime_ns))
    begun.edit(A, b"z\n")
    os.utime(begun.root / A, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert pending_paths(begun.repo) == [A]


def test_without_a_usable_index_files_are_read(begun: Tree) -> None:
    """A missing or broken index would make every file look edited, or every edit look committed."""
    (begun.root / ".git/index").write_bytes(b"garbage")
    begun.edit(A, b"edited\n")
    assert pending_paths(begun.repo) == [A]
    begun.repo.index.forget()
    (begun.root / ".git/index").unlink()
    assert pending_paths(begun.repo) == [A]


def test_what_is_staged_differs_from_head(begun: Tree) -> None:
    """A staged edit would count as committed because git's index knows it."""
    begun.edit(A, b"staged\n")
    begun.git("add", A)
    assert pending_paths(begun.repo) == [A]


def test_ignored_folders_and_other_repositories_are_not_entered(begun: Tree) -> None:
    """A build folder or a clone inside the tree would be walked file by file, or taken into memory."""
    (begun.root / ".git/info/exclude").open("a").write("build/\n")
    begun.edit("build/x.md", b"x\n")
    begun.edit("clone/.git/HEAD", b"ref: refs/heads/main\n")
    begun.edit("clone/x.md", b"x\n")
    assert pending_paths(begun.repo) == []


def test_symlinks_and_pipes_are_unknown_not_deleted(begun: Tree, tmp_path: Path) -> None:
    """A fact replaced by a link would be committed as deleted, or the link's target as the fact."""
    (tmp_path / "secret").write_text("secret")
    for place in (A, "c.md"):
        (begun.root / place).unlink()
    (begun.root / A).symlink_to(tmp_path / "secret")
    os.mkfifo(begun.root / "c.md")
    os.rename(begun.root / "projects/x", tmp_path / "moved")
    (begun.root / "projects/x").symlink_to(tmp_path / "moved")
    (begun.root / "global/link.md").symlink_to(tmp_path / "secret")
    assert pending_paths(begun.repo) == []
    before = len(os.listdir("/proc/self/fd"))
    for path in (A, B, "c.md", "global"):
        with pytest.raises(NotAFile):
            read(str(begun.root), path)
    assert len(os.listdir("/proc/self/fd")) == before, "a descriptor was left open"
    assert begun.write({A: b"x\n"}).pending is None
    assert "Ann|edit: by hand" not in begun.log()
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_file_in_the_place_of_a_folder(begun: Tree) -> None:
    """A folder that a person replaced by a file would stop the look at all the others."""
    begun.edit(B, None)
    os.rmdir(begun.root / "projects/x/knowledge")
    begun.edit("projects/x/knowledge", b"now a file\n")
    assert pending_paths(begun.repo) == ["projects/x/knowledge"]
    assert begun.recover().pending is None
    assert read(str(begun.root), B) is None


def test_names_that_are_not_utf_8(begun: Tree) -> None:
    """A file with a name from another system would crash the look at a whole store."""
    name = os.fsdecode(b"global/caf\xe9.md")
    begun.edit(name, b"x\n")
    assert pending_paths(begun.repo) == []
    begun.git("add", "-A")
    begun.git("commit", "-qm", "theirs")
    begun.edit(name, b"edited\n")
    assert pending_paths(begun.repo) == [name]
    assert begun.recover().pending is None
    begun.is_sound()
