"""Lane files: whole or not at all, and never outside the tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coffer.infrastructure.failpoints import ignore
from coffer.infrastructure.tree_files import TreeFiles


@pytest.fixture
def files(tmp_path: Path) -> TreeFiles:
    (tmp_path / "memory").mkdir()
    return TreeFiles(str(tmp_path / "memory"), ignore)


def put(files: TreeFiles, path: str, content: bytes) -> None:
    files.install(files.stage(path, content))


def test_what_is_written_is_read(files: TreeFiles) -> None:
    """A fact would come back with other bytes than were written."""
    put(files, "global/knowledge/inbox/2026-11/a.md", b"one\r\ntwo\n")
    found = files.read("global/knowledge/inbox/2026-11/a.md")
    assert found is not None
    assert found[0] == b"one\r\ntwo\n"
    assert found[1] == files.stamp("global/knowledge/inbox/2026-11/a.md")


def test_staged_bytes_are_not_visible_before_install(files: TreeFiles) -> None:
    """A recall could see a fact that was never acknowledged, or half of one."""
    staged = files.stage("global/a.md", b"text")
    assert files.read("global/a.md") is None
    assert list(files.walk("global")) == []
    files.discard(staged)
    assert os.listdir(files.absolute("global")) == []


def test_files_and_folders_are_private(files: TreeFiles) -> None:
    """Another user of the machine could read memory."""
    put(files, "projects/X/knowledge/a.md", b"text")
    assert os.stat(files.absolute("projects/X/knowledge/a.md")).st_mode & 0o777 == 0o600
    assert os.stat(files.absolute("projects/X/knowledge")).st_mode & 0o777 == 0o700


@pytest.mark.report("B57")
@pytest.mark.parametrize("path", ["../x.md", "global/../../x.md", "/etc/passwd", "global//x.md", "./x.md"])
def test_paths_out_of_the_tree_are_refused(files: TreeFiles, path: str) -> None:
    """An id or slug could read and write files outside the memory tree."""
    with pytest.raises(OSError):
        files.read(path)
    with pytest.raises(OSError):
        files.stage(path, b"text")


@pytest.mark.report("B57")
def test_symlinks_are_not_followed(files: TreeFiles, tmp_path: Path) -> None:
    """A link in a tree from elsewhere could show or overwrite any file of the user's."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("mine")
    os.symlink(outside, files.absolute("global"))
    os.symlink(outside / "secret.md", files.absolute("link.md"))
    for path in ("global/secret.md", "link.md"):
        with pytest.raises(OSError):
            files.read(path)
    with pytest.raises(OSError):
        files.stage("global/secret.md", b"theirs")
    assert list(files.walk("")) == []
    assert (outside / "secret.md").read_text() == "mine"


def test_the_stamp_tells_an_edit_of_the_same_size_and_time(files: TreeFiles) -> None:
    """Two versions would be taken for one, and the newer overwritten."""
    put(files, "a.md", b"one")
    path = files.absolute("a.md")
    before, times = files.stamp("a.md"), os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"two")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert files.stamp("a.md") != before


def test_sweep_removes_only_our_temporary_files(files: TreeFiles) -> None:
    """Crash residue would pile up, or a person's hidden file would be removed."""
    files.stage("global/knowledge/a.md", b"left behind")
    Path(files.absolute("global/.mine.tmp")).write_text("keep")
    assert files.sweep() == 1
    assert sorted(os.listdir(files.absolute("global"))) == [".mine.tmp", "knowledge"]
    assert os.listdir(files.absolute("global/knowledge")) == []


def test_a_folder_in_the_place_of_a_file_is_an_error(files: TreeFiles) -> None:
    """A pipe or folder named like a fact would hang or crash a read."""
    os.makedirs(files.absolute("global/a.md"))
    os.mkfifo(files.absolute("global/pipe.md"))
    for path in ("global/a.md", "global/pipe.md"):
        with pytest.raises(OSError):
            files.read(path)
