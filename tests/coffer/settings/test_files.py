"""Other programs' files are replaced whole or not at all, and stay whose and what they were."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from coffer.domain.agents import FileChange
from coffer.domain.errors import DiskFull, SettingsChanged, SettingsUnparsable
from coffer.infrastructure.settings import files
from coffer.infrastructure.settings.files import DiskSettings

BACKUP = "settings.json.coffer-20261130T120000Z.bak"


@pytest.fixture
def disk() -> DiskSettings:
    return DiskSettings(lambda: "2026-11-30T12:00:00Z")


def change(path: Path, after: bytes | None, before: bytes | None = b"old") -> FileChange:
    return FileChange(str(path), before, after, "change it")


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_file_is_replaced_and_what_it_was_is_kept_for_its_owner_alone(
    tmp_path: Path, disk: DiskSettings
) -> None:
    """A person couldn't go back to their file, or others could read the keys that are in it."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    file.chmod(0o644)
    disk.apply([change(file, b"new")])
    assert listing(tmp_path) == {"settings.json": b"new", BACKUP: b"old"}
    assert stat.S_IMODE((tmp_path / BACKUP).stat().st_mode) == 0o600
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_the_backup_is_from_before_the_first_change_and_goes_with_the_last(
    tmp_path: Path, disk: DiskSettings
) -> None:
    """A later change would replace the only copy of the person's own file, or backups would pile up."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    disk.apply([change(file, b"new")])
    disk.apply([change(file, b"newer", b"new")])
    assert listing(tmp_path) == {"settings.json": b"newer", BACKUP: b"old"}
    disk.apply([change(file, b"old", b"newer")])
    assert listing(tmp_path) == {"settings.json": b"old"}


def test_a_file_is_made_private_and_goes_again(tmp_path: Path, disk: DiskSettings) -> None:
    """Settings would be left behind, or be readable by others."""
    file = tmp_path / "settings.json"
    disk.apply([change(file, b"new", None)])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    disk.apply([change(file, b"newer", b"new")])
    disk.apply([change(file, None, b"newer")])
    assert listing(tmp_path) == {}


def test_what_a_person_puts_into_a_file_of_ours_is_kept(tmp_path: Path, disk: DiskSettings) -> None:
    """A person's settings would have no backup because it was Coffer that made the file."""
    file = tmp_path / "settings.json"
    disk.apply([change(file, b"ours", None)])
    file.write_bytes(b"theirs")
    disk.apply([change(file, b"both", b"theirs")])
    assert listing(tmp_path) == {"settings.json": b"both", BACKUP: b"theirs"}


def test_no_folder_is_made(tmp_path: Path, disk: DiskSettings) -> None:
    """An agent that was never started would seem to be there."""
    with pytest.raises(SettingsUnparsable):
        disk.apply([change(tmp_path / "agent" / "settings.json", b"new", None)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("found", [b"edited", None])
def test_a_file_that_somebody_edited_is_left(tmp_path: Path, disk: DiskSettings, found: bytes | None) -> None:
    """What a person or the agent saved a moment ago would be lost."""
    file = tmp_path / "settings.json"
    if found is not None:
        file.write_bytes(found)
    before = listing(tmp_path)
    with pytest.raises(SettingsChanged):
        disk.apply([change(file, b"new")])
    assert listing(tmp_path) == before


@pytest.mark.report("B50")
def test_a_symlink_stays_and_its_target_changes(tmp_path: Path, disk: DiskSettings) -> None:
    """A person's dotfiles would be cut off from where they are kept, or secrets be copied there."""
    store, home = tmp_path / "dotfiles", tmp_path / "home"
    store.mkdir()
    home.mkdir()
    (store / "mine.json").write_bytes(b"old")
    (home / "settings.json").symlink_to("../dotfiles/mine.json")
    disk.apply([change(home / "settings.json", b"new")])
    assert (home / "settings.json").is_symlink()
    assert listing(store) == {"mine.json": b"new"}
    assert listing(home) == {"settings.json": b"new", BACKUP: b"old"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_mode_and_owner_stay(tmp_path: Path, disk: DiskSettings) -> None:
    """An agent that runs as somebody else couldn't read its settings any more."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    os.chown(file, 1234, 4321)
    file.chmod(0o640)
    disk.apply([change(file, b"new")])
    told = file.stat()
    assert (told.st_uid, told.st_gid, stat.S_IMODE(told.st_mode)) == (1234, 4321, 0o640)


def test_all_files_change_or_none(tmp_path: Path, disk: DiskSettings) -> None:
    """An agent would be set up by half, with no way to tell."""
    one, two, three = (tmp_path / name for name in ("1.json", "2.json", "3.json"))
    one.write_bytes(b"old")
    one.chmod(0o640)
    three.write_bytes(b"edited")
    with pytest.raises(SettingsChanged):
        disk.apply([change(one, b"new"), change(two, b"new", None), change(three, b"new")])
    assert listing(tmp_path) == {"1.json": b"old", "3.json": b"edited"}


def test_what_was_done_is_undone_when_a_later_file_changes_meanwhile(
    tmp_path: Path, disk: DiskSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first files of a list would stay changed when the last one can't be."""
    one, two, three, four = (tmp_path / f"{number}.json" for number in range(1, 5))
    for file in (one, three, four):
        file.write_bytes(b"old")
    one.chmod(0o640)
    replace = os.replace

    def replaced(source: str, target: str) -> None:
        replace(source, target)
        if target == str(one):
            four.write_bytes(b"edited")

    monkeypatch.setattr(os, "replace", replaced)
    changes = [change(one, b"new"), change(two, b"new", None), change(three, None), change(four, b"new")]
    with pytest.raises(SettingsChanged):
        disk.apply(changes)
    assert listing(tmp_path) == {"1.json": b"old", "3.json": b"old", "4.json": b"edited"}
    assert stat.S_IMODE(one.stat().st_mode) == 0o640


@pytest.mark.report("B21")
@pytest.mark.parametrize("full_at", [1, 2, 3, 4, 5])
def test_a_full_disk_keeps_the_old_file(
    tmp_path: Path, disk: DiskSettings, monkeypatch: pytest.MonkeyPatch, full_at: int
) -> None:
    """A person's settings would be empty, or cut off, after the disk was full."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    fsync, count = os.fsync, iter(range(1, 100))

    def full(handle: int) -> None:
        if next(count) == full_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull):
        disk.apply([change(file, b"new")])
    assert listing(tmp_path) == {"settings.json": b"old"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, disk: DiskSettings) -> None:
    """A person would see a fault of ours instead of what to mend."""
    (tmp_path / "settings.json").write_bytes(b"old")
    tmp_path.chmod(0o500)
    with pytest.raises(SettingsUnparsable, match="can't be written"):
        disk.apply([change(tmp_path / "settings.json", b"new")])
    tmp_path.chmod(0o700)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder, or a pipe that never ends, would hang the daemon or be replaced."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(SettingsUnparsable):
            files.read(str(tmp_path / name))
    (tmp_path / "nowhere").symlink_to("missing")
    assert files.read(str(tmp_path / "nowhere")) is None


@pytest.mark.parametrize(("name", "left"), [("settings.json", b"{}\n"), ("config.toml", b"")])
def test_a_link_to_settings_is_not_broken(tmp_path: Path, disk: DiskSettings, name: str, left: bytes) -> None:
    """A link of a person's own would be gone when nothing is left to say in its file."""

    class Gone:
        path, value, data = str(tmp_path / name), None, None

    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / name).symlink_to("target")
    document: Any = Gone()
    [told] = files.change(b"old", document, "remove it")
    assert told.after == left
