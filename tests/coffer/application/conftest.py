"""A real memory in an empty home, and a project whose git is away from the settings of whoever runs the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from coffer.bootstrap import open_ports
from coffer.domain.facts import Actor, Caller
from coffer.domain.ports import Clock, Ports
from coffer.domain.stores import StoreRef


class SetClock:
    """A clock that stands where a test puts it; all but the time is the real one's."""

    def __init__(self, real: Clock) -> None:
        self.time = "2026-11-30T12:00:00Z"
        self._real = real

    def now(self) -> str:
        return self.time

    def milliseconds(self) -> int:
        return self._real.milliseconds()

    def elapsed(self) -> float:
        return self._real.elapsed()

    def new_id(self) -> str:
        return self._real.new_id()


@dataclass
class Memory:
    """An open memory, and one project beside it."""

    ports: Ports
    clock: SetClock
    project: Path
    environ: dict[str, str]

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        """Run the user's git, in the project unless a folder is named."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder or self.project,
            env=self.environ,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def caller(self, agent: str | None = "claude", folder: Path | None = None) -> Caller:
        actor: Actor = "agent" if agent else "user"
        return Caller(actor, agent, folder=str(folder or self.project))

    async def store(self) -> StoreRef:
        project = await self.ports.identity.project(str(self.project))
        assert project is not None
        return project.store

    async def file(self, path: str) -> Path:
        """Return a file of the project's store."""
        return self.tree / (await self.store()).folder / path

    @property
    def tree(self) -> Path:
        return Path(self.ports.tree.root)

    def log(self) -> list[str]:
        """Return the subjects of the memory's commits, the newest first."""
        return self.git("log", "--format=%s", folder=self.tree).splitlines()

    async def events(self) -> list[str]:
        """Return what was audited, the oldest first."""
        events = await self.ports.state.audit_events(50, None, None, None)
        return [event.event for event in reversed(events)]

    @contextmanager
    def nothing_written(self) -> Iterator[None]:
        """Hold what is done inside to leaving every file and commit as they are."""
        before = self._written()
        yield
        assert self._written() == before

    def _written(self) -> object:
        files = sorted(path for path in self.tree.rglob("*") if path.is_file() and ".git" not in path.parts)
        return (
            [(path, path.read_bytes()) for path in files],
            self.git("rev-parse", "--all", folder=self.tree) if (self.tree / ".git").exists() else "",
        )


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    user = tmp_path / "user"
    user.mkdir()
    (user / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(user), "GIT_CONFIG_NOSYSTEM": "1"}
    project = user / "app"
    project.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    async with open_ports(str(home), environ) as ports:
        clock = SetClock(ports.clock)
        memory = Memory(replace(ports, clock=clock, machine="workbench"), clock, project, environ)
        memory.git("init", "-q", "-b", "main")
        memory.git("commit", "-q", "--allow-empty", "-m", "begin")
        yield memory
