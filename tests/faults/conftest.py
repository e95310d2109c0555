"""What every fault test has: a quick way to daemons, and a home that leaves no process behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.preloaded import Preloaded
from tests.faults.home import Home


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Preloaded]:
    """The process that daemons are forked from."""
    process = Preloaded()
    yield process
    process.close()


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in memory where there is such a thing: thousands of flushes would wait for other programs' writes.

    No fault here takes back what was written but not flushed; `test_flush_order` is about that.
    """
    if not os.path.isdir("/dev/shm"):
        yield tmp_path_factory.mktemp("faults")
        return
    folder = tempfile.mkdtemp(prefix="coffer-faults-", dir="/dev/shm")
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def private_files() -> Iterator[None]:
    """What a test writes by hand is as private as what the daemon writes, so that one rule holds for all."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def home(tmp_path: Path, preloaded: Preloaded) -> Iterator[Home]:
    """A home without a daemon yet."""
    home = Home(tmp_path, preloaded)
    yield home
    home.end_all()


@pytest.fixture
def branched(home: Home) -> Home:
    """A home of three facts, whose user has two branches that change the same file of theirs."""
    home.start()
    for number in range(3):
        home.remember(f"Fact {number} was there before.")
    home.write("notes.txt", "first\n")
    home.commit("first")
    home.git("branch", "other")
    home.write("notes.txt", "ours\n")
    home.commit("ours")
    home.git("checkout", "-q", "other")
    home.write("notes.txt", "theirs\n")
    home.commit("theirs")
    home.git("checkout", "-q", "main")
    return home
