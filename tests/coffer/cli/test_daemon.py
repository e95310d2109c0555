"""`coffer daemon`, against a stand-in and against a process that holds the lock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coffer.surfaces.cli import daemon
from tests.coffer.cli.fake_rest import Coffer, FakeRest

HOLDER = """
import fcntl, json, os, signal, sys
home, obeys = sys.argv[1:]
lock = open(os.path.join(home, "daemon.lock"), "w")
fcntl.flock(lock, fcntl.LOCK_EX)
json.dump({"pid": os.getpid()}, open(os.path.join(home, "daemon.json"), "w"))
signal.signal(signal.SIGTERM, signal.SIG_DFL if obeys == "yes" else signal.SIG_IGN)
print("ready", flush=True)
signal.pause()
"""


@contextmanager
def hold(home: Path, obeys: str) -> Iterator[subprocess.Popen[str]]:
    """Keep a process that holds the home's lock as a daemon does, and obeys SIGTERM or not."""
    command = [sys.executable, "-c", HOLDER, str(home), obeys]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            yield holder
        finally:
            holder.kill()


def test_status_tells_version_pid_uptime_socket_and_port(rest: FakeRest, coffer: Coffer) -> None:
    """A person couldn't see which daemon serves them, and where."""
    assert coffer("daemon", "status").out.splitlines() == [
        "version: 0.1.0",
        f"pid:     {os.getpid()}",
        "uptime:  2 h 3 min",
        "ready:   yes",
        f"socket:  {rest.home / 'daemon.sock'}",
        "port:    7420",
    ]
    assert json.loads(coffer("daemon", "status", "--json").out)["uptime_s"] == 7384.2


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 min 0 s"), (3599, "59 min 59 s"), (3600, "1 h 0 min"), (90000, "1 d 1 h")]
)
def test_uptime_is_told_in_two_units(rest: FakeRest, coffer: Coffer, seconds: int, said: str) -> None:
    """A person would have to divide seconds in the head."""
    status = {"version": "0.1.0", "pid": 7, "uptime_s": seconds, "ready": False}
    rest.reply("GET", "/daemon/status", 200, status)
    (rest.home / "daemon.json").write_text("half a fi")
    out = coffer("daemon", "status").out
    assert f"uptime:  {said}\n" in out
    assert "ready:   not yet\n" in out
    assert "port:    off\n" in out


def test_status_of_nothing_says_so_and_starts_nothing(home: Path, coffer: Coffer) -> None:
    """Asking would start the daemon, or leave something behind."""
    ran = coffer("daemon", "status")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "coffer: The daemon isn't running; `coffer daemon start` starts it.\n"
    assert list(home.iterdir()) == []


def test_start_of_a_running_daemon_is_content(rest: FakeRest, coffer: Coffer) -> None:
    """A script that makes sure of the daemon would fail the second time."""
    ran = coffer("daemon", "start")
    assert (ran.status, ran.out) == (0, f"The daemon is running (pid {os.getpid()}).\n")


def test_stop_ends_the_daemon_and_waits_for_it(home: Path, coffer: Coffer) -> None:
    """The next start would meet a daemon that is still writing."""
    with hold(home, "yes") as holder:
        ran = coffer("daemon", "stop")
        assert (ran.status, ran.out) == (0, "The daemon has ended.\n")
        assert holder.wait(10) < 0


def test_stop_says_when_the_daemon_does_not_end(
    home: Path, coffer: Coffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person would believe that a hung daemon is gone."""
    monkeypatch.setattr(daemon, "STOP_SECONDS", 0.0)
    with hold(home, "no") as holder:
        ran = coffer("daemon", "stop")
    assert ran.status == 1
    assert ran.err.startswith(f"coffer: The daemon (pid {holder.pid}) was asked to end and is still at work")


def test_stop_never_signals_a_process_that_is_not_the_daemon(home: Path, coffer: Coffer) -> None:
    """After a crash the old pid may be somebody else's by now, who would be killed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        (home / "daemon.json").write_text(json.dumps({"pid": bystander.pid}))
        (home / "daemon.lock").touch()
        ran = coffer("daemon", "stop")
        assert (ran.status, ran.out) == (0, "The daemon isn't running.\n")
        assert bystander.poll() is None
        bystander.communicate(b"\n")
    assert bystander.returncode == 0


@pytest.mark.parametrize("found", ["{}", '{"pid": -1}', '{"pid": "12"}', "[]", "{"])
def test_stop_with_a_useless_discovery_file_signals_nobody(
    rest: FakeRest, coffer: Coffer, found: str
) -> None:
    """A damaged file could make the command signal every process of the user."""
    (rest.home / "daemon.json").write_text(found)
    ran = coffer("daemon", "stop")
    assert ran.status == 1
    assert ran.err.startswith("coffer: The daemon is still starting and its pid isn't known yet")


def test_rotate_token_says_where_the_token_is_but_not_what(rest: FakeRest, coffer: Coffer) -> None:
    """The new token would stand in the terminal's history."""
    rest.reply("POST", "/daemon/rotate-token", 200, {"token": "n" * 43})
    ran = coffer("daemon", "rotate-token")
    assert (ran.status, ran.out) == (0, f"The token is new; HTTP clients find it in {rest.home / 'token'}.\n")
    assert rest.last.headers["x-coffer-actor"] == "user"


def test_run_becomes_the_daemon_and_says_what_to_do_next(
    home: Path, coffer: Coffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal to `coffer daemon run` would miss the daemon, or a newcomer wouldn't know how to go on."""
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda path, words: became.append([path, *words]))
    ran = coffer("daemon", "run")
    assert became == [[sys.executable, sys.executable, "-P", "-m", "coffer.daemon"]]
    assert str(home / "memory") in ran.out
    assert "/coffer setup\n" in ran.out and "/coffer-mcp-shim --agent" in ran.out
