"""The daemon's life: one for each home, started by whoever needs it, and nothing lost when it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from tests.acceptance.house import ROOT, SHIM, House, Json


def _daemon(house: House) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "coffer.daemon"],
        env={**house.environ, "PYTHONPATH": ROOT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_daemons_started_at_once_are_one(own_house: House) -> None:
    """Two writers would share one memory tree, or one would steal the other's socket."""
    daemons = [_daemon(own_house) for _ in range(3)]
    try:
        said = own_house.coffer("daemon", "start")
        ended = [daemon for daemon in daemons if daemon.pid != own_house.pid()]
        assert (
            len(ended) >= 2 and str(own_house.pid()) in said
        )  # the command may have started the one that won
        for daemon in ended:
            out, _ = daemon.communicate(timeout=60)
            assert daemon.returncode == 0 and out.startswith("already running: ")
        own_house.add("global", "Manatee fact.")
        assert own_house.texts("global", "manatee") == ["Manatee fact."]
        own_house.stop()
    finally:
        for daemon in daemons:
            daemon.kill()
            daemon.communicate()
    assert not (own_house.home / "daemon.json").exists() and not (own_house.home / "daemon.sock").exists()


@pytest.mark.report("B25", "B30")
async def test_many_agents_meet_a_cold_daemon(own_house: House) -> None:
    """The morning's first sessions would race each other, and some would have no memory."""
    project = own_house.project()
    pids: set[int] = set()

    async def work(number: int) -> None:
        async with own_house.agent(f"agent-{number}", project) as agent:
            kept = await agent.remember(f"Narwhal fact number {number}.")
            assert kept["commit"] == "committed"
            pids.add(await trio.to_thread.run_sync(own_house.pid))

    async with trio.open_nursery() as nursery:
        for number in range(6):
            nursery.start_soon(work, number)
    assert len(pids) == 1
    assert len(own_house.recall(own_house.store(project), "narwhal fact", top_k=20)) == 6
    assert own_house.git("rev-list", "--count", "HEAD") == "6\n"


@pytest.mark.report("B03", "B14")
async def test_restart_keeps_everything(own_house: House) -> None:
    """An update or a reboot would cost memory, names, history or every client's token."""
    own_house.start()
    project = own_house.project("dock")
    store = own_house.store(project)
    async with own_house.agent("claude", project, "2025") as claude:
        kept = await claude.remember("Beluga fact, kept over restarts.")
        gone = await claude.remember("Beluga fact that is deleted.")
        own_house.ask("DELETE", f"/memory_stores/{store}/facts/{gone['id']}").done(204)
        own_house.ask("PATCH", f"/memory_stores/{store}/label", {"label": "Docks"}).done()

        def everything() -> list[object]:
            at = f"/memory_stores/{store}"
            fact = own_house.get(f"{at}/facts/{kept['id']}")
            return [
                (own_house.home / "token").read_text(),
                fact.headers["etag"],
                fact.done(),
                *(
                    own_house.get(path).done()
                    for path in (
                        at,
                        f"{at}/facts",
                        f"{at}/metrics",
                        f"{at}/history",
                        "/audit",
                        "/invocations",
                    )
                ),
                own_house.recall(store, "beluga"),
                own_house.snapshot(),
            ]

        before, first = everything(), own_house.pid()
        own_house.stop()
        with pytest.raises(ConnectionRefusedError):
            own_house.get("/daemon/status")
        own_house.start()
        assert own_house.pid() != first and everything() == before

        os.kill(own_house.pid(), signal.SIGKILL)
        assert await claude.texts("beluga") == ["Beluga fact, kept over restarts."]
        (*_, invocations, hits, files) = everything()
        assert (hits, files) == (before[-2], before[-1])
        assert len(json.dumps(invocations)) > len(json.dumps(before[-3]))


async def test_command_and_agent_start_the_daemon(own_house: House) -> None:
    """The first thing a user does would fail for want of a daemon."""
    project = own_house.project()
    own_house.coffer("daemon", "status", status=1)
    own_house.coffer("memory", "list")
    own_house.coffer("memory", "recall", ".", "orca", folder=project)
    own_house.coffer("doctor")
    assert not own_house.tree.exists()
    own_house.coffer("memory", "add", ".", "Orca fact.", folder=project)
    assert str(own_house.pid()) in own_house.coffer("daemon", "status")
    own_house.coffer("daemon", "stop")
    async with own_house.agent("claude", project) as claude:
        assert await claude.texts("orca") == ["Orca fact."]


def test_files_that_changed_while_the_daemon_was_away(house: House, project: Path, store: str) -> None:
    """What a person did overnight, or a pull brought, would be unknown until something else changes."""
    edited = house.add(store, "Sealion one.")
    removed = house.add(store, "Sealion two.")
    assert len(house.texts(store, "sealion")) == 2
    house.stop()
    path = Path(edited["path"])
    path.write_text(path.read_text("utf-8").replace("Sealion one", "Sealion changed"), "utf-8")
    Path(removed["path"]).unlink()
    (house.store_dir(store) / "knowledge" / "new.md").write_text("Sealion new.\n", "utf-8")
    house.start()
    assert sorted(house.texts(store, "sealion")) == ["Sealion changed.", "Sealion new."]


@pytest.mark.report("B40", "B49")
def test_shim_prints_nothing_but_messages_and_ends(house: House, project: Path) -> None:
    """A banner on standard output would end the agent's session, or the shim would outlive its agent."""
    client = {"capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    asked: list[Json] = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", **client}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "no/such/method"},
    ]
    lines = ["{broken", *(json.dumps({"jsonrpc": "2.0", **each}) for each in asked)]
    with subprocess.Popen(
        [SHIM[0], "-X", "dev", *SHIM[1:]],
        cwd=project,
        env=house.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as shim:
        assert shim.stdin is not None and shim.stdout is not None
        shim.stdin.write("".join(f"{line}\n" for line in lines))
        shim.stdin.flush()
        messages = [json.loads(shim.stdout.readline()) for _ in range(4)]
        shim.stdin.close()
        assert shim.stdout.read() == "" and shim.wait(60) == 0
    answers = {message["id"]: message for message in messages}
    assert answers[1]["result"]["serverInfo"]["name"] == "coffer"
    assert answers[2]["result"]["tools"] and answers[3]["error"] and answers[None]["error"]
