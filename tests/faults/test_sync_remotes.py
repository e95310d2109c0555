"""Remotes that refuse, hang, drip, lie or are full of traps: sync says so, and nothing else notices."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from pathlib import Path

import psutil
import pytest

from tests import invariants
from tests.faults import evil_host
from tests.faults.home import Home

pytestmark = pytest.mark.faults

NOTE = b"# A note\n\nIt was pushed by somebody.\n"
FACT = "The memory goes on while sync has trouble."


def join(home: Home, url: str) -> tuple[int, str]:
    """Set the remote; return the exit status and what was said."""
    ran = subprocess.run(
        [*home.command, "sync", "init", url, "--manual"],
        env=home.environ,
        cwd=home.user_home,
        capture_output=True,
        text=True,
        timeout=170,
    )
    return ran.returncode, ran.stdout + ran.stderr


def children(home: Home) -> list[str]:
    """Return the programs that the daemon has started and that still run."""
    return [" ".join(p.cmdline()) for p in psutil.Process(home.daemon.pid).children(recursive=True)]


@pytest.mark.report("B62")
@pytest.mark.parametrize("kind", ["refuses", "hangs", "drips", "rubbish"])
def test_a_bad_host_costs_a_sentence_and_nothing_else(home: Home, kind: str) -> None:
    """A laptop in a hotel would have a memory that hangs, asks for a password on no terminal, or grows."""
    home.start()
    home.remember(FACT)
    before = psutil.Process(home.daemon.pid).memory_info().rss
    said: list[tuple[int, str]] = []
    with evil_host.host(getattr(evil_host, kind)) as url:
        waiting = threading.Thread(target=lambda: said.append(join(home, url)))
        waiting.start()
        for number in range(5):  # while the remote does its worst
            home.remember(f"{FACT} {number}")
        waiting.join()
    [(status, words)] = said
    assert status == 1 and words.startswith("coffer:") and words.count("\n") == 1, words
    assert children(home) == []
    assert psutil.Process(home.daemon.pid).memory_info().rss - before < 64 << 20
    assert home.get("/sync/status").done()["state"] == "off"
    assert not list((home.tree / ".git" / "coffer").glob("incoming*"))
    invariants.check(home.home)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_daemon_that_ends_takes_its_fetch_along(home: Home, end: str) -> None:
    """Programs that wait for a dead network would pile up, each with the memory's lock or the user's keys."""
    home.start()
    home.remember(FACT)
    asked = threading.Event()

    def hang(connection: socket.socket) -> None:
        asked.set()
        evil_host.hangs(connection)

    with evil_host.host(hang) as url:
        waiting = threading.Thread(target=lambda: join(home, url))
        waiting.start()
        assert asked.wait(30)
        fetching = psutil.Process(home.daemon.pid).children(recursive=True)
        assert fetching
        home.stop() if end == "stop" else home.kill()
        _, left = psutil.wait_procs(fetching, timeout=15)
        assert left == []
        waiting.join()
    home.start()
    assert not list((home.tree / ".git" / "coffer").glob("incoming*"))
    assert home.texts_of() == [FACT]
    invariants.check(home.home)


TRAPS: dict[str, tuple[str, str, bytes]] = {
    "a symbolic link": ("120000", "global/knowledge/passwd.md", b"/etc/passwd"),
    "a submodule": ("160000", "global/knowledge/sub.md", b""),
    "git's own folder": ("100644", ".git/hooks/post-checkout", b"#!/bin/sh\ntouch canary\n"),
    "git's folder in capitals": ("100644", "global/.GIT/config", b"[core]\n\tfsmonitor = touch canary\n"),
    "git's folder with a joiner": ("100644", "global/.g\u200cit/config", b"x"),
    "a short name": ("100644", "global/git~1/config", b"x"),
    "a step outside": ("100644", "global/../../canary", b"x"),
    "attributes": ("100644", ".gitattributes", b"* filter=evil\n"),
    "attributes below": ("100644", "global/.gitattributes", b"* text\n"),
    "modules": ("100644", ".gitmodules", b'[submodule "x"]\n\tpath = x\n\turl = ext::touch canary\n'),
    "a program": ("100755", "run.sh", b"#!/bin/sh\ntouch canary\n"),
    "a file beside the lanes": ("100644", "global/config.yaml", b"editor: touch canary\n"),
    "a name of no encoding": ("100644", "global/knowledge/\udcff\udcfe.md", NOTE),
    "a large file": ("100644", "global/knowledge/large.md", b"x" * (9 << 20)),
    "a deep folder": ("100644", "global/knowledge/" + "d/" * 50 + "x.md", NOTE),
}


@pytest.mark.report("B76")
@pytest.mark.parametrize("trap", TRAPS)
def test_a_tree_of_traps_is_refused_by_name(home: Home, tmp_path: Path, trap: str) -> None:
    """Whoever can push to a shared remote could write outside the memory, or have a program run."""
    remote = evil_host.bare(
        tmp_path / "evil.git", [TRAPS[trap], ("100644", "global/knowledge/fine.md", NOTE)]
    )
    home.start()
    home.remember(FACT)
    before = home.snapshot()
    status, words = join(home, str(remote))
    assert status == 1 and words.startswith("coffer:") and words.count("\n") == 1, words
    assert home.snapshot() == before
    assert not list(tmp_path.rglob("canary"))
    invariants.check(home.home)


@pytest.mark.report("B56")
def test_names_that_not_every_system_can_hold_are_changed_on_arrival(home: Home, tmp_path: Path) -> None:
    """A note from one machine would break the checkout of another, or be gone there."""
    names = ["CON.md", "what is x?.md", "x" * 250 + ".md", "Deploy.md", "deploy.md", "run.md"]
    entries = [
        ("100644", f"global/knowledge/{name}", f"# {name[:20]}\n\nNote of {name[:20]}.\n".encode())
        for name in names
    ]
    entries[-1] = ("100755", *entries[-1][1:])
    remote = evil_host.bare(tmp_path / "odd.git", entries)
    home.start()
    status, words = join(home, str(remote))
    told = home.get("/sync/status").done()["renamed"]
    assert status == 0 and len(told) == 3 and all(path in words for path in told), words
    said = "".join(data.decode() for data in home.snapshot().values())
    for name in names:
        assert f"Note of {name[:20]}." in said
    files = [path.name for path in (home.tree / "global" / "knowledge").iterdir()]
    assert len({name.casefold() for name in files}) == len(names)
    assert not {"CON.md", "what is x?.md"} & set(files)
    assert home.git("status", "--porcelain") == ""
    assert not [path for path in home.tree.rglob("*.md") if os.access(path, os.X_OK)]
    assert home.git("rev-parse", "main") == home.git("rev-parse", "main", folder=remote)
    invariants.check(home.home)


def test_twenty_thousand_files_come_in(home: Home, tmp_path: Path) -> None:
    """A large memory couldn't be joined, or would take the machine down."""
    entries = [
        ("100644", f"global/knowledge/{number // 500}/note-{number}.md", b"A note, %d.\n" % (number % 50))
        for number in range(20_000)
    ]
    remote = evil_host.bare(tmp_path / "many.git", entries)
    home.start()
    assert join(home, str(remote))[0] == 0
    assert home.git("status", "--porcelain") == ""
    assert home.git("rev-parse", "main") == home.git("rev-parse", "main", folder=remote)
    assert len(home.snapshot()) == 20_000
    invariants.check(home.home, index=False)


