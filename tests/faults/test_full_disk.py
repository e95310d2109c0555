"""A file system of a few megabytes that really runs full, and a memory tree that really can't be written."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.preloaded import Preloaded
from lanes.knowledge import read_note
from tests.faults.home import AGENT, Home, until, without_privileges

pytestmark = pytest.mark.faults

OLD, NEW = "Deploys happen on Monday. " * 20, "Deploys happen on Tuesday. " * 20


@pytest.fixture
def small(tmp_path: Path, preloaded: Preloaded) -> Iterator[Home]:
    """A home on a file system of four megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", place], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        home = Home(place, preloaded)
        yield home
        home.end_all()
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def fill(home: Home, leave: int) -> Path:
    """Take all the room but `leave` bytes; return the file that holds it."""
    ballast = home.root / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
        try:
            while True:
                file.write(bytes(1 << 10))
        except OSError:
            pass
    os.truncate(ballast, max(0, ballast.stat().st_size - leave))
    return ballast


@pytest.mark.report("B21")
@pytest.mark.parametrize("leave", [0, 4096, 8192, 16384, 24576, 32768, 49152, 65536])
def test_a_full_disk_costs_nothing(small: Home, leave: int) -> None:
    """On a full disk an edit would leave half a file, or empty it, or Coffer would need a restart afterwards."""
    fact = small.start().remember(OLD)
    assert small.texts_of() == [OLD.strip()]
    ballast = fill(small, leave)
    path = f"/memory_stores/global/facts/{fact['id']}"
    refused = 0
    texts = {OLD.strip()}
    for number in range(12):
        text = f"{NEW}{number}"
        reply = small.ask("PATCH", path, {"text": text}, AGENT)
        if reply.status != 200:
            assert "is full" in reply.refusal(507, "DISK_FULL")["message"]
            assert str(small.tree) in reply.refusal(507, "DISK_FULL")["message"]
            refused += 1
        else:
            texts = {text}
        assert small.get(path).done()["text"] in texts
        assert small.texts("global", "deploys happen")
        assert read_note("knowledge/inbox/a.md", Path(fact["path"]).read_bytes()).body in texts
    assert refused or leave

    ballast.unlink()
    assert small.edit(fact["id"], "There is room again.")["text"] == "There is room again."
    until(lambda: small.findings("repository")[0]["status"] == "ok")
    assert small.texts_of() == ["There is room again."]
    small.restart()
    assert small.texts_of() == ["There is room again."]
    small.check()


def test_a_read_only_tree_is_recalled_from(home: Home) -> None:
    """A memory on a disk that went read-only would be lost to its agents, or give them errors without a cause."""
    home.start().remember(OLD)
    home.kill()
    writable = freeze(home.tree)
    home.start(command=without_privileges())
    assert home.texts("global", "deploys")
    reply = home.ask("POST", "/memory_stores/global/facts", {"text": NEW}, AGENT)
    assert "can't be written" in reply.refusal(503, "STORE_READ_ONLY")["message"]
    assert home.texts_of() == [OLD.strip()]
    thaw(writable)
    home.remember(NEW)
    assert home.texts_of() == sorted([OLD.strip(), NEW.strip()])
    home.check()


def test_a_read_only_git_folder_keeps_the_text(home: Home) -> None:
    """What an agent wants remembered would be refused for a trouble with git that has nothing to do with it."""
    home.start().remember(OLD)
    home.kill()
    writable = freeze(home.tree / ".git")
    home.start(command=without_privileges())
    fact = home.remember(NEW)
    assert fact["commit"] == "pending" and "git folder can't be written" in fact["pending_reason"]
    assert home.texts_of() == sorted([OLD.strip(), NEW.strip()])
    thaw(writable)
    until(lambda: home.committed(fact))
    assert home.git("log", "-1", "--format=%an", "--", home.path(fact)).strip() == "claude-code"
    home.check()


def freeze(folder: Path) -> dict[Path, int]:
    """Take write permission from everything below a folder; return what was there."""
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in [folder, *folder.rglob("*")]}
    for path in modes:
        path.chmod(modes[path] & ~0o222)
    return modes


def thaw(modes: dict[Path, int]) -> None:
    for path, mode in modes.items():
        if path.exists():
            path.chmod(mode)
