"""Finding, starting and asking the daemon, with real processes on a real socket."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from coffer import discovery
from coffer.discovery import DaemonUnavailable, ensure_daemon, request, socket_path, start_daemon
from coffer.infrastructure.runtime import DaemonLock, Discovery, write_discovery

ROOT = str(Path(__file__).parents[2])
FAKE = (sys.executable, str(Path(__file__).with_name("fake_daemon.py")))
MUTE = (*FAKE, "mute")


def pids(home: str) -> list[int]:
    with suppress(FileNotFoundError):
        return [int(line) for line in Path(home, "pids").read_text().split()]
    return []


def end_daemons(home: str, how: signal.Signals = signal.SIGKILL, state: str = "ZX") -> None:
    """Send a signal to every daemon and wait until it has taken effect."""
    for pid in pids(home):
        with suppress(ProcessLookupError, FileNotFoundError):
            os.kill(pid, how)
            while Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in state:
                os.sched_yield()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[str]:
    folder = str(tmp_path / "h")
    yield folder
    end_daemons(folder)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A home with a daemon that serves."""
    folder = str(tmp_path_factory.mktemp("served"))
    ensure_daemon(folder, os.environ, command=FAKE)
    yield folder
    end_daemons(folder)


@pytest.mark.report("B03")
def test_home_is_what_the_environment_says() -> None:
    """Programs would look for the memory in different places."""
    assert discovery.coffer_home({"COFFER_HOME": "/some/where/"}) == "/some/where"
    assert discovery.coffer_home({}) == discovery.coffer_home({"COFFER_HOME": ""})
    assert discovery.coffer_home({}) == os.path.expanduser("~/.coffer")


def test_home_expands_the_tilde_of_a_settings_file() -> None:
    """An agent's settings file with `~` would make a folder of that name in the project."""
    assert discovery.coffer_home({"COFFER_HOME": "~/x"}) == os.path.expanduser("~/x")
    with pytest.raises(DaemonUnavailable, match="COFFER_HOME"):
        discovery.coffer_home({"COFFER_HOME": "~nobody-of-that-name/x"})


def test_socket_lies_in_the_home() -> None:
    """Clients of different versions wouldn't meet the daemon."""
    assert socket_path("/home/u/.coffer") == "/home/u/.coffer/daemon.sock"


def test_socket_of_a_long_home_is_short_and_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon with a long home couldn't listen, or two homes would share one daemon."""
    long = "/" + "x" * 120
    for runtime in ("/run/user/1", "/" + "y" * 100, "relative", ""):
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        path = socket_path(long)
        assert len(path) < 104 and os.path.isabs(path)
        assert path == socket_path(long) != socket_path(long + "x")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    assert socket_path(long).startswith("/run/user/1/coffer/")


