"""The command line, run against a stand-in for the daemon."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from coffer.surfaces.cli import main
from tests.coffer.cli.fake_rest import FACT, PROJECT, Coffer, FakeRest, Handler, Ran, Server, fact, store

RUN = "import sys; from coffer.surfaces.cli import main; sys.exit(main())"


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, whose path is short enough for a socket in it."""
    home = tmp_path_factory.mktemp("h")
    monkeypatch.setenv("COFFER_HOME", str(home))
    monkeypatch.delenv("EDITOR", raising=False)
    return home


@pytest.fixture
def rest(home: Path) -> Iterator[FakeRest]:
    """A living daemon, as far as any client can tell, with a few answers."""
    fake = FakeRest(home)
    fake.reply(
        "GET",
        "/daemon/status",
        200,
        {"version": "0.1.0", "pid": os.getpid(), "uptime_s": 7384.2, "ready": True},
    )
    fake.reply("GET", "/memory_stores", 200, {"memory_stores": [store("global"), store(PROJECT)]})
    fake.reply("GET", "/memory_stores/global", 200, store("global"))
    fake.reply("GET", f"/memory_stores/global/facts/{FACT}", 200, fact(), ETag='"v1"')
    socket = home / "daemon.sock"
    (home / "token").write_text("t" * 43)
    with (home / "daemon.lock").open("w") as lock, Server(str(socket), Handler) as server:
        fcntl.flock(lock, fcntl.LOCK_EX)
        socket.chmod(0o600)
        (home / "daemon.json").write_text(
            json.dumps(
                {
                    "version": "0.1.0",
                    "pid": os.getpid(),
                    "port": 7420,
                    "socket": str(socket),
                    "started_at": "2026-06-03T09:00:00Z",
                }
            )
        )
        server.fake = fake
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield fake
        server.shutdown()
        thread.join()


@pytest.fixture
def coffer(home: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Coffer:
    """Run one command in this process."""

    def run(*argv: str) -> Ran:
        status = main(argv)
        captured = capsysbinary.readouterr()
        return Ran(status, captured.out.decode(), captured.err.decode())

    return run


@pytest.fixture
def process(home: Path) -> Coffer:
    """Run one command as a process of its own."""

    def run(*argv: str | bytes, stdin: bytes | None = None, **environ: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *argv],
            env=os.environ | environ,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=60,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
