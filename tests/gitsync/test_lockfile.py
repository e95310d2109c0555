"""Locks that say whose they are."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gitsync.errors import Blocked
from gitsync.lockfile import describe, drop_stuck, held, is_stale, owner_file, owner_of


def test_a_lock_names_its_owner_from_the_first_instant(tmp_path: Path) -> None:
    """A daemon killed right after locking would leave a lock that nobody dares to remove."""
    owner, lock = owner_file(str(tmp_path / "coffer")), tmp_path / "index.lock"
    with held(str(lock), owner):
        assert os.stat(lock).st_ino == os.stat(owner).st_ino
        named = owner_of(str(lock))
        assert named and named[0] == os.getpid() and named[1] > 0
    assert not lock.exists()
    assert owner_file(str(tmp_path / "coffer")) == owner


def test_a_held_lock_is_refused_at_once_and_kept(tmp_path: Path) -> None:
    """A write would wait behind an open editor, or two writers hold one lock."""
    owner, lock = owner_file(str(tmp_path)), tmp_path / "index.lock"
    with held(str(lock), owner):
        with (
            pytest.raises(Blocked, match=rf"\(index.lock, pid {os.getpid()}, \d+ s old\)"),
            held(str(lock), owner),
        ):
            raise AssertionError("both hold it")
        assert lock.exists()


def test_a_lock_is_freed_when_the_work_fails(tmp_path: Path) -> None:
    """An error while locked would lock the user's git out for good."""
    lock = tmp_path / "index.lock"
    with pytest.raises(ZeroDivisionError), held(str(lock), owner_file(str(tmp_path))):
        raise ZeroDivisionError
    assert not lock.exists()


@pytest.mark.parametrize(
    "text", ["", "coffer", "coffer x 1\n", "coffer 1 2 3\n", "DIRC\0\0\0\2", "git 1 2\n"]
)
def test_what_is_not_ours_has_no_owner(tmp_path: Path, text: str) -> None:
    """A lock of git's own would be taken for a stale one of ours and broken."""
    (tmp_path / "index.lock").write_text(text)
    assert owner_of(str(tmp_path / "index.lock")) is None
    assert "pid unknown" in describe(str(tmp_path / "index.lock"), str(tmp_path))


def test_who_is_gone_and_who_is_not() -> None:
    """A running program's lock would be broken, or a dead one's kept for ever."""
    parent = os.getppid()
    start = int(Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[19])
    assert not is_stale((parent, start))
    assert is_stale((parent, start + 1)), "the number was given to a later process"
    assert is_stale((2**22 + 1, 1))
    assert is_stale((2**70, 1))
    assert is_stale((os.getpid(), 5))


def test_a_lock_that_could_not_be_removed_goes_when_the_disk_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a disk error, our own lock would keep git and the memory from committing until a restart."""
    lock, owner = str(tmp_path / "index.lock"), owner_file(str(tmp_path))

    def fail(path: str) -> None:
        raise OSError(errno.EROFS, "read-only", path)

    with monkeypatch.context() as patch, pytest.raises(OSError, match="read-only"), held(lock, owner):
        patch.setattr(os, "unlink", fail)
    assert os.path.exists(lock)
    drop_stuck(lock)
    assert not os.path.exists(lock)
    Path(lock).write_text("somebody else's")
    drop_stuck(lock)
    assert os.path.exists(lock)
