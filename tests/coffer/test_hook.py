"""The hook as agents run it: a process of its own, against every kind of daemon and every kind of stdin."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from coffer import discovery
from coffer.infrastructure.spool import take
from tests.coffer.daemon_process import ROOT, environment
from tests.coffer.test_discovery import FAKE, end_daemons
from tests.invariants import processes_of

HOOK = (sys.executable, "-P", "-c", "from coffer.surfaces.hook import main; main()")
PATIENCE = 5.0  # the hook takes two seconds at most; the rest is for a machine that does other things too
GIVEN = b'{"session_id": "s1", "cwd": "/w", "prompt": "\xe6\x9c\x8d"}\n'
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PRINTED = b'{"hookSpecificOutput": {"additionalContext": "\xe6\x9c\x8d"}}'


def run(home: Path | str, event: str = "SessionStart", given: Any = GIVEN, **options: Any) -> bytes:
    """Run the hook as an agent does; it must end well and in time. Return what it printed."""
    command = options.pop("command", (*HOOK, "--agent", "claude", "--event", event))
    stdin = {"input": given} if isinstance(given, bytes) else {"stdin": given}
    env = {**environment(Path(home)), **options.pop("environ", {})}
    done = subprocess.run(command, env=env, capture_output=True, timeout=PATIENCE, **stdin, **options)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home in which no daemon can be started, because one that somebody started lives."""
    folder = tmp_path / "h"
    folder.mkdir(mode=0o700)
    with (folder / "start.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def http(status: str, body: bytes, *fields: bytes) -> bytes:
    length = b"Content-Length: %d" % len(body)
    return b"\r\n".join([b"HTTP/1.1 " + status.encode(), length, *fields, b"", body])


@contextmanager
def listening(home: Path, answer: Callable[[socket.socket], None]) -> Iterator[list[bytes]]:
    """Play the daemon: `answer` gets each connection once its request is read; yield the requests."""
    requests: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            with connection, connection.makefile("rb") as file, suppress(OSError):
                head = b""
                while line := file.readline():
                    head += line
                    if line == b"\r\n":
                        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                        requests.append(head + file.read(size))
                        answer(connection)
                        break

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "daemon.sock"))
        listener.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield requests
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def says(*data: bytes) -> Callable[[socket.socket], None]:
    """Return an answer in pieces, after which the connection stays open until the hook is gone."""

    def answer(connection: socket.socket) -> None:
        for piece in data:
            connection.sendall(piece)
        while connection.recv(65536):
            pass

    return answer


def drips(connection: socket.socket) -> None:
    """Send a proper answer so slowly that it never comes to its end, but never fall silent."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    connection.settimeout(0.05)
    for _ in range(1000):
        connection.sendall(b" ")
        with suppress(TimeoutError):
            if not connection.recv(1):
                return


def test_what_goes_in_and_comes_out_is_exact(home: Path, tmp_path: Path) -> None:
    """An agent would get something that it can't parse, or the daemon hear something else than was said."""
    with listening(home, says(http("200 OK", PRINTED))) as requests:
        assert run(home, given=GIVEN, cwd=tmp_path) == PRINTED
    head, _, body = requests[0].partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    assert line == "POST /api/v1/agents/claude/hooks/SessionStart HTTP/1.1" and body == GIVEN
    assert {"Host: localhost", "Content-Type: application/json", f"X-Coffer-Cwd: {tmp_path}"} <= set(fields)


@pytest.mark.report("B46", "B47", "B49")
@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(says(), id="silence"),
        pytest.param(lambda connection: None, id="closes"),
        pytest.param(drips, id="drips"),
        pytest.param(says(b"\x00\xff" * 50_000), id="rubbish"),
        pytest.param(says(b"<html>no</html>\r\n\r\n"), id="html"),
        pytest.param(says(http("200 OK", PRINTED)[:-9]), id="half"),
        pytest.param(says(http("200 OK", b"x" * 10_000_000)), id="ten megabytes"),
        pytest.param(says(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"), id="no length"),
        pytest.param(says(CHUNKED + 9000 * b"1\r\nx\r\n"), id="chunks"),
        pytest.param(says(http("404 Not Found", b'{"error": {}}')), id="unknown agent"),
        pytest.param(says(http("500 Internal Server Error", b'{"error": {}}')), id="fault"),
        pytest.param(says(b"HTTP/1.1 204 No Content\r\n\r\n"), id="nothing to say"),
    ],
)
def test_whatever_the_daemon_does_nothing_is_printed(
    home: Path, answer: Callable[[socket.socket], None], event: str
) -> None:
    """An agent would wait for its hook, or take an error message for something that the user told it."""
    with listening(home, answer):
        assert run(home, event) == b""


