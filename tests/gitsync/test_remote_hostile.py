"""Remotes that hang, flood and lie, and a repository full of traps: nothing runs on, nothing runs that shouldn't."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import psutil
import pytest

import gitsync
from gitsync.errors import RemoteFailed
from gitsync.objects import blob_id
from gitsync.remote import Limits, fetch
from tests.faults import evil_host
from tests.gitsync.peers import Bare, Wire, nothing_runs, running, until


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.mark.report("B62")
@pytest.mark.parametrize("answer", [evil_host.hangs, evil_host.drips])
def test_a_remote_that_never_comes_to_an_end(
    any_wire: Wire, answer: evil_host.Answer, tmp_path: Path
) -> None:
    """Sync would hang until somebody restarts the daemon."""
    any_wire.limits = Limits(seconds=1)
    with evil_host.host(answer) as url:
        for talk in (any_wire.take, any_wire.give):
            with pytest.raises(RemoteFailed, match="1 seconds") as failed:
                talk(url)
            assert failed.value.cause == "timeout"
        nothing_runs(str(tmp_path), url)
    assert any_wire.left() == []


def test_being_stopped(any_wire: Wire, tmp_path: Path) -> None:
    """The daemon couldn't stop while a remote keeps it waiting."""
    causes: list[str] = []

    def talk() -> None:
        try:
            any_wire.take(url)
        except RemoteFailed as failed:
            causes.append(failed.cause)

    with evil_host.host(evil_host.hangs) as url:
        thread = Thread(target=talk)
        thread.start()
        until(lambda: bool(running(url)))
        any_wire.stop.set()
        thread.join(10)
        assert causes == ["stopped"]
        nothing_runs(str(tmp_path), url)
    assert any_wire.left() == []


def test_nothing_outlives_a_daemon_that_is_killed(any_wire: Wire, tmp_path: Path) -> None:
    """Programs that nobody ends would pile up behind every crash."""
    script = (
        "import sys, threading, shutil\n"
        "from gitsync.remote import Limits, fetch\n"
        "from gitsync.repo import Repository, Signature\n"
        "root, url, find = sys.argv[1], sys.argv[2], shutil.which\n"
        "shutil.which = lambda name: find(name) if name != 'git' or len(sys.argv) == 3 else None\n"
        "fetch(Repository.open(root, Signature('', '')), url, Limits(), threading.Event())\n"
    )
    hidden = [] if __import__("shutil").which("git") else ["without git"]
    with evil_host.host(evil_host.hangs) as url:
        daemon = subprocess.Popen(
            [sys.executable, "-c", script, str(any_wire.tree.root), url, *hidden],
            env={**os.environ, "PYTHONPATH": str(Path(gitsync.__file__).parent.parent)},
        )
        until(lambda: any(url in line and script not in line for line in running(url)))
        assert len(psutil.Process(daemon.pid).children(recursive=True)) >= 3
        daemon.kill()
        daemon.wait()
        nothing_runs(str(tmp_path), url)


def test_more_bytes_than_allowed(any_wire: Wire, remote: Bare, tmp_path: Path) -> None:
    """A remote could fill the disk."""
    remote.add({f"{n}.bin": os.urandom(1 << 20) for n in range(4)})
    any_wire.limits = Limits(size=1 << 20)
    with pytest.raises(RemoteFailed, match="more than 1 MiB") as failed:
        any_wire.take(remote.path)
    assert failed.value.cause == "size"
    assert any_wire.left() == []
    nothing_runs(str(tmp_path))


def test_more_objects_than_allowed(any_wire: Wire, remote: Bare) -> None:
    """A remote could fill the memory with the smallest of objects."""
    remote.add({f"{n}.md": b"%d\n" % n for n in range(200)})
    any_wire.limits = Limits(objects=150)
    with pytest.raises(RemoteFailed, match="more than 150 objects") as failed:
        any_wire.take(remote.path)
    assert failed.value.cause == "size"
    assert any_wire.left() == []


