"""What must hold of a Coffer home after whatever has happened to it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import signal
import sqlite3
import subprocess
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from coffer import discovery
from lanes import lane_of
from lanes.errors import Unreadable
from lanes.knowledge import read_note
from lanes.layout import store_of

_OURS = re.compile(r"\.coffer-.*|.*\.tmp|.*\.lock|(object|index|branch|pack|prepared)(-.*)?")
_PENDING = re.compile(r"pending-[0-9a-f]{40}-[0-9a-f]{40}")
_SECONDS = 15


def check(
    home: Path,
    *,
    status: Collection[str] = (),
    user_staged: str = "",
    pending: Collection[str] = (),
    edited: Collection[str] = (),
    unreadable: Collection[str] = (),
    locks: Collection[str] = (),
    index: bool = True,
    lost: bool = False,
) -> None:
    """Hold a home to its promises; a running daemon is asked first and then ended in order.

    `status` is what `git status --porcelain` may say, line by line, and `user_staged` what `staged` said before.
    `pending` are the tree's paths that may differ from HEAD, which doctor then has to report, `edited` those that
    differ because a person changed them, `unreadable` the files that doctor has to name, `locks` those in .git
    that are somebody else's. `index` False: the file isn't in use. `lost`: git misses objects for good.
    """
    files = dict(_lane_files(home))
    if _runs(home):
        _agrees_with_answers(home, files, unreadable)
        _reports_pending(home, bool(pending))
        _end(home)
    _nothing_runs(home)
    assert not (home / "daemon.json").exists() and not (home / "daemon.sock").exists()
    _all_is_ours_alone(home)
    _nothing_is_left(home, locks)
    assert {path for path, found in files.items() if isinstance(found, str)} == set(unreadable)
    if (home / "memory" / ".git").is_dir():
        _repository_is_sound(home / "memory", status, user_staged, pending, edited, lost)
    if index and files:
        _index_agrees(home, files)


def staged(tree: Path) -> str:
    """Return what a person has staged in the memory tree, to the byte."""
    return (
        git(tree, "diff", "--cached", "--raw", "--no-abbrev")
        if has_commits(tree)
        else git(tree, "ls-files", "-s")
    )


def has_commits(tree: Path) -> bool:
    return not subprocess.run(
        ["git", "rev-parse", "-q", "--verify", "HEAD"], cwd=tree, capture_output=True
    ).returncode


def git(tree: Path, *arguments: str) -> str:
    """Ask the real git program about a tree, changing nothing in it."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=tree,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
        },
        capture_output=True,
        text=True,
        errors="surrogateescape",
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def texts_ever(tree: Path) -> str:
    """Return everything that the tree, its archives and its whole history hold, as one text."""
    held = [path.read_text(errors="replace") for path in tree.rglob("*.md") if ".git" not in path.parts]
    listed = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--buffer"],
        cwd=tree,
        capture_output=True,
        check=True,
    )
    return "\n".join([*held, listed.stdout.decode(errors="replace")])


def _lane_files(home: Path) -> Iterator[tuple[str, Any]]:
    """Yield each recalled file with (etag, text), or the reason why it is unreadable."""
    tree = home / "memory"
    for path in sorted(tree.rglob("*.md")):
        relative = path.relative_to(tree).as_posix()
        located = store_of(relative)
        lane = lane_of(located[1]) if located else None
        if lane is None or not lane.counted or path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        try:
            yield relative, (_blob_id(data), read_note(located[1], data).body)
        except Unreadable as problem:
            yield relative, problem.reason


def _runs(home: Path) -> bool:
    try:
        discovery.connect(str(home), 2.0).close()
    except OSError:
        return False
    return True


def _ask(home: Path, method: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    status, _, answer = discovery.request(
        str(home), method, f"/api/v1{path}", data, {"Content-Type": "application/json"}
    )
    assert status == 200, (path, status, answer)
    return json.loads(answer)


def _agrees_with_answers(home: Path, files: dict[str, Any], unreadable: Collection[str]) -> None:
    """Compare what every store lists with its files."""
    told: dict[str, str] = {}
    for store in _ask(home, "GET", "/memory_stores")["memory_stores"]:
        offset = 0
        while True:
            page = _ask(home, "GET", f"/memory_stores/{store['name']}/facts?limit=200&offset={offset}")
            for fact in page["facts"]:
                path = Path(fact["path"]).relative_to(home / "memory").as_posix()
                assert path not in told, f"{path} is listed twice"
                told[path] = fact["text"]
            offset += 200
            if offset >= page["total"]:
                break
    readable = {path: found[1] for path, found in files.items() if not isinstance(found, str)}
    assert {path: text for path, text in told.items() if path not in unreadable} == readable
    named = " ".join(found["message"] for found in _ask(home, "GET", "/doctor")["checks"])
    for path in unreadable:
        assert path in named, f"doctor doesn't name {path}: {named}"


def _reports_pending(home: Path, expected: bool) -> None:
    found = [one for one in _ask(home, "GET", "/doctor")["checks"] if one["name"] == "repository"]
    assert [one["status"] != "ok" for one in found] == [expected], found


def _end(home: Path) -> None:
    """End the daemon in order and wait until its process is gone."""
    pid = json.loads((home / "daemon.json").read_bytes())["pid"]
    handle = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGTERM)
        ended = select.poll()
        ended.register(handle, select.POLLIN)
        assert ended.poll(_SECONDS * 1000), f"the daemon {pid} doesn't end"
    finally:
        os.close(handle)


