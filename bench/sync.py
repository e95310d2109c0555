"""Sync and history beside the git program doing the same: one new fact, a clone, one fact's past."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from bench import corpus
from bench.home import Home, milliseconds
from bench.table import Row, ms, versus
from coffer.discovery import request

PAIRS = 20
GROWN = 1_000
PACKING_SECONDS = 180


def measure(scratch: Path, size: int = 10_000) -> list[Row]:
    home = Home(scratch / "one")
    home.environ["COFFER_PORT"] = "7439"
    home.fill(size)
    remote = scratch / "remote.git"
    _git(scratch, "init", "-q", "--bare", "-b", "main", str(remote))
    home.coffer("sync", "init", str(remote), "--manual")
    rows = [
        _one_fact(home, scratch, size),
        *_joins(home, scratch, remote, size),
        *_growth(home),
    ]
    home.coffer("daemon", "stop")
    return [*rows, *_history(scratch, size)]


def _one_fact(home: Home, scratch: Path, size: int) -> Row:
    """A fact remembered and on the remote, beside the same file added, committed and pushed by git."""
    clone, bare = scratch / "plain", scratch / "plain.git"
    _git(scratch, "clone", "-q", "--bare", str(home.memory), str(bare))
    _git(scratch, "clone", "-q", str(bare), str(clone))
    for key, value in {"user.name": "Bench", "user.email": "b@localhost", "gc.auto": "0"}.items():
        _git(clone, "config", key, value)
    ours, theirs, alone = [], [], []
    with home.session() as agent:
        for number in range(PAIRS):
            text = corpus.text(6_000_000 + number)
            began = time.perf_counter()
            agent.call("coffer__remember", text=text, scope="global")
            alone.append(milliseconds(lambda: _ask(home, "POST", "/sync/run")))
            ours.append((time.perf_counter() - began) * 1000)
            theirs.append(milliseconds(lambda n=number, t=text: _push(clone, n, t)))
    return Row(
        f"remember and sync one fact, {size} facts",
        f"{ms(ours)}, of it sync {ms(alone)}",
        f"git add + commit + push: {ms(theirs)}",
        versus(sorted(ours)[PAIRS // 2], sorted(theirs)[PAIRS // 2]),
    )


def _joins(home: Home, scratch: Path, remote: Path, size: int) -> list[Row]:
    """A second machine's first sync, and a clone from the daemon, beside git's own clones."""
    other = Home(scratch / "two")
    other.coffer("daemon", "start")
    join = milliseconds(lambda: other.coffer("sync", "init", str(remote), "--manual"))
    other.coffer("daemon", "stop")
    plain = milliseconds(lambda: _git(scratch, "clone", "-q", f"file://{remote}", str(scratch / "c1")))
    port = json.loads((home.path / "daemon.json").read_text())["port"]
    token = (home.path / "token").read_text().strip()
    url = f"http://coffer:{token}@127.0.0.1:{port}/memory.git"
    served = milliseconds(lambda: _git(scratch, "clone", "-q", url, str(scratch / "c2")))
    return [
        Row(
            f"join with {size} facts",
            f"{join / 1000:.1f} s",
            f"git clone: {plain / 1000:.1f} s",
            versus(join, plain),
        ),
        Row(
            f"git clone of {size} facts from the daemon",
            f"{served / 1000:.1f} s",
            f"from the disk: {plain / 1000:.1f} s",
            versus(served, plain),
        ),
    ]


def _growth(home: Home) -> list[Row]:
    """What a thousand facts leave in .git, and what is left of it once the daemon has been idle."""
    before = _disk(home.memory / ".git")
    with home.session() as agent:
        for number in range(GROWN):
            agent.call("coffer__remember", text=corpus.text(7_000_000 + number), scope="global")
    grown = _disk(home.memory / ".git")
    deadline = time.monotonic() + PACKING_SECONDS
    packed = grown
    while time.monotonic() < deadline and _loose(home) > 200:
        time.sleep(2)
        packed = _disk(home.memory / ".git")
    return [
        Row(
            f".git after {GROWN} facts",
            f"+{(grown - before) / 2**20:.1f} MiB",
            f"packed when idle: +{(packed - before) / 2**20:.1f} MiB",
        )
    ]


def _history(scratch: Path, size: int) -> list[Row]:
    """One fact's past among as many commits as there are facts."""
    home = Home(scratch / "long")
    home.coffer("memory", "add", "global", "The first note creates the store.")
    fact = json.loads(home.coffer("memory", "facts", "global", "--json"))["facts"][0]
    home.coffer("daemon", "stop")
    _grow(home, scratch, size)
    path = fact["path"].removeprefix(f"{home.memory}/")
    home.coffer("daemon", "start")
    _ask(home, "GET", f"/memory_stores/global/facts/{fact['id']}/history")
    ours = [
        milliseconds(lambda: _ask(home, "GET", f"/memory_stores/global/facts/{fact['id']}/history"))
        for _ in range(5)
    ]
    blame = [
        milliseconds(lambda: _ask(home, "GET", f"/memory_stores/global/facts/{fact['id']}/blame"))
        for _ in range(5)
    ]
    theirs = [milliseconds(lambda: _git(home.memory, "log", "--oneline", "--", path)) for _ in range(5)]
    lines = [milliseconds(lambda: _git(home.memory, "blame", path)) for _ in range(5)]
    home.coffer("daemon", "stop")
    return [
        Row(
            f"history of one fact, {size} commits",
            ms(ours),
            f"git log: {ms(theirs)}",
            versus(sorted(ours)[2], sorted(theirs)[2]),
        ),
        Row(
            f"blame of one fact, {size} commits",
            ms(blame),
            f"git blame: {ms(lines)}",
            versus(sorted(blame)[2], sorted(lines)[2]),
        ),
    ]