def test_a_large_file_in_a_small_pack(any_wire: Wire, remote: Bare) -> None:
    """To look at what came would take as much memory as the remote likes."""
    data = bytes(50_000_000)
    oid = blob_id(data)
    place = Path(remote.path, "objects", oid[:2], oid[2:])
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(b"blob 50000000\0" + data))
    remote.add({"zeros.md": data})
    with fetch(any_wire.repo, remote.path, any_wire.limits, any_wire.stop) as incoming:
        packs = Path(incoming.folder, "objects", "pack").glob("*.pack")
        assert sum(pack.stat().st_size for pack in packs) < 200_000
        assert incoming.objects.size(oid, "blob") == len(data)


def test_a_remote_that_answers_with_a_web_page(any_wire: Wire) -> None:
    """The network of a hotel would be taken for an empty memory, or shown as a riddle."""
    with evil_host.host(evil_host.rubbish) as url, pytest.raises(RemoteFailed, match="login page"):
        any_wire.take(url)


def test_a_host_that_only_shows_files(any_wire: Wire, remote: Bare, tmp_path: Path) -> None:
    """Memory would come from a place that it can't be pushed to, and the checks be passed by."""
    remote.add({"there.md": b"there\n"})
    subprocess.run(["git", "-C", remote.path, "update-server-info"], check=True)
    handler = partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(RemoteFailed, match="login page"):
                any_wire.take(f"http://127.0.0.1:{server.server_port}/remote.git")
        finally:
            server.shutdown()
            thread.join()
    assert any_wire.left() == []


def test_nothing_of_the_users_settings_is_run(
    wire: Wire, remote: Bare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync in the background would start the user's hooks, or wait for a signature."""
    ran = tmp_path / "ran"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho \"$0\" >>'{ran}'\n")
    trap.chmod(0o755)
    everywhere, here = tmp_path / "hooks", wire.tree.root / ".git" / "hooks"
    for folder in (everywhere, here):
        folder.mkdir(exist_ok=True)
        for name in ("pre-push", "post-checkout", "post-merge", "pre-auto-gc"):
            (folder / name).symlink_to(trap)
    (here / "reference-transaction").symlink_to(trap)
    config = {
        "core.fsmonitor": trap,
        "core.alternateRefsCommand": trap,
        "core.pager": trap,
        "filter.x.clean": trap,
        "filter.x.smudge": trap,
        "gpg.program": trap,
        "push.gpgSign": "true",
        "push.followTags": "true",
        "fetch.prune": "true",
        "fetch.writeCommitGraph": "true",
        "core.gitProxy": trap,
        "uploadpack.packObjectsHook": trap,
    }
    for name, value in config.items():
        wire.tree.git("config", name, str(value))
        # The git at the other end is one with settings of its own, which are these when it is on this machine.
        if name not in ("core.alternateRefsCommand", "uploadpack.packObjectsHook"):
            wire.tree.git("config", "--global", name, str(value))
    wire.tree.git("config", "--global", "core.hooksPath", str(everywhere))
    wire.tree.git("config", "core.hooksPath", str(here))
    (wire.tree.root / ".git" / "info" / "attributes").write_text("* filter=x\n")
    wire.tree.git("-c", "tag.gpgSign=false", "tag", "-m", "one", "one", "main")
    ran.unlink(missing_ok=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap))
    assert wire.give(remote.path)
    remote.add({"there.md": b"there\n"})
    assert wire.take(remote.path) == remote.tip()
    assert not ran.exists()
    assert not (tmp_path / "trace").exists()
    assert list(remote.repo.references) == ["refs/heads/main"], "no tags go along"
    assert not (wire.tree.root / ".git" / "FETCH_HEAD").exists()


def test_a_flood_of_words_is_cut_short(wire: Wire, remote: Bare) -> None:
    """A chatty remote would fill the memory of the daemon and the screen of the user."""
    remote.hook("pre-receive", "yes 'all work and no play' | head -c 5000000 >&2; exit 1")
    with pytest.raises(RemoteFailed) as failed:
        wire.give(remote.path)
    assert len(failed.value.reason) < 500