@pytest.mark.report("B46")
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "SessionEnd"])
def test_a_frozen_daemon_holds_nobody_up(tmp_path: Path, event: str) -> None:
    """Every session and every prompt would hang for as long as a daemon is stopped in a debugger."""
    home = tmp_path / "h"
    discovery.ensure_daemon(str(home), os.environ, command=FAKE)
    try:
        end_daemons(str(home), signal.SIGSTOP, "T")
        assert run(home, event) == b""
        assert len(list(take(str(home)))) == (event == "SessionEnd")
    finally:
        end_daemons(str(home))


@pytest.mark.report("B47")
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "SessionEnd"])
@pytest.mark.parametrize("how", ["no socket", "nobody listens", "no socket but a file", "a folder"])
def test_without_a_daemon_nothing_is_printed(home: Path, how: str, event: str) -> None:
    """The first session of the day would begin with an error, or not at all."""
    address = home / "daemon.sock"
    if how == "nobody listens":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(address))
    elif how == "no socket but a file":
        address.write_bytes(PRINTED)
    elif how == "a folder":
        address.mkdir()
    assert run(home, event) == b""


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
@pytest.mark.parametrize(
    "place", ["/dev/null", "/dev/null/home", "/proc/home", "~nobody-of-that-name/x", "\udcff"]
)
def test_a_home_that_cant_be_is_no_error(tmp_path: Path, place: str, event: str) -> None:
    """A disk that is full or mounted read-only would keep agents from starting."""
    if place == "\udcff":
        place = str(tmp_path / "locked" / "h")
        (tmp_path / "locked").mkdir(mode=0)
        if os.access(tmp_path / "locked", os.W_OK):
            pytest.skip("nothing is locked for this user")
    assert run(place, event) == b""


@pytest.mark.parametrize("words", [[], ["--agent"], ["--agent", "x"], ["--event", "x"], ["x"], ["--help"]])
def test_a_wrong_command_line_is_no_error(home: Path, words: list[str]) -> None:
    """A settings file that somebody edited would put a usage message before the agent."""
    assert run(home, command=(*HOOK, *words)) == b""


def test_odd_names_reach_the_daemon_as_they_are(home: Path) -> None:
    """A name with a blank or a line break in it could make another request."""
    with listening(home, says(http("404 Not Found", b"{}"))) as requests:
        run(home, command=(*HOOK, "--agent", "a b\r\nX: y/é", "--event", "e?f"))
    assert requests[0].startswith(b"POST /api/v1/agents/a%20b%0D%0AX%3A%20y/%C3%A9/hooks/e%3Ff HTTP/1.1\r\n")


def test_calls_of_coffers_own_model_runs_are_silent(home: Path) -> None:
    """A session that Coffer itself starts to distil another one would be told things, and be distilled in turn."""
    with listening(home, says(http("200 OK", PRINTED))) as requests:
        assert run(home, environ={"COFFER_INTERNAL": "1"}) == b"" and requests == []
        assert run(home, environ={"COFFER_INTERNAL": "0"}) == PRINTED


@pytest.mark.report("B46")
@pytest.mark.parametrize("first", [GIVEN, b"", b'{"cwd": "/', b"{}\n  \n"])
def test_a_stdin_that_stays_open_is_not_waited_for(home: Path, first: bytes) -> None:
    """An agent that forgets to close the pipe would never start."""
    reading, writing = os.pipe()
    os.write(writing, first)
    with listening(home, says(http("200 OK", PRINTED))) as requests:
        assert run(home, given=reading) == PRINTED
    assert requests[0].endswith(b"\r\n\r\n" + first)
    os.close(reading)
    os.close(writing)


def test_a_stdin_without_end_is_cut(home: Path) -> None:
    """A program that floods its hooks would take all memory, or hold up the session for ever."""
    with (
        listening(home, says(http("200 OK", PRINTED))) as requests,
        subprocess.Popen(["yes", "x" * 1000], stdout=subprocess.PIPE) as flood,
    ):
        assert run(home, given=flood.stdout) == PRINTED
        flood.kill()
    assert len(requests[0].partition(b"\r\n\r\n")[2]) == 1024 * 1024


