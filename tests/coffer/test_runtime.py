"""What the daemon owns on disk: who may be there, who is there, and how to reach it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coffer.discovery import socket_path
from coffer.infrastructure import runtime
from coffer.infrastructure.runtime import (
    AlreadyRunning,
    CannotStart,
    DaemonLock,
    Discovery,
    free_port,
    prepare_home,
    read_discovery,
    remove_discovery,
    rotate_token,
    token,
    write_discovery,
)

ROOT = str(Path(__file__).parents[2])
HERE = Discovery("1.2", 4321, 7420, "/some/daemon.sock", "2026-01-02T03:04:05Z")


def mode(path: str | Path) -> int:
    return os.stat(path).st_mode & 0o777


@pytest.fixture
def home(tmp_path: Path) -> str:
    folder = str(tmp_path / "home")
    prepare_home(folder)
    return folder


def test_new_home_is_for_its_owner_alone(home: str) -> None:
    """Other users of the machine could read the memory."""
    assert mode(home) == mode(os.path.join(home, "logs")) == 0o700


def test_home_that_others_can_read_is_closed(tmp_path: Path) -> None:
    """A home made by hand would stay open to other users."""
    tmp_path.chmod(0o755)
    prepare_home(str(tmp_path))
    assert mode(tmp_path) == 0o700


@pytest.mark.parametrize("open_to", [0o770, 0o707, 0o702])
def test_home_that_others_can_write_is_refused(tmp_path: Path, open_to: int) -> None:
    """Somebody else could have put a rule into it that every agent obeys."""
    tmp_path.chmod(open_to)
    with pytest.raises(CannotStart, match="can be written by other users"):
        prepare_home(str(tmp_path))


def test_home_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner could read and change the memory."""
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(CannotStart, match="belongs to another user; set COFFER_HOME"):
        prepare_home(str(tmp_path))


def test_home_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    """The daemon's log would show a traceback instead of a sentence."""
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotStart, match="can't be made"):
        prepare_home(str(tmp_path / "file"))


def test_folder_for_the_socket_of_a_long_home_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user could sit where the socket will be and play the daemon."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path)[:70])
    home = str(tmp_path / ("long" * 30))
    folder = Path(socket_path(home)).parent
    prepare_home(home)
    assert mode(folder) == 0o700
    folder.rmdir()
    folder.symlink_to(home)
    with pytest.raises(CannotStart, match="must be a folder"):
        prepare_home(home)


def test_second_daemon_learns_of_the_first(home: str) -> None:
    """Two daemons would write the same files."""
    first = DaemonLock(home)
    with pytest.raises(AlreadyRunning, match="already running: it is just starting"):
        DaemonLock(home)
    write_discovery(home, HERE)
    with pytest.raises(AlreadyRunning, match=r"already running: process 4321, socket /some/daemon\.sock"):
        DaemonLock(home)
    first.release()
    DaemonLock(home).release()


