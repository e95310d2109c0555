"""A program that is run for us never hangs us, floods us or stays behind."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from threading import Event

import psutil
import pytest

from gitsync.errors import RemoteFailed
from gitsync.guarded import Ended, run
from tests.gitsync.peers import nothing_runs, running, until


def sh(script: str, seconds: float = 20, stop: Event | None = None, source: str = os.devnull) -> Ended:
    return run(["/bin/sh", "-c", script], dict(os.environ), seconds, stop or Event(), source=source)


def test_what_it_says_and_how_it_ends(tmp_path: Path) -> None:
    """The answer of git would be misread."""
    source = tmp_path / "source"
    source.write_bytes(b"bytes\n" * 100_000)
    assert sh("wc -c; echo no >&2; exit 7", source=str(source)) == Ended(7, "600000\n", "no\n")
    assert sh("kill -9 $$").status == 128 + signal.SIGKILL
    assert run([str(tmp_path / "none")], {}, 20, Event()).status == 127
    nothing_runs(str(tmp_path))


def test_only_the_end_of_a_flood_is_kept() -> None:
    """The daemon's memory would be at the mercy of a remote."""
    ended = sh("yes | head -c 3000000; echo end; yes | head -c 3000000 >&2")
    assert len(ended.err) == 16 * 1024
    assert len(ended.out) == 16 * 1024
    assert ended.out.endswith("end\n")


def test_what_it_leaves_running_is_ended() -> None:
    """Every sync would leave an ssh behind that waits for a dead host."""
    mark = "31415926"
    assert sh(f"sleep {mark} & exit 3").status == 3
    nothing_runs(mark)


def test_what_holds_its_output_open_is_not_waited_for(tmp_path: Path) -> None:
    """An ssh that shares its connection in the background would hang every sync."""
    mark, away = "31415927", tmp_path / "away"
    script = f"setsid sh -c 'touch {away}; exec sleep {mark}' & until [ -e {away} ]; do :; done; echo said"
    try:
        assert sh(script).out == "said\n"
    finally:
        until(lambda: bool(running(mark)))
        for process in psutil.process_iter(["cmdline"]):
            if process.info["cmdline"] == ["sleep", mark]:
                process.kill()


def test_deadline_stop_and_check_kill_all_of_it() -> None:
    """A hung remote would keep processes for as long as the machine runs."""
    mark = "31415928"
    script = f"trap '' TERM; sleep {mark} & sleep {mark}; sleep {mark}"
    with pytest.raises(RemoteFailed) as failed:
        sh(script, seconds=0.5)
    assert failed.value.cause == "timeout"
    nothing_runs(mark)
    stop = Event()
    stop.set()
    with pytest.raises(RemoteFailed) as failed:
        sh(script, stop=stop)
    assert failed.value.cause == "stopped"
    nothing_runs(mark)

    def check() -> None:
        if running(mark):
            raise KeyError(mark)

    with pytest.raises(KeyError):
        run(["/bin/sh", "-c", script], dict(os.environ), 20, Event(), check)
    nothing_runs(mark)


def test_its_memory_is_bounded() -> None:
    """A few bytes from a remote that unfold to gigabytes would have the system kill the daemon."""
    taken = "x = bytearray(3 << 30)"
    ended = run([sys.executable, "-c", taken], dict(os.environ), 20, Event())
    assert ended.status == 1
    assert "MemoryError" in ended.err


def test_no_handles_are_left() -> None:
    """The daemon would run out of open files."""
    sh("true")
    before = psutil.Process().num_fds()
    for _ in range(5):
        sh("echo x; echo y >&2")
        with pytest.raises(RemoteFailed):
            sh("sleep 60", seconds=0.1)
    assert psutil.Process().num_fds() == before
