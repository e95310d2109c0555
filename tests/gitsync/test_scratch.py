"""Small files of our own in git's folder."""

from __future__ import annotations

import os
from pathlib import Path

from gitsync.scratch import read_text, write_new


def test_a_private_file_replaces_a_link_instead_of_following_it(tmp_path: Path) -> None:
    """Writing our scratch file would write through to another file, or into a held lock."""
    other = tmp_path / "other"
    other.write_bytes(b"kept")
    (tmp_path / "scratch").symlink_to(other)
    write_new(str(tmp_path / "scratch"), b"new")
    os.link(tmp_path / "scratch", tmp_path / "linked")
    write_new(str(tmp_path / "scratch"), b"newer")
    assert (other.read_bytes(), (tmp_path / "linked").read_bytes()) == (b"kept", b"new")
    assert os.stat(tmp_path / "scratch").st_mode & 0o777 == 0o600


def test_a_file_that_is_not_there_has_no_text(tmp_path: Path) -> None:
    """A missing lock would crash the look for its owner."""
    assert read_text(str(tmp_path / "none")) is None
    write_new(str(tmp_path / "long"), b"x" * 200)
    assert read_text(str(tmp_path / "long")) == "x" * 100