@pytest.fixture
def holder(home: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has locked the home and published its address."""
    code = (
        "import sys; from coffer.infrastructure.runtime import *; lock = DaemonLock(sys.argv[1]);"
        "write_discovery(sys.argv[1], Discovery('1', 1, None, 's', 't')); open(socket_path(sys.argv[1]), 'w');"
        "print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, home],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.communicate()


def test_killed_daemon_leaves_nothing_in_the_way(home: str, holder: subprocess.Popen[bytes]) -> None:
    """After a crash the daemon would refuse to start, or its clients would call a dead one."""
    holder.kill()
    holder.wait(30)
    assert read_discovery(home) is not None
    lock = DaemonLock(home)
    assert read_discovery(home) is None
    assert not os.path.exists(socket_path(home))
    lock.release()


def test_frozen_daemon_keeps_its_home(home: str, holder: subprocess.Popen[bytes]) -> None:
    """A daemon whose process is stopped for a while would find another one in its place."""
    holder.send_signal(signal.SIGSTOP)
    with pytest.raises(AlreadyRunning):
        DaemonLock(home)


def test_children_of_the_daemon_do_not_hold_its_lock(home: str) -> None:
    """An editor that the daemon opened would keep the next daemon from starting."""
    lock = DaemonLock(home)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False):
        lock.release()
        DaemonLock(home).release()


def test_discovery_tells_how_to_reach_the_daemon(home: str) -> None:
    """Tools that read the file would miss a field."""
    write_discovery(home, HERE)
    path = os.path.join(home, "daemon.json")
    assert json.loads(Path(path).read_text()) == {
        "version": "1.2",
        "pid": 4321,
        "port": 7420,
        "socket": "/some/daemon.sock",
        "started_at": "2026-01-02T03:04:05Z",
    }
    assert mode(path) == 0o600
    assert read_discovery(home) == HERE
    assert not [name for name in os.listdir(home) if name.endswith(".tmp")]


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", "3"])
def test_senseless_discovery_is_no_discovery(home: str, content: str | None) -> None:
    """A damaged file would end a command in a traceback."""
    if content is not None:
        Path(home, "daemon.json").write_text(content)
    assert read_discovery(home) is None


def test_discovery_of_a_newer_version_is_understood(home: str) -> None:
    """After an update, tools of the old version wouldn't find the daemon."""
    Path(home, "daemon.json").write_text(
        json.dumps({"version": "9", "pid": 1, "port": None, "socket": "s", "started_at": "t", "new": 1})
    )
    assert read_discovery(home) == Discovery("9", 1, None, "s", "t")


def test_removing_discovery_twice_is_fine(home: str) -> None:
    """A daemon that ends before it has published anything would end with an error."""
    write_discovery(home, HERE)
    remove_discovery(home)
    remove_discovery(home)
    assert read_discovery(home) is None


def test_token_is_kept_private_and_long(home: str) -> None:
    """Bookmarks and clients would break at each restart, or others could guess or read the token."""
    first = token(home)
    assert token(home) == first and len(first) == 43
    os.chmod(os.path.join(home, "token"), 0o644)
    assert token(home) == first
    assert mode(os.path.join(home, "token")) == 0o600


def test_rotated_token_replaces_the_old_one(home: str) -> None:
    """A leaked token could not be taken back."""
    old = token(home)
    new = rotate_token(home)
    assert old != new == token(home)


@pytest.mark.parametrize("damage", [b"", b"\n", b"short", b"\xff\xfe"])
def test_damaged_token_is_made_anew(home: str, damage: bytes) -> None:
    """After a power cut an empty token would let everybody in, or nobody."""
    Path(home, "token").write_bytes(damage)
    assert len(token(home)) == 43


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_port_is_off_when_asked(home: str) -> None:
    """A user who wants no TCP would get it."""
    assert free_port("off") is None


@pytest.mark.report("B44")
def test_taken_port_is_passed_over(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program on the port would keep the daemon from starting."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        spare = free.getsockname()[1]
    monkeypatch.setattr(runtime, "_PORTS", (taken, spare))
    assert free_port(None) == free_port("") == spare
    monkeypatch.setattr(runtime, "_PORTS", (taken, taken))
    assert free_port(None) is None


def test_port_that_was_asked_for_is_taken_or_told(taken: int) -> None:
    """The daemon would listen where the user doesn't look for it."""
    with pytest.raises(CannotStart, match=f"Port {taken} is taken"):
        free_port(str(taken))
    with socket.create_server(("127.0.0.1", 0)) as free:
        spare = free.getsockname()[1]
    assert free_port(str(spare)) == spare


@pytest.mark.parametrize("setting", ["http", "-1", "0", "65536", "٣", "7420.0"])
def test_senseless_port_is_told(setting: str) -> None:
    """A misspelt setting would be passed over in silence."""
    with pytest.raises(CannotStart, match="COFFER_PORT"):
        free_port(setting)
