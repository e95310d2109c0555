"""Many who start the daemon at once, one that is frozen, and nothing left running afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trio

from coffer import discovery
from tests import invariants
from tests.acceptance.house import COFFER, SHIM
from tests.faults.home import Home, until

pytestmark = pytest.mark.faults

PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'


def daemons(home: Home) -> list[int]:
    return [pid for pid, _ in invariants.processes_of(home.home)]


def test_twenty_daemons_at_once(home: Home) -> None:
    """Two daemons on one memory would overwrite each other's commits and answer from two indexes."""
    for _ in range(20):
        home.start(serving=False)
    until(lambda: len(daemons(home)) == 1)
    (serving,) = daemons(home)
    until(lambda: (home.home / "daemon.json").exists())
    assert home.pid() == serving
    assert home.log().count("already running") == 19
    home.remember("One daemon writes this.")
    assert home.texts_of() == ["One daemon writes this."]
    for process in home.started:
        if process.pid != serving:
            assert process.wait(1)
    invariants.check(home.home)


def test_twenty_clients_start_one_daemon(home: Home) -> None:
    """Several agents that open in the same second would start a daemon each."""
    with ThreadPoolExecutor(20) as clients:
        list(clients.map(lambda _: discovery.ensure_daemon(str(home.home), home.environ, 60), range(20)))
    until(lambda: len(daemons(home)) == 1)
    home.remember("One daemon writes this.")
    assert home.texts_of() == ["One daemon writes this."]
    home.check()


def test_a_frozen_daemon_is_not_replaced(home: Home) -> None:
    """A second daemon would write beside one that only sleeps, or its clients would wait for ever."""
    home.start().remember("Before the pause.")
    home.daemon.send(signal.SIGSTOP)
    frozen = home.daemon
    said = home.coffer("memory", "facts", "global", status=1)
    assert "stopped" in said and "SIGSTOP" in said
    home.start(serving=False)
    assert home.daemon.wait(20)
    assert "already running" in home.log()
    assert daemons(home) == [frozen.pid]
    frozen.send(signal.SIGCONT)
    assert home.texts_of() == ["Before the pause."]
    home.remember("After the pause.")
    assert home.texts_of() == ["After the pause.", "Before the pause."]
    invariants.check(home.home)


@pytest.mark.report("B39", "B40")
def test_three_hundred_clients_of_a_dead_daemon_leave_one_process(home: Home) -> None:
    """Every agent session would leave a process behind, until there are hundreds."""
    home.start().remember("A daemon that was killed.")
    home.kill()

    def run(number: int) -> None:
        command = (*COFFER, "memory", "list") if number % 20 == 1 else SHIM
        with subprocess.Popen(
            command, env=home.environ, cwd=home.user_home, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as client:
            assert client.stdin and client.stdout
            if number % 5 == 0:
                client.stdin.write(PING)
                client.stdin.flush()
                assert b'"result"' in client.stdout.readline()
            client.stdin.close()
            client.stdout.read()
        assert client.returncode == 0

    with ThreadPoolExecutor(8) as clients:
        list(clients.map(run, range(300)))
    until(lambda: len(daemons(home)) == 1)
    assert home.texts_of() == ["A daemon that was killed."]
    home.check()


@pytest.mark.report("B39")
def test_a_daemon_that_can_not_start_leaves_nothing(home: Home) -> None:
    """A home that can't be used would fill the machine with attempts to serve it."""
    home.home.mkdir()
    home.home.chmod(0o777)
    for _ in range(5):
        said = subprocess.run(
            SHIM, env=home.environ, cwd=home.user_home, input=PING, capture_output=True, timeout=60
        )
        assert b"chmod 700" in said.stdout
    until(lambda: daemons(home) == [])
    home.home.chmod(0o700)
    home.start()
    home.check()


@pytest.mark.report("B25", "B30")
@pytest.mark.parametrize("agents", [10, 12])
async def test_many_agents_share_one_daemon(home: Home, agents: int) -> None:
    """The fourth session would hang for ever, or those that find no daemon would drop out."""
    if agents == 12:
        home.start()
    ready = trio.Event()
    connected = 0

    async def session(number: int) -> None:
        nonlocal connected
        async with home.agent(f"agent-{number}", home.folder()) as agent:
            await agent.remember(f"Agent {number} was here.", scope="global")
            connected += 1
            if connected == agents:
                ready.set()
            await ready.wait()
            assert len(await agent.recall("agent was here", scope="global", top_k=20)) == agents

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            for number in range(agents):
                nursery.start_soon(session, number)
    until(lambda: len(daemons(home)) == 1)
    assert home.texts_of() == sorted(f"Agent {number} was here." for number in range(agents))
    authors = home.git("log", "--format=%an", "main").split()
    assert sorted(authors) == sorted(f"agent-{number}" for number in range(agents))
    home.check()


def test_a_copied_home_starts(home: Home, tmp_path: Path) -> None:
    """A backup that was made while the daemon ran would be of no use."""
    home.start()
    for number in range(5):
        home.remember(f"Fact {number} is in the backup.")
    before = home.texts_of()
    subprocess.run(["cp", "-a", home.home, tmp_path / "copy"], check=True)
    home.check()
    subprocess.run(["rm", "-rf", home.home], check=True)
    os.rename(tmp_path / "copy", home.home)
    home.start()
    assert home.texts_of() == before
    assert home.remember("After the restore.")["commit"] == "committed"
    home.texts_of()
    home.check()
