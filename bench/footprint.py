"""What Coffer costs while it runs and on disk."""

from __future__ import annotations

import time
from pathlib import Path

import psutil

from bench import corpus
from bench.home import Home
from bench.table import Row

IDLE_SECONDS = 20


def measure(scratch: Path, size: int = 10_000, written: int = 1_000) -> list[Row]:
    home = Home(scratch / "footprint")
    home.fill(size)
    before = _disk(home.memory / ".git")
    with home.session() as agent:
        for query in corpus.queries(200, size):
            agent.call("coffer__recall", query=query, scope="global")
        daemon, shim = psutil.Process(home.daemon_pid()), psutil.Process(agent.pid)
        memory, shim_memory = daemon.memory_info().rss, shim.memory_info().rss
        used = sum(daemon.cpu_times()[:2])
        time.sleep(IDLE_SECONDS)
        idle = (sum(daemon.cpu_times()[:2]) - used) / IDLE_SECONDS
        for number in range(written):
            agent.call("coffer__remember", text=corpus.text(5_000_000 + number), scope="global")
        after_writes = daemon.memory_info().rss
    grown = _disk(home.memory / ".git") - before
    index = sum(file.stat().st_size for file in home.path.glob("index.sqlite*"))
    files = sum(file.stat().st_size for file in home.inbox.rglob("*.md"))
    total = size + written
    home.coffer("daemon", "stop")
    return [
        Row(f"daemon, {size} facts, after 200 recalls", f"{memory / 2**20:.0f} MiB", asked="< 100 MB"),
        Row(f"daemon, after {written} more remembers", f"{after_writes / 2**20:.0f} MiB", asked="< 100 MB"),
        Row("shim", f"{shim_memory / 2**20:.1f} MiB"),
        Row("daemon idle", f"{idle * 100:.2f} % of a core", asked="< 1 %"),
        Row("files", f"{files / total:.0f} bytes a fact"),
        Row("index", f"{index / total:.0f} bytes a fact"),
        Row(f".git after {written} remembers", f"+{grown / 2**20:.1f} MiB on disk"),
    ]


def _disk(folder: Path) -> int:
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