def test_no_stdin_and_a_terminal_are_no_input(home: Path) -> None:
    """Whoever tries the hook by hand would have to know that it waits for a line."""
    master, terminal = pty.openpty()
    with listening(home, says(http("200 OK", PRINTED))) as requests:
        assert run(home, given=terminal) == PRINTED
        assert run(home, given=subprocess.DEVNULL) == PRINTED
        command = ["sh", "-c", 'exec "$0" "$@" <&-', *HOOK, "--agent", "claude", "--event", "SessionStart"]
        assert run(home, command=command) == PRINTED
    assert all(request.endswith(b"\r\n\r\n") for request in requests) and len(requests) == 3
    os.close(master)
    os.close(terminal)


def test_a_reader_that_went_away_is_no_error(home: Path) -> None:
    """An agent that was just closed would leave an error in somebody's terminal."""
    reading, writing = os.pipe()
    os.close(reading)
    with listening(home, says(http("200 OK", PRINTED))):
        command = (*HOOK, "--agent", "claude", "--event", "SessionStart")
        done = subprocess.run(
            command,
            env=environment(home),
            input=GIVEN,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
        )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_folder_that_was_removed_is_no_error(home: Path, tmp_path: Path) -> None:
    """A session in a worktree that is gone would have no memory at all."""
    (tmp_path / "gone").mkdir()
    with listening(home, says(http("200 OK", PRINTED))) as requests:
        line = 'rmdir ../gone && exec "$0" "$@"'
        command = ["sh", "-c", line, *HOOK, "--agent", "claude", "--event", "SessionStart"]
        assert run(home, command=command, cwd=tmp_path / "gone") == PRINTED
    assert b"X-Coffer-Cwd" not in requests[0]


@pytest.mark.report("B52")
def test_the_end_of_a_session_is_left_for_the_next_daemon(home: Path) -> None:
    """A session that ended while no daemon ran would never be distilled."""
    for given in (GIVEN, b"", b"\xff\n\xff"):
        assert run(home, "SessionEnd", given) == b""
    assert run(home, "SessionStart") == b""
    files = sorted((home / "spool").iterdir())
    modes = {stat.S_IMODE(path.stat().st_mode) for path in files}
    assert modes == {0o600} and stat.S_IMODE((home / "spool").stat().st_mode) == 0o700
    assert list(take(str(home))) == [("claude", GIVEN), ("claude", b""), ("claude", b"\xff\n\xff")]
    assert list(take(str(home))) == [] == list((home / "spool").iterdir())


def test_the_end_of_a_session_that_was_answered_is_not_left(home: Path) -> None:
    """It would be distilled again at every start, or pile up for an agent that was removed."""
    for answer in (b"HTTP/1.1 204 No Content\r\n\r\n", http("404 Not Found", b"{}")):
        with listening(home, says(answer)):
            run(home, "SessionEnd")
        (home / "daemon.sock").unlink()
    assert not (home / "spool").exists()


@pytest.mark.report("B03", "B39")
def test_a_dead_daemon_is_started_for_the_next_time(tmp_path: Path) -> None:
    """The memory would stay away until somebody notices, or the session wait for the daemon's start."""
    home = tmp_path / "h"
    try:
        assert run(home) == b""
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        discovery.ensure_daemon(str(home), environment(home))
        assert run(home) == b""  # nobody registered this agent
        assert len(list(processes_of(home))) == 1
    finally:
        for pid, _ in processes_of(home):
            os.kill(pid, signal.SIGKILL)
        while list(processes_of(home)):
            os.sched_yield()


def test_only_the_standard_library_is_loaded(home: Path) -> None:
    """Every prompt would wait for the import of a framework, or of a project's module of the same name."""
    report = (
        "import atexit, json, os, sys\n"
        "before = set(sys.modules)\n"
        "from coffer.surfaces import hook\n"
        "os._exit = lambda status: None\n"
        "hook.main()\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    with listening(home, says(http("200 OK", b""))):
        command = (sys.executable, "-P", "-c", report, "--agent", "claude", "--event", "SessionStart")
        loaded = json.loads(run(home, command=command))
    ours = [name for name in loaded if name.startswith("coffer")]
    assert sorted(ours) == ["coffer", "coffer.discovery", "coffer.surfaces", "coffer.surfaces.hook"]
    assert set(loaded) - set(ours) <= {"__future__", "_socket", "_signal", "select", "time", "atexit", "json"}
    assert ROOT.joinpath("coffer/surfaces/hook.py").stat().st_size < 6000