def _grow(home: Home, scratch: Path, commits: int) -> None:
    """Add a commit a fact, each of another file, by git's own import."""
    corpus.write(scratch / "notes", commits)
    stream = scratch / "stream"
    with stream.open("wb") as out:
        for number, file in enumerate(sorted((scratch / "notes").rglob("*.md"))):
            data = file.read_bytes()
            where = f"global/knowledge/inbox/{file.parent.name}/{file.name}"
            out.write(
                b"commit refs/heads/main\ncommitter Bench <b@localhost> %d +0000\n" % (1_800_000_000 + number)
            )
            out.write(b"data 4\nnote\n" if number else b"data 4\nnote\nfrom refs/heads/main^0\n")
            out.write(f"M 100644 inline {where}\ndata {len(data)}\n".encode() + data + b"\n")
    with stream.open("rb") as given:
        subprocess.run(["git", "-C", str(home.memory), "fast-import", "--quiet"], stdin=given, check=True)
    _git(home.memory, "reset", "-q", "--hard")
    shutil.rmtree(scratch / "notes")


def _ask(home: Home, method: str, path: str) -> dict[str, Any]:
    headers = {} if method == "GET" else {"Content-Type": "application/json"}
    body = None if method == "GET" else b"{}"
    status, _, answer = request(str(home.path), method, f"/api/v1{path}", body, headers, 120.0)
    if status != 200:
        raise RuntimeError(answer.decode())
    found: dict[str, Any] = json.loads(answer)
    if found.get("result") in ("failed", "paused"):
        raise RuntimeError(str(found))
    return found


def _push(clone: Path, number: int, text: str) -> None:
    path = clone / "global/knowledge/inbox/2026-11" / f"by-git-{number}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    _git(clone, "add", str(path))
    _git(clone, "commit", "-q", "-m", "note")
    _git(clone, "push", "-q", "origin", "HEAD:main")


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, stdout=subprocess.DEVNULL)


def _loose(home: Home) -> int:
    return sum(1 for folder in (home.memory / ".git/objects").glob("??") for _ in os.scandir(folder))


def _disk(folder: Path) -> int:
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