def test_another_projects_repository_is_no_memory(home: Home, tmp_path: Path) -> None:
    """A mistyped address would fill a project's repository with notes, or lose its files."""
    remote = evil_host.bare(
        tmp_path / "code.git", [("100644", "src/main.c", b"int main;\n"), ("100644", "README.md", b"Hi\n")]
    )
    before = home.git("rev-parse", "main", folder=remote)
    home.start()
    home.remember(FACT)
    status, words = join(home, str(remote))
    assert status == 1 and "src/main.c" in words
    assert home.git("rev-parse", "main", folder=remote) == before
    invariants.check(home.home)


@pytest.mark.parametrize("reason", ["rewritten_history", "unrelated_history"])
def test_a_remote_with_another_history_waits_for_a_yes(home: Home, tmp_path: Path, reason: str) -> None:
    """Somebody's forced push would take memory from every machine."""
    remote = evil_host.bare(tmp_path / "memory.git", [("100644", "global/knowledge/one.md", NOTE)])
    first = home.start().git("rev-parse", "main", folder=remote).strip()
    home.remember(FACT)
    assert join(home, str(remote))[0] == 0
    other = evil_host.bare(tmp_path / "other.git", [("100644", "global/knowledge/two.md", NOTE + b"Two.\n")])
    home.git("fetch", "-q", str(other), "+main:other", folder=remote)
    if reason == "rewritten_history":
        tree = home.git("rev-parse", "other^{tree}", folder=remote).strip()
        as_eve = ("-c", "user.name=Eve", "-c", "user.email=eve@host")
        commit = home.git(*as_eve, "commit-tree", tree, "-p", first, "-m", "Other", folder=remote).strip()
        home.git("update-ref", "refs/heads/other", commit, folder=remote)
    home.git("update-ref", "refs/heads/main", "other", folder=remote)
    before = home.snapshot()
    run = home.ask("POST", "/sync/run", {}).done()
    assert (run["result"], run["question"]) == ("paused", reason)
    assert home.snapshot() == before
    home.remember(f"{FACT} Still.")
    assert "came in" in home.coffer("sync", "accept", reason)
    said = "".join(data.decode() for data in home.snapshot().values())
    assert FACT in said and "Two." in said and f"{FACT} Still." in said
    assert home.git("rev-parse", "main") == home.git("rev-parse", "main", folder=remote)
    invariants.check(home.home)


