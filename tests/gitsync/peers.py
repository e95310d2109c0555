"""Remotes for the tests of the wire: bare repositories, and what of our programs is left running."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

import psutil
import pygit2
import pytest

from gitsync.remote import Limits, fetch, push
from gitsync.repo import Repository
from tests.gitsync.tree import Tree

PATIENCE = 20.0


class Bare:
    """A bare repository that others push to as well."""

    def __init__(self, place: Path) -> None:
        self.path = str(place)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", self.path], check=True)
        self.repo = pygit2.Repository(self.path)

    def add(self, files: Mapping[str, bytes], branch: str = "main", message: str = "elsewhere") -> str:
        """Commit files in the root folder on top of the branch; return the commit."""
        name = f"refs/heads/{branch}"
        above = [self.repo.references[name].target] if name in self.repo.references else []
        tree = self.repo.TreeBuilder(*(self.repo[oid].peel(pygit2.Tree) for oid in above))
        for path, data in files.items():
            tree.insert(path, self.repo.create_blob(data), 0o100644)
        who = pygit2.Signature("Eve", "eve@example.com", 1_750_000_000, 0)
        return str(self.repo.create_commit(name, who, who, message, tree.write(), above))

    def tip(self) -> str | None:
        names = self.repo.references
        return str(names["refs/heads/main"].target) if "refs/heads/main" in names else None

    def hook(self, name: str, script: str) -> None:
        place = Path(self.path, "hooks", name)
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)


class Wire:
    """One memory tree's end, with limits that a test can set."""

    def __init__(self, tree: Tree, seconds: float = PATIENCE, size: int = 8 << 20, objects: int = 10_000):
        self.tree = tree
        self.limits = Limits(seconds, size, objects)
        self.stop = Event()

    @property
    def repo(self) -> Repository:
        return self.tree.repo

    def take(self, url: str) -> str | None:
        """Fetch and let in what comes; return its tip."""
        with fetch(self.repo, url, self.limits, self.stop) as incoming:
            incoming.admit()
            return incoming.tip

    def give(self, url: str) -> bool:
        head = self.repo.head()
        assert head
        return push(self.repo, url, head, self.limits, self.stop)

    def left(self) -> list[str]:
        """Return what fetches have left behind in the repository's folder."""
        folder = self.repo.scratch
        return [name for name in os.listdir(folder) if name.startswith("incoming")]


def until(true: Callable[[], bool]) -> None:
    """Wait for something that other processes do."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it doesn't come true"
        time.sleep(0.01)


def running(*marks: str) -> list[str]:
    """Return the command lines with one of these in them, of processes that aren't ours; ended ones don't count."""
    found = []
    for process in psutil.process_iter(["pid", "status", "cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        if process.info["status"] != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
            found += [line] if any(mark in line for mark in marks) else []
    return found


def nothing_runs(*marks: str) -> None:
    """Assert that what was started ends, and that none of it waits for us to take note."""
    until(lambda: not running(*marks))
    assert [child for child in psutil.Process().children() if child.name() in ("sh", "git")] == []


def settle_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let the programs that the wire starts see the settings in `home` and no others."""
    for name in os.environ:
        if name.startswith(("GIT_", "SSH_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def hide_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the product believe that there is no git program."""
    find = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "git" else find(name))
