"""The daemon as a process: its start, its sockets and files, its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
from pathlib import Path

import psutil
import pytest

from coffer.infrastructure.runtime import DaemonLock
from tests.coffer.daemon_process import PATIENCE, DaemonProcess, running_daemon, spawn


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def tcp_listeners(daemon: DaemonProcess) -> list[tuple[str, int]]:
    found = psutil.Process(daemon.pid).net_connections("inet")
    return [(each.laddr.ip, each.laddr.port) for each in found if each.status == psutil.CONN_LISTEN]


def output(daemon: DaemonProcess) -> str:
    assert daemon.process.stdout is not None
    with daemon.process.stdout as stdout:
        return stdout.read().decode()


def test_everything_in_the_home_is_private(home: Path) -> None:
    """Memory, token and socket are the user's alone; any other account may be somebody else's agent."""
    with running_daemon(home, COFFER_PORT="") as daemon:
        daemon.remember("a fact")
        assert daemon.recall("fact") == ["a fact"]
        assert stat.S_IMODE((home / "daemon.sock").lstat().st_mode) == 0o600
        for path in [home, *home.rglob("*")]:
            assert not path.lstat().st_mode & 0o077, path
        assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600


def test_it_publishes_where_it_is(home: Path) -> None:
    """The command line, the shim and a person with curl all go by this file."""
    with running_daemon(home, COFFER_PORT="") as daemon:
        found = daemon.discovery
        assert list(found) == ["version", "pid", "port", "socket", "started_at"]
        assert (found["pid"], found["socket"]) == (daemon.pid, str(home / "daemon.sock"))
        assert tcp_listeners(daemon) == [("127.0.0.1", found["port"])]
        status, told = daemon.ask("GET", "/daemon/status")
        assert (status, told["pid"], told["ready"]) == (200, daemon.pid, True)


def test_it_ends_in_order_and_leaves_nothing(home: Path) -> None:
    """What an ended daemon leaves lying about misleads the next client, and its port blocks the next daemon."""
    with running_daemon(home, COFFER_PORT="") as daemon:
        port = daemon.discovery["port"]
        daemon.remember("a fact")
        assert daemon.stop() == 0
        assert not (home / "daemon.sock").exists() and not (home / "daemon.json").exists()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        DaemonLock(str(home)).release()
    with running_daemon(home) as daemon:
        assert daemon.recall("fact") == ["a fact"]


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_record_survives_the_end(home: Path, by: signal.Signals) -> None:
    """Audit rows are written after the answer; an orderly end that loses the last ones is none."""
    with running_daemon(home) as daemon:
        daemon.remember("a fact")
        assert daemon.stop(by) == 0
    with sqlite3.connect(home / "state.sqlite") as state:
        events = {event for (event,) in state.execute("SELECT event FROM audit")}
    assert events == {"store_created", "memory_added"}


def test_of_several_started_at_once_one_serves(home: Path) -> None:
    """Every agent's shim may start one at the same moment; two writers in one home would be worse than none."""
    daemons = [spawn(home) for _ in range(4)]
    try:
        refused: list[DaemonProcess] = []
        while len(refused) < 3:
            refused = [daemon for daemon in daemons if daemon.ended_within(0.01)]
        (serving,) = [daemon for daemon in daemons if daemon not in refused]
        serving.wait_until_it_accepts()
        assert [daemon.process.returncode for daemon in refused] == [0, 0, 0]
        assert all(output(daemon).startswith("already running: ") for daemon in refused)
        assert serving.ask("GET", "/daemon/status")[1]["pid"] == serving.pid
        late = spawn(home)
        daemons.append(late)
        assert late.process.wait(PATIENCE) == 0
        assert output(late) == f"already running: process {serving.pid}, socket {home}/daemon.sock\n"
        assert serving.ask("GET", "/daemon/status")[1]["pid"] == serving.pid
        assert serving.stop() == 0
    finally:
        for daemon in daemons:
            daemon.kill()


def test_after_a_crash_the_next_one_starts(home: Path) -> None:
    """A killed daemon leaves its socket, its file and its lock; none of them may stand in the way."""
    with running_daemon(home) as daemon:
        daemon.remember("acknowledged")
        daemon.kill()
        assert (home / "daemon.sock").exists()
    with running_daemon(home) as daemon:
        assert daemon.recall("acknowledged") == ["acknowledged"]
        assert daemon.discovery["pid"] == daemon.pid


@pytest.mark.report("B44")
def test_a_taken_port_is_passed_over(home: Path) -> None:
    """A ghost on the usual port must cost nothing but the number."""
    with socket.socket() as ghost:
        ghost.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            ghost.bind(("127.0.0.1", 7420))
            ghost.listen()
        except OSError:
            pass  # somebody else's daemon will do as well
        with running_daemon(home, COFFER_PORT="") as daemon:
            assert daemon.discovery["port"] != 7420
            assert tcp_listeners(daemon) == [("127.0.0.1", daemon.discovery["port"])]


def test_without_tcp_nothing_listens_there(home: Path) -> None:
    """Whoever switches the port off wants no door that other accounts can knock at."""
    with running_daemon(home, COFFER_PORT="off") as daemon:
        assert daemon.ask("GET", "/daemon/status")[0] == 200
        assert tcp_listeners(daemon) == [] and daemon.discovery["port"] is None


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(home: Path) -> None:
    """An HTTP client is configured for that number; another one would be silence for it."""
    with socket.socket() as ghost:
        ghost.bind(("127.0.0.1", 0))
        ghost.listen()
        daemon = spawn(home, COFFER_PORT=str(ghost.getsockname()[1]))
        assert daemon.process.wait(PATIENCE) == 1
    assert "is taken" in daemon.log and len(daemon.log.splitlines()) == 1
    assert output(daemon) == "" and not (home / "daemon.sock").exists()