@pytest.fixture
def long_home(home: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A home whose socket lies in a runtime folder of the session."""
    with TemporaryDirectory(dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        folder = os.path.join(home, "long" * 30)
        yield folder
        end_daemons(folder)


def test_daemon_of_a_long_home_is_reached(long_home: str) -> None:
    """Users with a long path would have no memory at all."""
    ensure_daemon(long_home, os.environ, command=FAKE)
    assert request(long_home, "GET", "/empty") == (204, {}, b"")


def test_daemon_with_another_runtime_folder_is_reached(
    long_home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over ssh, without the desktop's runtime folder, a second daemon would be started in vain."""
    ensure_daemon(long_home, os.environ, command=FAKE)
    address = socket_path(long_home)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert socket_path(long_home) != address
    write_discovery(long_home, Discovery("1", pids(long_home)[0], None, address, "now"))
    assert request(long_home, "GET", "/empty")[0] == 204


def test_socket_in_a_folder_of_somebody_else_is_refused(long_home: str) -> None:
    """Another user of the machine could play the daemon and feed the agent."""
    folder = Path(socket_path(long_home)).parent
    folder.mkdir(mode=0o755)
    with pytest.raises(PermissionError, match="you alone"):
        discovery.connect(long_home, 1.0)


@pytest.mark.parametrize("installed", [False, True])
def test_start_lets_nothing_of_the_project_in(tmp_path: Path, installed: bool) -> None:
    """A project with a folder named like one of our modules would break the daemon for all projects."""
    report = (
        "import json, os, sys; json.dump([os.getcwd(), os.environ.get('PYTHONPATH'), os.environ['COFFER_HOME'], "
        "os.getsid(0) == os.getpid(), os.path.exists('/proc/self/fd/' + sys.argv[2])], open(sys.argv[1], 'w'))"
    )
    root = ROOT
    if installed:
        root = str(tmp_path / "site-packages")
        os.makedirs(os.path.join(root, "coffer"))
        for name in ("__init__.py", "discovery.py"):
            shutil.copy(os.path.join(ROOT, "coffer", name), os.path.join(root, "coffer"))
    reading, writing = os.pipe()
    home, out = str(tmp_path / "home"), tmp_path / "report"
    command = (sys.executable, "-c", report, str(out), str(writing))
    code = f"from coffer.discovery import *; start_daemon({home!r}, os.environ, {command!r}).wait()"
    environ = {**os.environ, "PYTHONPATH": f"{root}:{tmp_path}", "COFFER_HOME": "elsewhere"}
    starter = [sys.executable, "-c", code]
    subprocess.run(starter, env=environ, cwd=tmp_path, pass_fds=(writing,), timeout=60, check=True)
    assert json.loads(out.read_text()) == ["/", None if installed else ROOT, home, True, False]
    os.close(reading)
    os.close(writing)


def test_files_of_a_start_are_private(home: str) -> None:
    """Other users could read what the daemon logs."""
    process = start_daemon(home, os.environ, (sys.executable, "-c", "pass"))
    assert process is not None and process.wait(30) == 0
    modes = {name: os.stat(os.path.join(home, name)).st_mode & 0o777 for name in ("", "logs", "start.lock")}
    assert modes == {"": 0o700, "logs": 0o700, "start.lock": 0o600}
    assert os.stat(discovery.log_path(home)).st_mode & 0o777 == 0o600


@pytest.mark.report("B25")
def test_twenty_starters_make_one_daemon(home: str) -> None:
    """Agents that start together would each start a daemon, and some would fail."""
    code = (
        f"import os, sys; from coffer.discovery import ensure_daemon; sys.stdin.read(); "
        f"ensure_daemon({home!r}, os.environ, command={FAKE!r})"
    )
    gate, opener = os.pipe()
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=gate,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": ROOT},
        )
        for _ in range(20)
    ]
    os.close(gate)
    os.close(opener)
    assert [starter.communicate(timeout=60)[1] for starter in starters] == [b""] * 20
    assert [starter.returncode for starter in starters] == [0] * 20
    assert len(pids(home)) == 1
    assert not Path(home, "refused").exists()


@pytest.mark.report("B39")
def test_many_starts_without_waiting_make_one_process(home: str) -> None:
    """Hooks that fire while the daemon is slow to come would pile up processes."""
    first = start_daemon(home, os.environ, MUTE)
    assert first is not None
    assert [start_daemon(home, os.environ, MUTE) for _ in range(300)] == [None] * 300
    first.kill()
    first.wait(30)
    again = start_daemon(home, os.environ, MUTE)
    assert again is not None
    again.kill()
    again.wait(30)


def test_socket_file_left_by_a_killed_daemon_is_no_hindrance(home: str) -> None:
    """After a crash, memory would be gone until somebody removes a file by hand."""
    ensure_daemon(home, os.environ, command=FAKE)
    end_daemons(home)
    with pytest.raises(DaemonUnavailable):
        request(home, "GET", "/empty")
    assert os.path.exists(socket_path(home))
    ensure_daemon(home, os.environ, command=FAKE)
    assert request(home, "GET", "/empty")[0] == 204
    assert len(pids(home)) == 2


