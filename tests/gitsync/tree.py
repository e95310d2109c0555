"""A memory tree as its daemon and its user see it: files written the daemon's way, and the real git beside it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gitsync.commit import Outcome, Step, commit
from gitsync.recover import Recovery, recover, retry_pending
from gitsync.repo import Repository, Signature

DAEMON = Signature("Coffer", "coffer@localhost")
AGENT = Signature("claude-code", "claude-code@agent.localhost")
USER = Signature("Ann", "ann@example.com")
EDIT = "edit: by hand\n\nCoffer-Op: edit\n"
TIME = 1_750_000_000
TEMPORARY = ".coffer-"


def message(title: str) -> str:
    return f"remember: {title}\n\nCoffer-Op: remember\nCoffer-Agent: claude-code\n"


def step(edits: Mapping[str, bytes | None], title: str = "a fact", time: int = TIME) -> Step:
    return Step(edits, message(title), AGENT, time)


def adopt(edits: Mapping[str, bytes | None]) -> Step:
    return Step(edits, EDIT, USER, TIME + 1)


class Tree:
    """A work tree at `root` with a repository, and helpers that read like what people do to it."""

    def __init__(self, root: Path, home: Path, reached: Callable[[str], None] = lambda point: None) -> None:
        self.root = root
        self.home = home
        self.reached = reached
        self.installs = 0
        self.repo = Repository.create(str(root), DAEMON, self._reached, ignores=[f"{TEMPORARY}*", "INDEX.md"])

    def _reached(self, point: str) -> None:
        self.reached(point)

    def reopen(self) -> None:
        self.repo = Repository.open(str(self.root), DAEMON, self._reached)

    # ── what the daemon does ──────────────────────────────────────────────────────────────────────────────

    def write(self, edits: Mapping[str, bytes | None], title: str = "a fact", time: int = TIME) -> Outcome:
        return self.commit([step(edits, title, time)])

    def commit(self, steps: Sequence[Step], check: Callable[[], None] = lambda: None) -> Outcome:
        """Stage, commit and install, new files before removals, as the daemon's writer does."""
        last = {path: data for one in steps for path, data in one.edits.items()}
        staged: dict[str, str] = {}
        for number, (path, data) in enumerate(last.items()):
            if data is not None:
                place = self.root / path
                place.parent.mkdir(parents=True, exist_ok=True)
                temporary = place.parent / f"{TEMPORARY}{number}.tmp"
                temporary.write_bytes(data)
                self._reached("temp-written")
                staged[path] = str(temporary)

        def install() -> None:
            self.installs += 1
            check()
            for path, temporary in staged.items():
                os.replace(temporary, self.root / path)
                self._reached("renamed")
            for path, data in last.items():
                if data is None:
                    (self.root / path).unlink(missing_ok=True)
                    self._reached("renamed")

        return commit(self.repo, steps, install, adopt, list(staged.values()))

    def recover(self) -> Recovery:
        for found in self.root.rglob(f"{TEMPORARY}*.tmp"):
            found.unlink()
        return recover(self.repo, adopt, lambda path: path.endswith(".md"))

    def retry(self) -> Outcome:
        return retry_pending(self.repo, adopt)

    # ── what the user does ────────────────────────────────────────────────────────────────────────────────

    def git(self, *arguments: str, check: bool = True, **environment: str) -> str:
        """Run the real git program and return what it says."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=git_environment(self.home) | environment,
            capture_output=True,
            text=True,
            errors="surrogateescape",
        )
        assert not check or done.returncode == 0, (arguments, done.stdout, done.stderr)
        return (done.stdout + done.stderr if not check or arguments[0] == "fsck" else done.stdout).strip("\n")

    def edit(self, path: str, data: bytes | None) -> None:
        place = self.root / path
        if data is None:
            place.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    # ── what both can see ─────────────────────────────────────────────────────────────────────────────────

    def read(self, path: str) -> bytes | None:
        place = self.root / path
        return place.read_bytes() if place.exists() else None

    def committed(self, path: str, revision: str = "main") -> bytes | None:
        done = subprocess.run(
            ["git", "show", f"{revision}:{path}"],
            cwd=self.root,
            env=git_environment(self.home),
            capture_output=True,
        )
        return done.stdout if done.returncode == 0 else None

    def log(self, what: str = "%an|%s") -> list[str]:
        return self.git("log", f"--format={what}", "main").splitlines()

    def is_sound(self) -> None:
        """Assert that git finds nothing to complain of and nobody's lock or temporary file is left."""
        assert self.git("fsck", "--strict", "--no-dangling") == ""
        assert self.git("status", "--porcelain") == ""
        self.is_tidy()

    def is_tidy(self) -> None:
        left = [str(found) for found in (self.root / ".git").rglob("*.lock")]
        left += [str(found) for found in self.root.rglob(f"{TEMPORARY}*")]
        scratch = self.root / ".git" / "coffer"
        if scratch.exists():
            allowed = (f"owner-{os.getpid()}", "index.damaged")
            left += [found.name for found in scratch.iterdir() if found.name not in allowed]
        assert left == []


def git_environment(home: Path) -> dict[str, str]:
    """Return an environment in which git knows only what `home` says."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_EDITOR": "true",
        "GIT_AUTHOR_NAME": USER.name,
        "GIT_AUTHOR_EMAIL": USER.email,
        "GIT_COMMITTER_NAME": USER.name,
        "GIT_COMMITTER_EMAIL": USER.email,
    }
