"""What is flushed, in which way."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitsync import durable
from gitsync.durable import Disk


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that fsync was asked for, in order."""
    seen: list[str] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        seen.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    return seen


def disk(folder: Path, syncfs: Callable[[int], int] | None) -> Disk:
    made = Disk(str(folder))
    made._syncfs = syncfs
    return made


def test_one_call_where_the_system_has_it(tmp_path: Path, synced: list[str]) -> None:
    """Each of a dozen small files would cost a flush of its own."""
    calls: list[int] = []
    (tmp_path / "a").write_bytes(b"a")
    made = disk(tmp_path, lambda handle: calls.append(handle) or 0)
    made.flush([str(tmp_path / "a")])
    made.flush([str(tmp_path / "a")])
    assert (len(calls), synced) == (2, [])


def test_several_folders_in_one_call(tmp_path: Path, synced: list[str]) -> None:
    """A change over many folders would take as many flushes after it is made."""
    calls: list[int] = []
    (tmp_path / "a").mkdir()
    made = disk(tmp_path, lambda handle: calls.append(handle) or 0)
    made.flush_folders([str(tmp_path / "a"), str(tmp_path)])
    assert (len(calls), synced) == (1, [])
    made.flush_folders([str(tmp_path / "a")])
    assert (len(calls), synced) == (1, [str(tmp_path / "a")])


def test_each_file_then_its_folders_elsewhere(tmp_path: Path, synced: list[str]) -> None:
    """Without the one call a new file's name, or a new folder's, would be lost with the power."""
    place = tmp_path / "x" / "y" / "a"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"a")
    disk(tmp_path, None).flush([str(place)])
    assert synced == [str(place), str(tmp_path / "x"), str(tmp_path / "x/y")]


def test_a_slow_flush_is_not_repeated_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another program copies a large file, every remembered fact would wait for it."""
    clock = iter([0.0, 0.2])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    calls: list[int] = []
    made = disk(tmp_path, lambda handle: calls.append(handle) or 0)
    for _ in range(durable.CAUTIOUS_FLUSHES + 1):
        made.flush([])
    assert len(calls) == 1
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    made.flush([])
    assert len(calls) == 2, "and after a while it's tried again"


def test_another_programs_failure_is_not_ours(tmp_path: Path, synced: list[str]) -> None:
    """A failing write of somebody else would make us refuse a fact, or one of ours go unnoticed."""
    (tmp_path / "a").write_bytes(b"a")
    disk(tmp_path, lambda handle: -1).flush([str(tmp_path / "a")])
    assert synced == [str(tmp_path / "a")]


def test_our_own_failure_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fact that never reached the disk would be acknowledged."""

    def fails(handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    (tmp_path / "a").write_bytes(b"a")
    for made in (disk(tmp_path, lambda handle: -1), disk(tmp_path, None)):
        with pytest.raises(OSError, match="Input/output"):
            made.flush([str(tmp_path / "a")])
    with pytest.raises(OSError, match="Input/output"):
        disk(tmp_path, None).flush_folders([str(tmp_path)])


def test_an_object_packed_meanwhile_is_durable_already(tmp_path: Path) -> None:
    """A write would fail because maintenance packed its object in the same moment."""
    for made in (disk(tmp_path, lambda handle: 0), disk(tmp_path, None)):
        made.flush([str(tmp_path / "gone")])


def test_a_folder_that_is_gone_or_cannot_be_flushed(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removing a store's last file, or a file system without folder flushes, would look like a failure."""
    disk(tmp_path, None).flush_folders([str(tmp_path / "gone" / "too"), str(tmp_path)])
    assert synced == [str(tmp_path)]

    def unsupported(handle: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", unsupported)
    disk(tmp_path, None).flush_folders([str(tmp_path)])


def test_a_file_on_another_file_system_is_flushed_by_name(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is a mount of its own would not be flushed with the rest."""
    (tmp_path / "a").write_bytes(b"a")
    monkeypatch.setattr(durable, "_device", lambda name: -1)
    disk(tmp_path, lambda handle: 0).flush([str(tmp_path / "a")])
    assert synced == [str(tmp_path / "a")]