def test_a_branch_that_was_moved_back_waits_for_a_yes(home: Home, tmp_path: Path) -> None:
    """What a person has taken out of the memory on purpose would be back at the next sync."""
    remote = evil_host.bare(tmp_path / "memory.git", [("100644", "global/knowledge/one.md", NOTE)])
    home.start()
    assert join(home, str(remote))[0] == 0
    home.remember("A fact that is taken back by hand.")
    home.ask("POST", "/sync/run", {}).done()
    home.git("reset", "-q", "--hard", "HEAD~1")
    run = home.ask("POST", "/sync/run", {}).done()
    assert (run["result"], run["question"]) == ("paused", "branch_moved_back")
    home.coffer("sync", "accept", "branch_moved_back")
    assert "taken back by hand" not in "".join(data.decode() for data in home.snapshot().values())
    assert home.git("rev-parse", "main") == home.git("rev-parse", "main", folder=remote)
    assert "taken back by hand" in home.git("log", "-p", "-m")
    invariants.check(home.home)


def test_what_vanishes_in_masses_waits_for_a_yes(home: Home, tmp_path: Path) -> None:
    """An emptied folder on one machine would empty the memory of all."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(tmp_path / "memory.git")], check=True)
    home.start()
    for number in range(20):
        home.remember(f"Fact number {number}.")
    assert join(home, str(tmp_path / "memory.git"))[0] == 0
    remote = home.git("rev-parse", "main")
    for path in sorted((home.tree / "global" / "knowledge").rglob("*.md"))[:12]:
        path.unlink()
    run = home.ask("POST", "/sync/run", {}).done()
    assert (run["result"], run["question"]) == ("paused", "mass_removal") and "12 of 20" in run["reason"]
    assert home.git("rev-parse", "main", folder=tmp_path / "memory.git") == remote
    home.coffer("sync", "accept", "mass_removal")
    assert home.git("rev-parse", "main", folder=tmp_path / "memory.git") == home.git("rev-parse", "main")
    invariants.check(home.home)


def test_a_secret_written_by_hand_stops_the_push_until_it_is_confirmed(home: Home, tmp_path: Path) -> None:
    """A password in a note would be on a host before its owner knows."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(tmp_path / "memory.git")], check=True)
    home.start()
    home.remember(FACT)
    assert join(home, str(tmp_path / "memory.git"))[0] == 0
    remote = home.git("rev-parse", "main")
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    (home.tree / "global" / "knowledge" / "key.md").write_text(f"# Key\n\nIt is {secret}.\n")
    run = home.ask("POST", "/sync/run", {}).done()
    assert (run["result"], run["question"]) == ("paused", "secret_found") and secret not in run["reason"]
    assert "key.md" in run["reason"]
    assert home.git("rev-parse", "main", folder=tmp_path / "memory.git") == remote
    home.coffer("sync", "accept", "secret_found")
    assert home.git("rev-parse", "main", folder=tmp_path / "memory.git") == home.git("rev-parse", "main")
    home.remember("Another fact.")
    assert home.ask("POST", "/sync/run", {}).done()["result"] == "synced"
    invariants.check(home.home)
