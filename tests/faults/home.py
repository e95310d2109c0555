"""A home whose daemon is killed, starved and raced: the real process, over its private socket."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bench.preloaded import Preloaded, Process
from coffer import discovery
from tests import invariants
from tests.acceptance.house import House, Json, Reply

T = TypeVar("T")

PATIENCE = 30.0
AGENT = {"X-Coffer-Actor": "agent", "X-Coffer-Agent": "claude-code"}
DAEMON = (sys.executable, "-P", "-m", "coffer.daemon")


class Gone(AssertionError):
    """The daemon died before it answered."""


class Home(House):
    """One Coffer home, with the daemon that serves it and a person's own git beside it."""

    def __init__(self, root: Path, preloaded: Preloaded) -> None:
        super().__init__(root, COFFER_PORT="off")
        self._preloaded = preloaded
        self.started: list[Process] = []

    # ── the daemon ────────────────────────────────────────────────────────────────────────────────────────

    def start(self, failpoint: str = "", command: Sequence[str] | None = None, serving: bool = True) -> Home:
        """Start a daemon: forked, or by a command."""
        environ = {**self.environ, **({"COFFER_FAILPOINT": failpoint} if failpoint else {})}
        log = str(self.root / "daemon.log")
        if command is None:
            process = self._preloaded.start(environ, log)
        else:
            with open(log, "ab") as out:
                child = subprocess.Popen(
                    command, env=environ, cwd="/", stdin=subprocess.DEVNULL, stdout=out, stderr=out
                )
            process = Process(child.pid, child)
        self.started.append(process)
        if serving:
            self.wait_until_serving()
        return self

    @property
    def daemon(self) -> Process:
        return self.started[-1]

    def wait_until_serving(self) -> None:
        """Return when the daemon has recovered and answers; Gone when it ended instead."""

        def accepts() -> bool:
            try:
                discovery.connect(str(self.home), PATIENCE).close()
                return True
            except OSError:
                if self.daemon.wait(0):
                    raise Gone(self.log()) from None
                return False

        until(accepts)
        self.get("/daemon/status").done()

    def kill(self) -> None:
        """End the daemon as a power cut would."""
        self.daemon.kill()

    def died(self) -> None:
        """Require that the daemon ends by itself, as at a failpoint."""
        assert self.daemon.wait(PATIENCE), f"the daemon lives: {self.log()}"

    def stop(self) -> None:
        """End the daemon in order."""
        self.daemon.send(signal.SIGTERM)
        assert self.daemon.wait(PATIENCE), f"the daemon doesn't end: {self.log()}"

    def restart(self, failpoint: str = "") -> Home:
        self.kill()
        return self.start(failpoint)

    def end_all(self) -> None:
        for process in self.started:
            process.kill()
        for pid, _ in invariants.processes_of(self.home):
            os.kill(pid, signal.SIGKILL)

    def log(self) -> str:
        return "".join(
            path.read_text(errors="replace")[-4000:]
            for path in (self.root / "daemon.log", self.home / "logs" / "daemon.log")
            if path.exists()
        )

    # ── doors ─────────────────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str | None] | None = None,
        timeout: float = 60.0,
    ) -> Reply:
        """Ask over the private socket; Gone when the daemon dies before it has answered."""
        fields = (
            {"Content-Type": "application/json"}
            if body is not None or method in ("POST", "PUT", "PATCH")
            else {}
        )
        fields |= {name: value for name, value in (headers or {}).items() if value is not None}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            answer = discovery.request(str(self.home), method, f"/api/v1{path}", data, fields, timeout)
        except discovery.DaemonUnavailable as problem:
            raise Gone(str(problem)) from None
        return Reply(*answer)

    def git(
        self, *arguments: str, folder: Path | None = None, check: bool = True, input: str = "", **environ: str
    ) -> str:
        """Run the user's own git; their files are private like the daemon's, so that modes can be compared."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder or self.tree,
            env={
                **{name: value for name, value in self.environ.items() if name != "PYTHONPATH"},
                "GIT_EDITOR": "true",
                **environ,
            },
            input=input,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=60,
            umask=0o077,
        )
        assert not check or done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout if check else done.stdout + done.stderr

    # ── shorthands ────────────────────────────────────────────────────────────────────────────────────────

    def remember(self, text: str, store: str = "global", **fields: object) -> Json:
        """Remember as an agent; return the fact, new or held already."""
        reply = self.ask("POST", f"/memory_stores/{store}/facts", {"text": text, **fields}, AGENT)
        assert reply.status in (200, 201), reply.body
        fact: Json = reply.json
        return fact

    def edit(self, fact: str, text: str, store: str = "global") -> Json:
        path = f"/memory_stores/{store}/facts/{fact}"
        found: Json = self.ask("PATCH", path, {"text": text}, AGENT).done()
        return found

    def delete(self, fact: str, store: str = "global") -> None:
        self.ask("DELETE", f"/memory_stores/{store}/facts/{fact}", None, AGENT).done(204)

    def facts(self, store: str = "global") -> list[Json]:
        """Return every fact of a store."""
        found: list[Json] = []
        while True:
            page = self.get(f"/memory_stores/{store}/facts?limit=200&offset={len(found)}").done()
            found += page["facts"]
            if len(found) >= page["total"]:
                return found

    def texts_of(self, store: str = "global") -> list[str]:
        return sorted(fact["text"] for fact in self.facts(store))

    def findings(self, name: str) -> list[Json]:
        """Return what doctor says about one thing."""
        return [found for found in self.get("/doctor").done()["checks"] if found["name"] == name]

    def path(self, fact: Json) -> str:
        """Return where a fact is inside the tree."""
        return Path(fact["path"]).relative_to(self.tree).as_posix()

    def staged(self) -> str:
        return invariants.staged(self.tree)

    def in_head(self, path: str) -> str:
        """Return a file as it is in the branch."""
        return self.git("show", f"main:{path}")

    def write(self, name: str, text: str) -> None:
        """Write a file of the user's own into the tree."""
        (self.tree / name).write_text(text)

    def commit(self, subject: str) -> None:
        """Commit the user's notes as the user."""
        self.git("add", "notes.txt")
        self.git("commit", "-q", "-m", subject)

    def changed_by(self, subject: str) -> list[str]:
        """Return what the one commit of this subject changed."""
        (oid,) = self.git("log", "--all", "--format=%H", f"--grep=^{subject}$").splitlines()
        return self.git("show", "--format=", "--name-status", "--first-parent", "-m", oid).splitlines()

    def committed(self, fact: Json, store: str = "global") -> bool:
        found = self.get(f"/memory_stores/{store}/facts/{fact['id']}").done()
        return bool(found["commit"] == "committed")

    def check(self, **expected: Any) -> None:
        """Hold the home to its promises, after the last recall; the daemon is ended."""
        for process in self.started[:-1]:
            process.kill()
        invariants.check(self.home, **expected)


def until(true: Callable[[], T], seconds: float = PATIENCE) -> T:
    """Ask again and again until the answer is true, and return it."""
    deadline = time.monotonic() + seconds
    while not (answer := true()):
        assert time.monotonic() < deadline, "it doesn't come true"
        time.sleep(0.01)
    return answer


def without_privileges() -> Sequence[str]:
    """Return the daemon's command, under which permissions bind the super-user too."""
    if os.geteuid():
        return DAEMON
    assert shutil.which("setpriv"), "setpriv of util-linux is needed to test permissions as root"
    return ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", *DAEMON)
