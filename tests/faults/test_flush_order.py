"""The order of system calls, which alone shows what a loss of power would leave: a kill takes back nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.preloaded import Process
from tests.faults.home import Home, until

pytestmark = pytest.mark.faults

CALLS = "openat,rename,renameat,renameat2,fsync,fdatasync,syncfs,write,writev,sendto,sendmsg"
UNFINISHED = re.compile(r"^(\d+) +(.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")


def trace(home: Home, work: str) -> list[str]:
    """Remember `work` under strace; return the daemon's successful calls in the order they ended."""
    written = home.root / "trace"
    tracer = subprocess.Popen(
        ["strace", "-f", "-y", "-s", "40", "-e", f"trace={CALLS}", "-o", written, "-p", str(home.daemon.pid)],
        stderr=subprocess.PIPE,
    )
    try:
        assert tracer.stderr
        said = tracer.stderr.readline().decode()
        if "attached" not in said:
            pytest.skip(f"strace can't attach here: {said.strip()}")
        home.remember(work)
        until(lambda: "HTTP/1.1 201" in written.read_text())
    finally:
        tracer.terminate()
        tracer.communicate()
        assert Process(tracer.pid).wait(5)
    calls, begun = [], {}
    for line in written.read_text().splitlines():
        if cut := UNFINISHED.match(line):
            begun[cut[1]] = cut[2]
        elif rest := RESUMED.match(line):
            calls.append(begun.pop(rest[1], "") + rest[2])
        else:
            calls.append(line.partition(" ")[2].strip())
    return [call for call in calls if not re.search(r"= -1 ", call)]


def first(calls: list[str], *words: str, after: int = -1) -> int:
    """Return the place of the first call after another that has all these words in it."""
    for number, call in enumerate(calls):
        if number > after and all(word in call for word in words):
            return number
    raise AssertionError(f"no call has {words} after {after}:\n" + "\n".join(calls[max(after, 0) :]))


def flush(calls: list[str], what: str, after: int) -> int:
    """Return the place of the call that makes something durable: of the whole file system, or of it by name."""

    def is_flush(call: str) -> bool:
        return "syncfs" in call or ("sync" in call and what in call)

    places = [number for number, call in enumerate(calls) if number > after and is_flush(call)]
    assert places, f"{what} isn't flushed after {after}:\n" + "\n".join(calls)
    return places[0]


@pytest.mark.report("B64")
@pytest.mark.skipif(not shutil.which("strace"), reason="strace isn't installed")
def test_flush_rename_flush_answer(home: Home) -> None:
    """After a loss of power an acknowledged fact would be an empty file, or its branch an empty ref."""
    fact = home.start().remember("The first fact makes the folders.")
    home.texts_of()
    calls = trace(home, "The second fact is traced.")

    created = first(calls, "openat", ".coffer-", "O_EXCL")
    text_flushed = flush(calls, ".tmp", after=created)
    objects_written = max(n for n, call in enumerate(calls) if "rename" in call and ".git/objects/" in call)
    objects_flushed = flush(calls, ".git/objects/", after=objects_written)
    installed = first(calls, "rename", ".coffer-", "the-second-fact", after=text_flushed)
    branch_moved = first(calls, "rename", "main.lock", after=max(installed, objects_flushed))
    folder_flushed = flush(calls, f"{Path(fact['path']).parent}>", after=installed)
    branch_flushed = flush(calls, ".git/refs/heads>", after=branch_moved)
    assert max(folder_flushed, branch_flushed) < first(calls, "HTTP/1.1 201")
    home.texts_of()
    home.check()