def test_daemon_that_another_one_keeps_from_starting_is_tried_again(home: str) -> None:
    """A call during the last moments of an ending daemon would fail."""
    os.makedirs(home)
    os.mkfifo(os.path.join(home, "refused"))
    ending = DaemonLock(home)
    waiting = threading.Thread(target=ensure_daemon, args=(home, os.environ), kwargs={"command": FAKE})
    waiting.start()
    with open(os.path.join(home, "refused")) as refused:
        assert refused.readline()
    os.unlink(os.path.join(home, "refused"))
    ending.release()
    waiting.join(30)
    assert request(home, "GET", "/empty")[0] == 204


def test_failed_start_is_told_with_the_end_of_the_log(home: str) -> None:
    """The user would see that something is wrong, but not what."""
    command = (sys.executable, "-c", "import sys; sys.exit('old news\\n\\na\\nthe disk is full\\nfree some')")
    with pytest.raises(DaemonUnavailable) as refusal:
        ensure_daemon(home, os.environ, command=command)
    text = str(refusal.value)
    assert f"see {discovery.log_path(home)}" in text
    assert text.endswith("a / the disk is full / free some")


def test_start_that_never_ends_is_told(home: str) -> None:
    """A daemon stuck at its start would hang every agent."""
    stuck = start_daemon(home, os.environ, MUTE)
    assert stuck is not None
    with pytest.raises(DaemonUnavailable, match=r"didn't come up in 0\.1 s; see .*daemon\.log"):
        ensure_daemon(home, os.environ, timeout=0.1, command=MUTE)
    stuck.kill()
    stuck.wait(30)


def test_home_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """The user would get a traceback for a misspelt COFFER_HOME."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DaemonUnavailable, match="can't be started"):
        ensure_daemon(str(tmp_path / "file" / "home"), os.environ, command=FAKE)


def test_no_daemon_is_told(tmp_path: Path) -> None:
    """The command line would end in a traceback."""
    with pytest.raises(DaemonUnavailable, match=r"isn't running .*`coffer daemon start`"):
        request(str(tmp_path), "GET", "/")


def test_frozen_daemon_is_told(home: str) -> None:
    """Every command would hang without a word while the daemon's process is stopped."""
    ensure_daemon(home, os.environ, command=FAKE)
    end_daemons(home, signal.SIGSTOP, "T")
    with pytest.raises(DaemonUnavailable, match=r"is stopped.*daemon\.log"):
        request(home, "GET", "/empty", timeout=60)
    os.kill(pids(home)[0], signal.SIGCONT)
    assert request(home, "GET", "/empty")[0] == 204


def test_request_carries_body_and_headers(served: str) -> None:
    """What the user typed wouldn't arrive as it is."""
    body = bytes(range(256)) * 5000
    status, headers, answer = request(served, "POST", "/echo", body, {"X-Coffer-Actor": "user"})
    assert (status, headers["x-some"]) == (200, "Thing")
    said = json.loads(answer)
    assert said["body"].encode("latin-1") == body
    assert said["headers"]["x-coffer-actor"] == "user"
    assert said["headers"]["host"] == "localhost"


def test_answers_end_where_they_say(served: str) -> None:
    """A command would wait for a connection that stays open."""
    assert request(served, "GET", "/empty") == (204, {}, b"")
    assert request(served, "GET", "/chunks")[2] == b"hello!"
    assert len(request(served, "GET", "/big")[2]) == 10_000_000


def test_refusal_before_the_body_is_read_is_heard(served: str) -> None:
    """A text that is too long would look like a broken connection."""
    assert request(served, "POST", "/early", b"x" * 5_000_000)[::2] == (413, b"big")


@pytest.mark.parametrize("path", ["/garbage", "/html", "/length", "/half"])
def test_senseless_answers_are_told(served: str, path: str) -> None:
    """Another program on the socket would end the command in a traceback."""
    with pytest.raises(DaemonUnavailable, match=r"no proper answer .*daemon\.log"):
        request(served, "GET", path)


def test_silence_ends(served: str) -> None:
    """A busy daemon would hang a command for ever."""
    with pytest.raises(DaemonUnavailable, match="doesn't answer"):
        request(served, "GET", "/silence", timeout=0.1)