def test_state_of_a_newer_version_is_left_alone(home: Path) -> None:
    """Rebuilding it would lose agents, audit and settings for good; the sentence says what to do."""
    home.mkdir(0o700)
    with sqlite3.connect(home / "state.sqlite") as state:
        state.execute("PRAGMA user_version = 99")
    before = (home / "state.sqlite").read_bytes()
    daemon = spawn(home)
    assert daemon.process.wait(PATIENCE) == 1
    assert "newer Coffer" in daemon.log and "Traceback" not in daemon.log
    assert (home / "state.sqlite").read_bytes() == before
    assert not (home / "daemon.sock").exists() and not (home / "daemon.json").exists()
    output(daemon)


@pytest.mark.report("B44")
def test_children_inherit_no_descriptors(home: Path) -> None:
    """A git child that outlives the daemon would keep its port and its lock, and the next one couldn't start."""
    with running_daemon(home, COFFER_PORT="") as daemon:
        daemon.remember("a fact")
        os.kill(daemon.pid, signal.SIGSTOP)  # so that it neither opens nor closes any meanwhile
        for number in os.listdir(f"/proc/{daemon.pid}/fd"):
            lines = Path(f"/proc/{daemon.pid}/fdinfo/{number}").read_text().splitlines()
            flags = next(int(line.split()[1], 8) for line in lines if line.startswith("flags"))
            if int(number) > 2:
                assert flags & os.O_CLOEXEC, os.readlink(f"/proc/{daemon.pid}/fd/{number}")
        os.kill(daemon.pid, signal.SIGCONT)


def test_it_answers_before_it_has_loaded_what_only_agents_need(home: Path) -> None:
    """MCP's library takes most of a second to import; a person at the command line needn't wait for it."""

    def loaded() -> bool:
        maps = psutil.Process(daemon.pid).memory_maps()
        return any("pydantic_core" in each.path for each in maps)

    with running_daemon(home) as daemon:
        daemon.remember("a fact")
        assert not loaded()
        with daemon.connect() as connection:
            connection.sendall(
                b"GET /mcp-stdio HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            )
            assert b" 101 " in connection.recv(1000).split(b"\r\n")[0]
        assert loaded()


def test_a_client_that_never_reads_does_not_hold_up_the_end(home: Path) -> None:
    """One frozen browser tab would otherwise keep the daemon alive for ever, and its lock with it."""
    with running_daemon(home) as daemon, daemon.connect() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        deaf.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                deaf.send(request * 100)
        daemon.remember("a fact")
        assert daemon.stop() == 0
        assert not (home / "daemon.sock").exists()
    with sqlite3.connect(home / "state.sqlite") as state:
        assert state.execute("SELECT count(*) FROM audit").fetchone()[0] == 2


def test_a_write_under_way_is_finished_and_answered_before_the_end(home: Path) -> None:
    """`coffer daemon stop` during a remember must not leave an agent without word of what became of it."""
    with (
        running_daemon(home, COFFER_FAILPOINT="temp-written@1:sleep=1") as daemon,
        daemon.connect() as connection,
    ):
        daemon.ask("GET", "/daemon/status")
        body = json.dumps({"text": "just in time"}).encode()
        connection.sendall(
            b"POST /api/v1/memory_stores/global/facts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        while not list(home.glob("memory/**/*")):
            assert not daemon.ended_within(0.01)
        assert daemon.stop() == 0
        with connection.makefile("rb") as answer:
            assert b" 201 " in answer.readline()
    with running_daemon(home) as daemon:
        assert daemon.recall("time") == ["just in time"]


def test_a_write_outlives_the_connection_that_asked_for_it(home: Path) -> None:
    """Agents are killed at any moment; what had begun must not stay half done."""
    with running_daemon(home, COFFER_FAILPOINT="temp-written@1:sleep=0.5") as daemon:
        daemon.ask("GET", "/daemon/status")
        with daemon.connect() as connection:
            body = json.dumps({"text": "begun"}).encode()
            connection.sendall(
                b"POST /api/v1/memory_stores/global/facts HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            while not list(home.glob("memory/**/*")):
                assert not daemon.ended_within(0.01)
        daemon.remember("after it")  # waits for its turn behind the other
        assert daemon.recall("begun") == ["begun"]
        log = subprocess.run(
            ["git", "-C", str(home / "memory"), "log", "--format=%s"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "remember: begun" in log.stdout


def test_connections_end_when_they_should(home: Path) -> None:
    """A response whose connection stays open makes simple clients wait for ever."""
    with running_daemon(home) as daemon:
        for version, field in ((b"1.1", b"Connection: close\r\n"), (b"1.0", b"")):
            with daemon.connect() as connection:
                connection.sendall(
                    b"GET /api/v1/daemon/status HTTP/%s\r\nHost: localhost\r\n%s\r\n" % (version, field)
                )
                with connection.makefile("rb") as answer:
                    assert answer.read().endswith(b"}")


JUNK = (
    b"\x00" * 100,
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 200,
    b"GET /" + b"a" * 100_000,
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /mcp-stdio HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"GET /mcp-stdio HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n" + b"\xff" * 50,
    b"GET /mcp-stdio HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    b"\x81\x84\x00\x00\x00\x00\xff\xfe\xfd\xfc",
)


def test_junk_on_a_connection_ends_that_connection_only(home: Path) -> None:
    """One broken program that connects must not take the memory from every agent."""
    with running_daemon(home) as daemon:
        for junk in JUNK:
            with daemon.connect() as connection:
                try:
                    connection.sendall(junk)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
                except ConnectionError:
                    pass
            assert daemon.ask("GET", "/daemon/status")[0] == 200, junk