def _nothing_runs(home: Path) -> None:
    """Wait until no process works for this home; one that ends just now may."""
    deadline = time.monotonic() + _SECONDS
    while left := list(processes_of(home)):
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.02)


def processes_of(home: Path) -> Iterator[tuple[int, str]]:
    """Yield pid and command of every process that was started for this home, or has a file of it open."""
    mark, inside = b"\0COFFER_HOME=" + os.fsencode(home) + b"\0", f"{home}/"
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            try:
                environ = Path(f"/proc/{name}/environ").read_bytes()
                command = (
                    Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
                opened = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{name}/fd")]
            except OSError:
                continue
            if mark in b"\0" + environ + b"\0" or any(path.startswith(inside) for path in opened):
                yield int(name), command


def _all_is_ours_alone(home: Path) -> None:
    wrong = [
        f"{path}: {os.lstat(path).st_mode & 0o7777:o}"
        for path in [home, *home.rglob("*")]
        if not path.is_symlink() and os.lstat(path).st_mode & 0o077
    ]
    assert wrong == [], f"others may look into {wrong[:5]}"


def _nothing_is_left(home: Path, locks: Collection[str]) -> None:
    """Look for temporary files and locks: in the home, in the tree, in .git and in our folder there.

    The folder `packing` may be left: an orderly end doesn't wait for a pack to be made, the next start removes it.
    """
    git_folder = home / "memory" / ".git"
    left = []
    for path in home.rglob("*"):
        inside = path.relative_to(git_folder).as_posix() if git_folder in path.parents else None
        if inside is not None and (inside in locks or inside.startswith("coffer/packing")):
            continue
        if (
            inside is not None
            and not inside.startswith("coffer/")
            and not path.name.endswith((".lock", ".tmp"))
        ):
            continue
        if path.name != "daemon.lock" and path.name != "start.lock" and _OURS.fullmatch(path.name):
            left.append(str(path.relative_to(home)))
    assert left == [], f"left behind: {left}"


def _repository_is_sound(
    tree: Path,
    status: Collection[str],
    user_staged: str,
    pending: Collection[str],
    edited: Collection[str],
    lost: bool,
) -> None:
    if not lost:
        said = git(tree, "fsck", "--full", "--strict", "--no-dangling")
        assert said == "" or "unborn" in said or "No default references" in said, said
    waiting = [one for one in os.listdir(tree / ".git" / "coffer") if _PENDING.fullmatch(one)]
    assert bool(waiting) <= bool(pending), waiting
    if has_commits(tree):
        assert staged(tree) == user_staged
        lines = git(tree, "status", "--porcelain", "-uall").splitlines()
        assert sorted(lines) == sorted(status), lines
        committed = dict(_committed(tree))
        on_disk = {
            path.relative_to(tree).as_posix(): _blob_id(path.read_bytes())
            for path in tree.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(tree).parts and not path.is_symlink()
        }
        differing = {path for path, _ in committed.items() ^ on_disk.items() if _is_committed(path)}
        assert differing == {*pending, *edited}, differing


def _committed(tree: Path) -> Iterator[tuple[str, str]]:
    for entry in git(tree, "ls-tree", "-r", "-z", "HEAD").split("\0"):
        if entry:
            what, path = entry.split("\t", 1)
            yield path, what.split(" ")[2]


def _is_committed(path: str) -> bool:
    located = store_of(path)
    lane = lane_of(located[1]) if located else None
    return lane is not None and not lane.derived


def _index_agrees(home: Path, files: dict[str, Any]) -> None:
    """Compare the closed index with the files."""
    connection = sqlite3.connect(f"file:{home}/index.sqlite?mode=ro", uri=True)
    try:
        assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
        rows = connection.execute(
            "SELECT s.name, d.path, d.etag FROM documents d JOIN stores s ON s.number = d.store"
        ).fetchall()
    finally:
        connection.close()
    held = {f"{_folder(store)}/{path}": etag for store, path, etag in rows}
    assert len(held) == len(rows), "a document is there twice"
    readable = {path: found[0] for path, found in files.items() if not isinstance(found, str)}
    unreadable = {path for path, found in files.items() if isinstance(found, str)}
    assert {path: etag for path, etag in held.items() if path not in unreadable} == readable


def _folder(store: str) -> str:
    return "global" if store == "global" else f"projects/{store.removeprefix('project-')}"


def _blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data)).hexdigest()
